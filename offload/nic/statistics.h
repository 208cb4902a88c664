// SPDX-License-Identifier: BSD-3-Clause
/// The statistics registers of Intel's gigabit controllers, added up: they are 32 bits wide and clear when
/// they are read (82574 datasheet 10.2.7, 82576 datasheet 8.19). Read often enough that none wraps: packet
/// counters stick at their end after minutes at line rate. Control plane.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "offload/nic/device.h"

namespace pktpit::offload::gigabit {

class Statistics {
  public:
    static constexpr size_t count = 50;

    /// Reads the registers and adds to the sums. A register that reads as all ones adds nothing.
    void collect(Device& device);
    /// Reads the registers, and begins at zero.
    void restart(Device& device);
    /// By their names in the datasheet.
    [[nodiscard]] std::vector<std::pair<std::string_view, uint64_t>> values() const;

  private:
    std::array<uint64_t, count> sums_{};
};

}  // namespace pktpit::offload::gigabit
