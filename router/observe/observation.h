// SPDX-License-Identifier: BSD-3-Clause
/// One packet as a port stage or a worker has written it down (struct pp_observation in bpf/abi.h), checked.
/// Read by the daemon's thread; the bytes stay the ring's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "bpf/abi.h"

namespace pktpit::router {

struct Observation {
    uint16_t port = 0;         ///< came in by
    uint16_t egress_port = 0;  ///< 0: none was found
    pp_verdict verdict = PP_NONE;
    bool by_worker = false;
    uint32_t frame_length = 0;  ///< as it came in, bytes without FCS
    uint32_t end_length = 0;
    uint32_t trailer = 0;            ///< bytes behind the packet that did not leave
    uint64_t start = 0;              ///< CLOCK_MONOTONIC, ns: taken from the port
    uint64_t decided = 0;            ///< by_worker only
    uint64_t end = 0;                ///< the port stage's end, or the doorbell
    std::span<const uint8_t> slice;  ///< the frame's first bytes, as they came in
    std::span<const uint8_t> frame;  ///< as it was at its end, as far as it was captured

    /// The frame as it came in, as far as it is known, at most `most` bytes.
    [[nodiscard]] std::vector<uint8_t> ingress(size_t most) const;
    [[nodiscard]] pp_point point() const;
};

/// A record with what follows it; it may be longer than what it says, as the kernel pads it. nullopt: not
/// one.
std::optional<Observation> parse_observation(std::span<const uint8_t> record);

}  // namespace pktpit::router
