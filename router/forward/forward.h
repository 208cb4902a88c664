// SPDX-License-Identifier: BSD-3-Clause
/// forward(): what the router decides about one frame. The C++ twin of the eBPF port stage
/// (bpf/port_stage.bpf.c): same verdict, same bytes, proven by tests/differential.
///
/// Called for frames that the port stage punted and for frames that the daemon makes itself. Any thread; it
/// reads the image, and never allocates, locks, logs or touches payload.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bpf/abi.h"
#include "bpf/verdict.h"
#include "fib/layout.h"
#include "router/filter/filter_view.h"
#include "router/guard/guard_view.h"

namespace pktpit::router {

/// A FIB image to read, wherever it lies.
struct ImageView {
    const std::byte* base = nullptr;
    const pp_fib_geometry* geometry = nullptr;
    const PublishedFilters* filters = nullptr;  ///< null: packets pass none
    const PublishedGuard* guard = nullptr;      ///< null: nothing is guarded
};

/// The decision. For PP_FORWARDED the egress frame is header[0..header_length) followed by the ingress frame
/// from byte `consumed` on, without its last `trailer` bytes.
struct Decision {
    pp_verdict verdict = PP_NONE;
    uint16_t egress_port = 0;
    uint16_t egress_interface = 0;
    uint32_t adjacency = 0;          ///< matched adjacency, also for punts that have one (0: none)
    uint16_t route_counter = 0;      ///< of the matched route, to be counted with if forwarded (0: it is not)
    uint32_t filter_in = 0;          ///< counter of the rule that matched coming in (0: there was no filter)
    uint32_t filter_out = 0;         ///< the same going out
    uint32_t mtu = 0;                ///< of the egress interface, for PP_PUNT_TOO_BIG
    uint16_t l3_offset = 0;          ///< where the IP header starts in the ingress frame
    uint16_t ingress_interface = 0;  ///< L3 interface it came in by, after its VLAN tags
    uint16_t parameter_pointer = 0;  ///< byte within the IP packet, for parameter problems
    uint16_t consumed = 0;
    uint16_t header_length = 0;
    uint32_t trailer = 0;  ///< bytes behind the packet that do not leave; a short frame's padding does
    std::array<uint8_t, PP_SLICE_BYTES + 8> header;  ///< undefined behind header_length
};

/// `slice`: the frame's first min(frame_length, 128) bytes, from the Ethernet header on.
/// `frame_length`: whole frame in bytes, without FCS.
Decision forward(const ImageView& image, uint16_t ingress_port, std::span<const uint8_t> slice,
                 uint32_t frame_length);

pp_action action_of(pp_verdict verdict);
const char* name_of(pp_verdict verdict);
const char* meaning_of(pp_verdict verdict);
const char* name_of(pp_action action);  ///< "forward", "host", "punt", "drop", "taken"

}  // namespace pktpit::router
