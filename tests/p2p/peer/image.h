// SPDX-License-Identifier: BSD-3-Clause
/// The FIB image in the device's memory, read as any reader reads it (fib/lookup.h, by the plain way of
/// router/forward/plain.h): what is plain the device forwards, all else is the host's to decide. The image is
/// the host's, and not trusted: where its parts lie is looked at before, indices are masked by the readers.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "router/forward/plain.h"

namespace pktpit::test_peer {

class Image {
  public:
    /// Errors: no image of this layout, or parts of it lie outside of `memory`.
    static Result<std::unique_ptr<Image>> open(std::span<const std::byte> memory);

    /// Egress port of a frame that came in by a port; its first bytes in `slice` are then those that it
    /// leaves with. Nothing: it is not plain, and untouched.
    std::optional<uint16_t> forward(uint16_t port, std::span<uint8_t> slice, uint32_t frame_length);

  private:
    Image(const std::byte* base, const pp_fib_geometry& geometry);

    pp_fib_geometry geometry_;  ///< what the host writes there later changes nothing
    router::PlainForwarder forwarder_;
    router::PlainBatch batch_;
};

}  // namespace pktpit::test_peer
