// SPDX-License-Identifier: BSD-3-Clause
// Reverse-path checks (uRPF, RFC 3704 2.2, 2.4): the twin of pp_rpf_fails() (bpf/guard.h). The source is
// looked up in the table that the destination is.
#include "fib/lookup.h"
#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

bool leads_back(const ImageView& image, uint32_t index, uint8_t mode, uint16_t interface) {
    const pp_fib_adjacency* entry = pp_fib_adjacency_at(image.base, image.geometry, index);
    switch (static_cast<uint8_t>(image_word(entry, 0) >> 48)) {
        case PP_ADJ_KERNEL:  // out of no interface that is known here
            return mode == PP_RPF_LOOSE;
        case PP_ADJ_FORWARD:
        case PP_ADJ_INCOMPLETE:
        case PP_ADJ_GLEAN:
            return mode == PP_RPF_LOOSE || static_cast<uint16_t>(image_word(entry, 3) >> 32) == interface;
        default:
            return false;
    }
}

/// By the group that the source's own longest match leads to: any of its members will do.
bool group_leads_back(const ImageView& image, uint32_t group, uint8_t mode, uint16_t interface) {
    const uint64_t members = pp_fib_group_word(image.base, image.geometry, group);
    const uint32_t first = PP_FIB_GROUP_FIRST(members);
    const uint32_t bits = PP_FIB_GROUP_BITS(members);
    if (bits == 0) return leads_back(image, first, mode, interface);
    const pp_fib_geometry& geometry = *image.geometry;
    for (uint32_t member = 0; member < 1U << bits; member++) {
        const uint64_t index = (uint64_t{first} + member) & (geometry.bucket_count - 1);
        if (leads_back(image, pp_fib_load32(image.base, geometry.bucket_offset + index * 4), mode, interface))
            return true;
    }
    return false;
}

uint8_t mode_of(const Frame& frame, const Decision& decision) {
    if (!frame.image.guard) return PP_RPF_OFF;
    const pp_guard* guard = frame.image.guard->load(std::memory_order_acquire);
    return guard ? rpf_of(*guard, decision.ingress_interface) : uint8_t{PP_RPF_OFF};
}

}  // namespace

// A packet to the host may come from no address yet (DHCP), or from one of its link.
bool fails_rpf_ipv4(const Frame& frame, const Decision& decision, uint32_t source, bool to_host) {
    const uint8_t mode = mode_of(frame, decision);
    if (mode == PP_RPF_OFF || (to_host && (source == 0 || source >> 16 == 0xa9fe))) return false;
    const ImageView& image = frame.image;
    return !group_leads_back(image, pp_fib_lookup4_in(image.base, image.geometry, frame.table, source), mode,
                             decision.ingress_interface);
}

bool fails_rpf_ipv6(const Frame& frame, const Decision& decision, const uint8_t* source, bool to_host) {
    const uint8_t mode = mode_of(frame, decision);
    if (mode == PP_RPF_OFF) return false;
    const uint64_t high = load_be64(source);
    if (to_host && (high >> 54 == 0xfe80 >> 6 || (high | load_be64(source + 8)) == 0)) return false;
    const ImageView& image = frame.image;
    return !group_leads_back(image, pp_fib_lookup6_in(image.base, image.geometry, frame.table, source), mode,
                             decision.ingress_interface);
}

}  // namespace pktpit::router
