// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/main_memory.h"

#include <algorithm>

namespace pktpit::model {
namespace {

constexpr uint64_t line = 64;

uint64_t lines_touched(uint64_t address, uint32_t bytes) {
    return bytes == 0 ? 0 : (address + bytes - 1) / line - address / line + 1;
}

uint64_t lines_in_part(uint64_t address, uint32_t bytes) {
    const bool starts_within = address % line != 0;
    const bool ends_within = (address + bytes) % line != 0;
    if (lines_touched(address, bytes) == 1) return starts_within || ends_within;
    return uint64_t{starts_within} + ends_within;
}

double line_ps(double bytes_per_ns, double taken) {
    return line * 1000.0 / bytes_per_ns / (1 - std::clamp(taken, 0.0, 0.99));
}

}  // namespace

MainMemory::MainMemory(const MemorySettings& settings)
    : settings_(settings),
      bytes_(settings.bytes),
      write_line_ps_(
          line_ps(settings.write_bytes_per_ns, settings.write_load * settings.write_by_write_load +
                                                   settings.read_load * settings.write_by_read_load)),
      read_line_ps_(line_ps(settings.read_bytes_per_ns, settings.write_load * settings.read_by_write_load +
                                                            settings.read_load * settings.read_by_read_load)),
      llc_(settings.llc) {}

Time MainMemory::write(Time now, uint64_t address, uint32_t bytes) {
    bytes_written_ += bytes;
    if (llc_.there()) return write_cached(now, address, bytes);
    const double lines =
        static_cast<double>(lines_touched(address, bytes)) +
        (settings_.partial_line_cost - 1) * static_cast<double>(lines_in_part(address, bytes));
    write_free_ = std::max(write_free_, now) + static_cast<Time>(lines * write_line_ps_);
    return write_free_ + settings_.write_latency;
}

Time MainMemory::read(Time now, uint64_t address, uint32_t bytes) {
    bytes_read_ += bytes;
    if (llc_.there()) return read_cached(now, address, bytes);
    const auto lines = static_cast<double>(lines_touched(address, bytes));
    read_free_ = std::max(read_free_, now) + static_cast<Time>(lines * read_line_ps_);
    return read_free_ + settings_.read_latency;
}

/// Seen when it is in the cache. A line that has to make room first goes to main memory; one that is written
/// in part and not there comes from it.
Time MainMemory::write_cached(Time now, uint64_t address, uint32_t bytes) {
    if (bytes == 0) return now + settings_.write_latency;
    Time placed = now;
    for (uint64_t at = address / line; at <= (address + bytes - 1) / line; at++) {
        const Llc::Outcome outcome = llc_.device_writes(now, at);
        if (outcome.written_back) {
            write_back(now);
            placed = std::max(placed, write_free_);
        }
        const bool whole = at * line >= address && (at + 1) * line <= address + bytes;
        if (!outcome.hit && !whole) placed = std::max(placed, fetch(now) + settings_.read_latency);
    }
    return placed + settings_.write_latency;
}

Time MainMemory::read_cached(Time now, uint64_t address, uint32_t bytes) {
    Time there = now + llc_.settings().read_latency;
    if (bytes == 0) return there;
    for (uint64_t at = address / line; at <= (address + bytes - 1) / line; at++) {
        const Llc::Outcome outcome = llc_.device_reads(now, at);
        if (outcome.written_back) write_back(now);
        if (!outcome.hit) there = std::max(there, fetch(now) + settings_.read_latency);
    }
    return there;
}

unsigned MainMemory::cpu_misses(Time now, uint64_t address, uint32_t bytes, bool writes) {
    if (!llc_.there() || bytes == 0) return 0;
    unsigned misses = 0;
    for (uint64_t at = address / line; at <= (address + bytes - 1) / line; at++) {
        const Llc::Outcome outcome = llc_.cpu_touches(now, at, writes);
        if (outcome.written_back) write_back(now);
        if (outcome.hit) continue;
        misses++;
        fetch(now);
    }
    return misses;
}

}  // namespace pktpit::model
