// SPDX-License-Identifier: BSD-3-Clause
/// The frames of the CPU benchmark, as net_pcap reads them.
#pragma once

#include <span>
#include <string>

#include "base/address.h"

namespace pktpit::bench::cpu {

struct CaptureShape {
    MacAddress destination;  ///< Ethernet; the source's is fixed
    unsigned frame_bytes = 64;
    /// Of a hundred frames, so many that no fast way may take: two bytes behind the packet, which a router is
    /// not to pass on.
    unsigned trailers_percent = 0;
};
inline constexpr unsigned trailer_bytes = 2;

/// UDP from 198.18.0.2 or 2001:2:0:a::2, ports 1024, to each destination in turn; correct checksums. Throws
/// Failure if the file cannot be written.
void write_capture(const std::string& path, std::span<const IpAddress> destinations,
                   const CaptureShape& shape);
/// One such frame, with `trailer` bytes behind its packet.
std::string make_frame(const IpAddress& destination, const CaptureShape& shape, unsigned trailer = 0);

}  // namespace pktpit::bench::cpu
