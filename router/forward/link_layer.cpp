// SPDX-License-Identifier: BSD-3-Clause
#include <array>

#include "fib/lookup.h"
#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

bool is_tag(uint16_t ethertype) {
    return ethertype == ethertype_vlan || ethertype == ethertype_qinq;
}

}  // namespace

pp_verdict parse_link_layer(Frame& frame, Decision& decision) {
    const Bytes slice = frame.slice;
    if (slice.size() < ethernet_header) return PP_DROP_TRUNCATED;

    const pp_fib_port* own = pp_fib_port_at(frame.image.base, frame.image.geometry, frame.port);
    frame.link_layer_group = (slice[0] & 1) != 0;
    if (!frame.link_layer_group && std::memcmp(slice.data(), own->mac, sizeof(own->mac)) != 0)
        return PP_HOST_OTHER_MAC;

    // VIDs that name a VLAN; VID 0 only carries a priority (IEEE 802.1Q 9.6) and counts as no tag.
    std::array<uint16_t, 2> vids{};
    size_t named = 0;
    uint32_t offset = ethernet_header;
    uint16_t ethertype = load_be16(&slice[offset - 2]);
    for (size_t depth = 0; is_tag(ethertype); depth++) {
        if (depth == vids.size()) return PP_DROP_VLAN_DEPTH;
        if (slice.size() < offset + vlan_tag) return PP_DROP_TRUNCATED;
        const uint16_t vid = load_be16(&slice[offset]) & 0xfff;
        if (vid != 0) vids[named++] = vid;
        offset += vlan_tag;
        ethertype = load_be16(&slice[offset - 2]);
    }
    frame.ethertype = ethertype;
    decision.l3_offset = static_cast<uint16_t>(offset);
    decision.ingress_interface =
        named == 0 ? own->interface
                   : static_cast<uint16_t>(pp_fib_vlan_interface(frame.image.base, frame.image.geometry,
                                                                 frame.port, vids[0], vids[1]));
    return decision.ingress_interface == 0 ? PP_HOST_UNKNOWN_VLAN : PP_NONE;
}

}  // namespace pktpit::router
