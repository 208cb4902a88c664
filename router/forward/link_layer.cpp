// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <bit>

#include "fib/lookup.h"
#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

constexpr size_t mac_bytes = 6;

bool is_tag(uint16_t ethertype) {
    return ethertype == ethertype_vlan || ethertype == ethertype_qinq;
}

/// A tag as the image has it (struct pp_fib_vlan).
uint16_t tag_of(uint16_t tpid, uint16_t tci) {
    return static_cast<uint16_t>((tci & PP_VLAN_VID) | (tpid == ethertype_qinq ? PP_VLAN_SERVICE : 0));
}

}  // namespace

pp_verdict parse_link_layer(Frame& frame, Decision& decision) {
    const Bytes slice = frame.slice;
    if (slice.size() < ethernet_header) return PP_DROP_TRUNCATED;

    const pp_fib_port* entry = pp_fib_port_at(frame.image.base, frame.image.geometry, frame.port);
    const std::array<uint64_t, 2> words{image_word(entry, 0), image_word(entry, 1)};
    static_assert(sizeof words == sizeof(pp_fib_port));
    const auto own = std::bit_cast<pp_fib_port>(words);
    frame.link_layer_group = (slice[0] & 1) != 0;
    const uint8_t* source = &slice[mac_bytes];
    if ((source[0] & 1) != 0) return PP_DROP_SOURCE_MAC;  // no station is a group: IEEE 802.3 3.2.3
    if (!frame.link_layer_group) {
        if (std::memcmp(slice.data(), own.mac, mac_bytes) != 0) return PP_HOST_OTHER_MAC;
        if (std::memcmp(source, own.mac, mac_bytes) == 0) return PP_DROP_SOURCE_MAC;
    }

    // Tags that name a VLAN; VID 0 only carries a priority (IEEE 802.1Q 9.6) and counts as no tag.
    std::array<uint16_t, 2> tags{};
    size_t named = 0;
    uint32_t offset = ethernet_header;
    uint16_t ethertype = load_be16(&slice[offset - 2]);
    for (size_t depth = 0; is_tag(ethertype); depth++) {
        if (depth == tags.size()) return PP_DROP_VLAN_DEPTH;
        if (slice.size() < offset + vlan_tag) return PP_DROP_TRUNCATED;
        const uint16_t tag = tag_of(ethertype, load_be16(&slice[offset]));
        if ((tag & PP_VLAN_VID) != 0) tags[named++] = tag;
        offset += vlan_tag;
        ethertype = load_be16(&slice[offset - 2]);
    }
    frame.ethertype = ethertype;
    decision.l3_offset = static_cast<uint16_t>(offset);
    if (named == 0) {
        decision.ingress_interface = own.interface;
        frame.table = own.table;
    } else {
        const auto* base = frame.image.base;
        const auto* geometry = frame.image.geometry;
        decision.ingress_interface =
            static_cast<uint16_t>(pp_fib_vlan_interface(base, geometry, frame.port, tags[0], tags[1]));
        frame.table = static_cast<uint16_t>(
            PP_FIB_INTERFACE_TABLE(pp_fib_interface_word(base, geometry, decision.ingress_interface)));
    }
    return decision.ingress_interface == 0 ? PP_HOST_UNKNOWN_VLAN : PP_NONE;
}

}  // namespace pktpit::router
