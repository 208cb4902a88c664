// SPDX-License-Identifier: BSD-3-Clause
/// The CPU's last-level cache as devices meet it (DDIO): what they write is allocated in a few ways that are
/// set apart for I/O, what they read is taken from it where it is there. Sets by a hash of the address, in
/// which consecutive lines are in consecutive sets; the least recently used line of the ways that may be
/// taken goes. A load on the CPU passes through all ways: what has not been touched while it filled the
/// cache once is gone. Main memory asks it, line by line, and charges what it costs. One thread.
#pragma once

#include <cstddef>
#include <vector>

#include "offload/model/time.h"

namespace pktpit::model {

struct LlcSettings {
    uint64_t bytes = 0;  ///< 0: there is none
    unsigned ways = 16;
    unsigned io_ways = 2;          ///< that devices' writes may allocate in
    double load_bytes_per_ns = 0;  ///< that the CPU's own loads and stores bring in
    Time read_latency = 20 * nanosecond;
};

struct LlcCounters {
    uint64_t write_hits = 0, write_misses = 0;  ///< lines that devices wrote
    uint64_t read_hits = 0, read_misses = 0;    ///< lines that devices read
    uint64_t cpu_hits = 0, cpu_misses = 0;
    uint64_t written_back = 0;  ///< lines that went to main memory to make room
};

class Llc {
  public:
    static constexpr uint64_t line_bytes = 64;

    explicit Llc(const LlcSettings& settings);
    [[nodiscard]] bool there() const { return !lines_.empty(); }

    struct Outcome {
        bool hit = false;
        bool written_back = false;  ///< a dirty line went to main memory
    };
    /// `line`: address / line_bytes.
    Outcome device_writes(Time now, uint64_t line);
    /// A miss brings nothing in.
    Outcome device_reads(Time now, uint64_t line);
    Outcome cpu_touches(Time now, uint64_t line, bool writes);

    [[nodiscard]] const LlcSettings& settings() const { return settings_; }
    [[nodiscard]] const LlcCounters& counters() const { return counters_; }
    void clear_counters() { counters_ = {}; }

  private:
    struct Line {
        uint64_t number = ~uint64_t{0};
        Time used = 0;
        bool dirty = false;
    };
    [[nodiscard]] Line* set_of(uint64_t line);
    /// The line, if it is there still; a dirty one that the load has pushed out is told as written back.
    Line* find(Time now, Line* set, uint64_t line, Outcome& outcome);
    void allocate(Time now, Line* set, unsigned ways, uint64_t line, bool dirty, Outcome& outcome);

    LlcSettings settings_;
    uint64_t sets_ = 0;
    uint64_t mixed_ = 0;  ///< the bits of a set's number that are hashed: as many as it has factors of two
    int half_ = 1;
    Time lifetime_ = never;  ///< of a line that nobody touches, under the load
    std::vector<Line> lines_;
    LlcCounters counters_;
};

}  // namespace pktpit::model
