// SPDX-License-Identifier: BSD-3-Clause
// Packets that the router itself sends: which way, from which address, in which frame.
#include <array>

#include "router/slow_path/fragment.h"
#include "router/slow_path/state.h"

namespace pktpit::router {

const IpAddress dummy_ipv4 = IpAddress::v4(0xc0000008);  // 192.0.0.8

/// nullopt: no route, or one that leads nowhere. `interface`: in whose VRF, and the link of a link-local
/// destination.
std::optional<SlowPath::State::Way> SlowPath::State::way_to(const ImageView& image,
                                                            const IpAddress& destination,
                                                            uint16_t interface) const {
    if (destination.is_v6() && destination.is_link_local()) {
        auto link = environment.link_of(interface);
        if (!link) return std::nullopt;
        link->kind = PP_ADJ_GLEAN;
        return Way{*link, destination};
    }
    const uint32_t id = adjacency_towards(image, destination, interface);
    const pp_fib_adjacency adjacency = load_adjacency(image, id);
    if (id == 0 || (adjacency.kind != PP_ADJ_FORWARD && adjacency.kind != PP_ADJ_INCOMPLETE &&
                    adjacency.kind != PP_ADJ_GLEAN))
        return std::nullopt;
    return Way{adjacency, environment.next_hop_of(id).value_or(destination)};
}

std::optional<IpAddress> SlowPath::State::address_on(uint16_t interface, Family family,
                                                     bool link_local) const {
    const auto address = environment.source_address(interface, family, link_local);
    return address ? address : environment.router_address(family, interface);
}

/// RFC 1812 4.3.2.4, RFC 4443 2.2 (d): one of the interface that the error leaves by. Of a router without
/// IPv4 addresses, by whose IPv6 next hops IPv4 passes, the one that is reserved for that (RFC 7600 4.8).
std::optional<IpAddress> SlowPath::State::source_towards(const Way& way, const IpAddress& destination) const {
    const auto own = address_on(way.adjacency.interface, destination.family,
                                destination.is_v6() && destination.is_link_local());
    return own || destination.is_v6() ? own : dummy_ipv4;
}

void SlowPath::State::send_own(std::vector<uint8_t> bytes, uint16_t interface, Clock::time_point since,
                               Clock::time_point now, bool give_up) {
    const ImageView image = environment.image();
    const auto packet = parse_packet(bytes);
    if (!packet || image.base == nullptr || image.geometry == nullptr)
        return counters.add(Counter::icmp_own_undeliverable);
    const auto way = way_to(image, packet->destination(), interface);
    if (!way) return counters.add(Counter::icmp_own_undeliverable);
    const auto adjacency = complete(way->adjacency, way->next_hop);
    if (!adjacency) {
        // No error about an error (RFC 1812 4.3.2.7): what gets no neighbour is dropped.
        if (give_up) return counters.add(Counter::icmp_own_undeliverable);
        return wait({way->adjacency.interface, way->next_hop},
                    {std::move(bytes), since, true, 0, interface, 0}, now);
    }
    if (!is_port_up(image, adjacency->port)) return counters.add(Counter::icmp_own_undeliverable);
    const LinkHeader link = link_header(*adjacency, packet->family);
    if (packet->bytes.size() <= adjacency->mtu) {
        const std::array<Bytes, 2> parts{link.view(), packet->bytes};
        transmit(adjacency->port, parts);
        return;
    }
    if (packet->family == Family::ipv6) return counters.add(Counter::icmp_own_undeliverable);
    OwnedHeader header;
    header.length = packet->header_length;
    std::ranges::copy(packet->header(), header.bytes.begin());
    const size_t count = fragment(header, packet->payload(), adjacency->mtu, [&](Bytes head, Bytes payload) {
        const std::array<Bytes, 3> parts{link.view(), head, payload};
        transmit(adjacency->port, parts);
    });
    if (count == 0) counters.add(Counter::icmp_own_undeliverable);
}

}  // namespace pktpit::router
