// SPDX-License-Identifier: BSD-3-Clause
// Redirects: a packet leaves by the interface that it came in by, to a next hop that its sender could reach
// itself.
#include <algorithm>
#include <cstring>

#include "fib/lookup.h"
#include "router/slow_path/icmp_silence.h"
#include "router/slow_path/state.h"

namespace pktpit::router {

namespace {

constexpr size_t mac_bytes = 6;

/// Whoever copied the frame may have rewritten it: then the port's MAC address is the source.
void turn_back(const ImageView& image, uint16_t port, std::span<uint8_t> frame) {
    if (port >= image.geometry->port_count || frame.size() < 2 * mac_bytes) return;
    const pp_fib_port* entry = pp_fib_port_at(image.base, image.geometry, port);
    if (std::memcmp(frame.data() + mac_bytes, entry->mac, mac_bytes) == 0)
        std::swap_ranges(frame.begin(), frame.begin() + mac_bytes, frame.begin() + mac_bytes);
}

}  // namespace

void SlowPath::State::redirect(uint16_t port, std::span<uint8_t> frame, Clock::time_point now) {
    if (!redirects) return;
    Transit transit{port, frame, now, now, false, environment.image(), {}, {}, false};
    if (transit.image.base == nullptr || transit.image.geometry == nullptr) return;
    turn_back(transit.image, port, frame);
    transit.decision =
        forward(transit.image, port, Bytes(frame).first(std::min<size_t>(frame.size(), PP_SLICE_BYTES)),
                static_cast<uint32_t>(frame.size()));
    const Decision& decision = transit.decision;
    if (decision.verdict != PP_FORWARDED || decision.egress_interface != decision.ingress_interface) return;
    const auto packet = parse_packet(Bytes(frame).subspan(decision.l3_offset));
    if (!packet) return;
    const pp_fib_adjacency adjacency = load_adjacency(transit.image, decision.adjacency);
    const IpAddress next_hop = environment.next_hop_of(decision.adjacency).value_or(packet->destination());
    const auto source = redirect_source(*packet, decision.ingress_interface, next_hop);
    if (!source) return;
    const SilenceContext context{(frame[0] & 1) != 0, false, [&](const IpAddress& address) {
                                     return environment.is_broadcast(address, decision.ingress_interface);
                                 }};
    if (icmp_silence(*packet, context)) return;
    const IpAddress sender = packet->source();
    if (!redirect_limiter.allow(sender, decision.ingress_interface, now))
        return counters.add(Counter::icmp_redirect_withheld);
    if (!limiter.allow(sender, now)) return counters.add(Counter::icmp_rate_limited);
    if (sender.is_v4()) {
        const IcmpError error = icmp4::redirect(next_hop);
        counters.add(error.counter);
        return send_own(icmp4::build(error, *packet, *source, identifications.next()),
                        decision.ingress_interface, now, now, false);
    }
    MacAddress mac;
    std::ranges::copy(adjacency.dst_mac, mac.bytes.begin());
    counters.add(Counter::icmp6_redirect);
    send_own(icmp6::build_redirect(*packet, *source, next_hop, mac), decision.ingress_interface, now, now,
             false);
}

/// The address that the sender knows this router by, if it may be told of this next hop. RFC 1812 5.2.7.2:
/// both are in one net of the interface's. RFC 4861 8.2: the sender is on the link, and the target is the
/// destination itself, or a link-local address.
std::optional<IpAddress> SlowPath::State::redirect_source(const Packet& packet, uint16_t interface,
                                                          const IpAddress& next_hop) const {
    const IpAddress sender = packet.source();
    if (sender.family != next_hop.family) return std::nullopt;  // RFC 8950: there is no such redirect
    const auto of_sender = environment.address_in_net_of(interface, sender);
    if (sender.is_v4())
        return of_sender == environment.address_in_net_of(interface, next_hop) ? of_sender : std::nullopt;
    if (!of_sender && !sender.is_link_local()) return std::nullopt;
    if (!next_hop.is_link_local() && next_hop != packet.destination()) return std::nullopt;
    const auto own = environment.source_address(interface, Family::ipv6, true);
    return own && own->is_link_local() ? own : std::nullopt;
}

}  // namespace pktpit::router
