// SPDX-License-Identifier: BSD-3-Clause
/// Main memory as devices see it: bytes, a latency, and a bandwidth that devices share with the CPU's own
/// loads and stores. A background load takes part of it, by factors of the profile. One thread.
#pragma once

#include "offload/model/flat_memory.h"
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
    [[nodiscard]] uint64_t bytes_written() const { return bytes_written_; }
    [[nodiscard]] uint64_t bytes_read() const { return bytes_read_; }

  private:
    MemorySettings settings_;
    FlatMemory bytes_;
    double write_line_ps_;
    double read_line_ps_;
    Time write_free_ = 0;
    Time read_free_ = 0;
    uint64_t bytes_written_ = 0;
    uint64_t bytes_read_ = 0;
};

}  // namespace pktpit::model
