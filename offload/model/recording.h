// SPDX-License-Identifier: BSD-3-Clause
/// Frames that were recorded, as traffic of an experiment: when they came, how long they were, which
/// conversation they belong to and where to. Their bytes do not go through the model: its own frames of the
/// same length do, whose every byte is checked. Filled from bytes that are not trusted, immutable afterwards;
/// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "offload/model/time.h"

namespace pktpit::model {

struct RecordedFrame {
    Time at = 0;                            ///< since the first
    uint32_t size = 0;                      ///< with FCS, as long as the model's frames can be
    uint32_t flow = 0;                      ///< hash of addresses, protocol and ports
    std::optional<uint32_t> destination{};  ///< of IPv4, host byte order
};

class Recording {
  public:
    /// `time`: picoseconds of any clock; one that goes back counts as the last. `bytes`: what was kept of a
    /// frame of `length` bytes without FCS.
    void add(Time time, std::span<const std::byte> bytes, uint32_t length);
    [[nodiscard]] const std::vector<RecordedFrame>& frames() const { return frames_; }
    /// Frames that were made longer or shorter, to what the model's can be.
    [[nodiscard]] size_t resized() const { return resized_; }
    /// From the first frame to where the next round begins: its last gap is the mean one.
    [[nodiscard]] Time span() const;

  private:
    std::vector<RecordedFrame> frames_;
    Time first_ = 0;
    size_t resized_ = 0;
};

}  // namespace pktpit::model
