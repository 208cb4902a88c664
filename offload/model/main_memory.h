// SPDX-License-Identifier: BSD-3-Clause
/// Main memory as devices see it: bytes, a latency, and a bandwidth that devices share with the CPU's own
/// loads and stores. A background load takes part of it, by factors of the profile. With a last-level cache
/// (llc.h) only what misses it, or has to make room, costs bandwidth. One thread.
#pragma once

#include <algorithm>

#include "offload/model/flat_memory.h"
#include "offload/model/llc.h"
#include "offload/model/time.h"

namespace pktpit::model {

struct MemorySettings {
    uint64_t base = uint64_t{1} << 32;  ///< bus address
    uint64_t bytes = 64 << 20;
    Time read_latency = 90 * nanosecond;
    Time write_latency = 50 * nanosecond;  ///< until it can be seen
    double read_bytes_per_ns = 20;         ///< for devices, memory otherwise idle
    double write_bytes_per_ns = 20;
    double partial_line_cost = 2;    ///< in whole lines, of a line that is written in part
    double write_load = 0;           ///< the CPU's stores, 0 to 1: 1 is all that a machine can do
    double read_load = 0;            ///< its loads
    double write_by_write_load = 0;  ///< share of device writes' bandwidth that a write load of 1 takes
    double write_by_read_load = 0;
    double read_by_write_load = 0;
    double read_by_read_load = 0;
    LlcSettings llc;
};

class MainMemory {
  public:
    explicit MainMemory(const MemorySettings& settings);

    [[nodiscard]] const MemorySettings& settings() const { return settings_; }
    [[nodiscard]] std::byte* at(uint64_t address) const { return bytes_.at(address - settings_.base); }
    [[nodiscard]] bool contains(uint64_t address, uint64_t bytes) const {
        return address >= settings_.base && bytes_.contains(address - settings_.base, bytes);
    }
    /// When a device's access that comes in now is done. Whole cache lines are moved; a line that is written
    /// in part costs more, since it is read before.
    Time write(Time now, uint64_t address, uint32_t bytes);
    Time read(Time now, uint64_t address, uint32_t bytes);
    /// The CPU looks at these bytes, or fills them: lines that it has to wait for. 0 without a cache.
    unsigned cpu_misses(Time now, uint64_t address, uint32_t bytes, bool writes);
    [[nodiscard]] const Llc& llc() const { return llc_; }
    void clear_counters() { llc_.clear_counters(); }
    [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }
    [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }

  private:
    Time write_cached(Time now, uint64_t address, uint32_t bytes);
    Time read_cached(Time now, uint64_t address, uint32_t bytes);
    void write_back(Time now) {
        write_free_ = std::max(write_free_, now) + static_cast<Time>(write_line_ps_);
    }
    Time fetch(Time now) { return read_free_ = std::max(read_free_, now) + static_cast<Time>(read_line_ps_); }

    MemorySettings settings_;
    FlatMemory bytes_;
    double write_line_ps_;
    double read_line_ps_;
    Time write_free_ = 0;
    Time read_free_ = 0;
    uint64_t bytes_written_ = 0;
    uint64_t bytes_read_ = 0;
    Llc llc_;
};

}  // namespace pktpit::model
