// SPDX-License-Identifier: BSD-3-Clause
/// Frames whose TCP or UDP checksum is not there yet. A sender on the same machine leaves it to the NIC,
/// which a virtual one does not need: virtio and veth hand the frame over as it is, with the sum of the
/// pseudo header in the field (Linux: CHECKSUM_PARTIAL). The kernel knows of each frame; who has its bytes
/// alone does not, and a copy that is sent on would be thrown away where it arrives.
#pragma once

#include <cstdint>
#include <span>

namespace pktpit::router {

/// Fills in the checksum of a whole frame, if the field has the pseudo header's sum; says whether it had. A
/// checksum that is right and happens to look so stays as it is. Up to two VLAN tags; not of fragments (the
/// kernel completes what it cuts), not behind IPv6 extension headers. Any thread.
bool complete_checksum(std::span<uint8_t> frame);

}  // namespace pktpit::router
