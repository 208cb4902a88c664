// SPDX-License-Identifier: BSD-3-Clause
// Transit packets: what forward() says about them now, and what has to be done about it.
#include <algorithm>

#include "router/slow_path/fragment.h"
#include "router/slow_path/icmp_silence.h"
#include "router/slow_path/ipv4_options.h"
#include "router/slow_path/state.h"

namespace pktpit::router {

namespace {

constexpr uint16_t dont_fragment = 0x4000;

Bytes slice_of(Bytes frame) {
    return frame.first(std::min<size_t>(frame.size(), PP_SLICE_BYTES));
}

uint32_t milliseconds_since_midnight(std::chrono::system_clock::time_point time) {
    const auto today = time - std::chrono::floor<std::chrono::days>(time);
    return static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::milliseconds>(today).count());
}

/// RFC 8200 4.2: the highest bits of an unknown option say who is told.
bool option_asks_for_error(const Packet& packet, size_t pointer) {
    if (pointer >= packet.bytes.size()) return false;
    const uint8_t action = packet.bytes[pointer] >> 6;
    return action == 2 || (action == 3 && !packet.destination().is_multicast());
}

}  // namespace

void SlowPath::State::handle(uint16_t port, Bytes frame, Clock::time_point since, Clock::time_point now,
                             bool give_up) {
    Transit transit{port, frame, since, now, give_up, environment.image(), {}, {}, false};
    if (transit.image.base == nullptr || transit.image.geometry == nullptr)
        return counters.add(Counter::dropped_no_image);
    transit.decision = forward(transit.image, port, slice_of(frame), static_cast<uint32_t>(frame.size()));
    if (transit.decision.verdict == PP_FORWARDED) return forward_whole(transit);
    if (action_of(transit.decision.verdict) == PP_ACTION_PUNT) {
        const size_t l3 = transit.decision.l3_offset;
        const auto packet = l3 < frame.size() ? parse_packet(frame.subspan(l3)) : std::nullopt;
        if (!packet) return counters.add(Counter::dropped_malformed);
        transit.packet = *packet;
        if (transit.decision.verdict == PP_PUNT_IPV4_OPTIONS && !look_past_options(transit)) return;
    }

    const bool v4 = transit.packet.family == Family::ipv4;
    switch (transit.decision.verdict) {
        case PP_FORWARDED:
            return forward_rewritten(transit);
        case PP_PUNT_NO_NEIGHBOUR:
            return no_neighbour(transit);
        case PP_PUNT_TOO_BIG:
            return too_big(transit, transit.decision.mtu);
        case PP_PUNT_TTL_EXPIRED:
            return answer(transit, v4 ? icmp4::time_exceeded() : icmp6::time_exceeded());
        case PP_PUNT_NO_ROUTE:
            return answer(transit, v4 ? icmp4::net_unreachable() : icmp6::no_route());
        case PP_PUNT_UNREACHABLE:
            // As Linux for `unreachable` routes. RFC 1812 5.2.7.1 gives code 1 to hosts and code 0 to nets
            // without a route: whoever configures one knows a route, and that what is behind it cannot be
            // reached.
            return answer(transit, v4 ? icmp4::host_unreachable() : icmp6::no_route());
        case PP_PUNT_PROHIBITED:
            return answer(transit, v4 ? icmp4::prohibited() : icmp6::prohibited());
        case PP_PUNT_BEYOND_SCOPE:
            return v4 ? counters.add(Counter::dropped_malformed) : answer(transit, icmp6::beyond_scope());
        case PP_PUNT_IPV6_OPTION:
            if (v4) return counters.add(Counter::dropped_malformed);
            if (!option_asks_for_error(transit.packet, transit.decision.parameter_pointer))
                return counters.add(Counter::icmp_silent_option);
            return answer(transit, icmp6::parameter_problem_option(transit.decision.parameter_pointer));
        case PP_PUNT_IPV4_OPTIONS:
            return counters.add(Counter::dropped_malformed);
        default:
            dropped_by_forward[transit.decision.verdict]++;
    }
}

/// Are the IPv4 options fit to be processed on the way out? If not, that has been answered.
bool SlowPath::State::accept_options(Transit& transit) {
    if (transit.packet.family != Family::ipv4 || transit.packet.header_length == ipv4_header_min) return true;
    if (const auto pointer = malformed_option(transit.packet.header())) {
        answer(transit, icmp4::parameter_problem(*pointer));
        return false;
    }
    transit.has_options = true;
    return true;
}

/// What would forward() say if the packet had no options? False: they are malformed, and that has been
/// answered.
bool SlowPath::State::look_past_options(Transit& transit) {
    const size_t l3 = transit.decision.l3_offset;
    const Bytes slice = slice_of(transit.frame);
    if (transit.packet.family != Family::ipv4 || l3 + transit.packet.header_length > slice.size()) {
        counters.add(Counter::dropped_malformed);
        return false;
    }
    if (!accept_options(transit)) return false;
    std::array<uint8_t, PP_SLICE_BYTES> neutral{};
    std::ranges::copy(slice, neutral.begin());
    neutralise_options(std::span(neutral).subspan(l3, transit.packet.header_length));
    transit.decision = forward(transit.image, transit.port, Bytes(neutral).first(slice.size()),
                               static_cast<uint32_t>(transit.frame.size()));
    return true;
}

/// Sends, and counts with the packet's route if that is counted.
bool SlowPath::State::transmit_counted(const Transit& transit, uint16_t port, std::span<const Bytes> parts) {
    if (!transmit(port, parts)) return false;
    if (transit.decision.route_counter == 0) return true;
    size_t bytes = 0;
    for (const Bytes& part : parts)
        bytes += part.size();
    environment.count_route(transit.decision.route_counter, bytes);
    return true;
}

/// The neighbour came, or the route, between punt and now: as the port stage would have done.
void SlowPath::State::forward_whole(const Transit& transit) {
    const Decision& decision = transit.decision;
    if (decision.consumed + decision.trailer > transit.frame.size())
        return counters.add(Counter::dropped_malformed);
    const size_t behind = transit.frame.size() - decision.consumed - decision.trailer;
    const std::array<Bytes, 2> parts{Bytes(decision.header).first(decision.header_length),
                                     transit.frame.subspan(decision.consumed, behind)};
    if (transmit_counted(transit, decision.egress_port, parts)) counters.add(Counter::forwarded);
}

/// By an adjacency of our own choice or with changed options, so that forward()'s bytes do not fit.
void SlowPath::State::forward_rewritten(Transit& transit) {
    const pp_fib_adjacency found = load_adjacency(transit.image, transit.decision.adjacency);
    const IpAddress next_hop =
        environment.next_hop_of(transit.decision.adjacency).value_or(transit.packet.destination());
    const auto adjacency = complete(found, next_hop);
    if (!adjacency || !is_port_up(transit.image, adjacency->port))
        return counters.add(Counter::dropped_no_egress);
    if (transit.packet.ttl() <= 1)
        return answer(
            transit, transit.packet.family == Family::ipv4 ? icmp4::time_exceeded() : icmp6::time_exceeded());
    if (transit.packet.bytes.size() > adjacency->mtu) return too_big(transit, adjacency->mtu);
    const OwnedHeader header = egress_header(transit, *adjacency);
    const LinkHeader link = link_header(*adjacency, transit.packet.family);
    const std::array<Bytes, 3> parts{link.view(), header.view(), transit.packet.payload()};
    if (transmit_counted(transit, adjacency->port, parts)) counters.add(Counter::forwarded);
}

OwnedHeader SlowPath::State::egress_header(const Transit& transit, const pp_fib_adjacency& adjacency) {
    OwnedHeader header = decremented(transit.packet);
    if (!transit.has_options) return header;
    const OptionsContext context{
        address_on(adjacency.interface, Family::ipv4, false),
        milliseconds_since_midnight(environment.time_of_day()), [&](const IpAddress& address) {
            return is_own_address(transit.image, address, transit.decision.ingress_interface);
        }};
    const OptionsDone done = process_options(header.span(), context);
    checksum_ipv4(header.span());
    if (done.recorded_route) counters.add(Counter::options_recorded_route);
    if (done.timestamped) counters.add(Counter::options_timestamped);
    if (done.timestamp_overflow) counters.add(Counter::options_timestamp_overflow);
    return header;
}

void SlowPath::State::too_big(Transit& transit, size_t mtu) {
    const Packet& packet = transit.packet;
    if (packet.family == Family::ipv6) {
        // Its sender must not go below 1280 (RFC 8201 section 4), so that telling it would change nothing.
        if (packet.bytes.size() <= icmp6::size_max) return counters.add(Counter::dropped_ipv6_link_too_small);
        return answer(transit, icmp6::packet_too_big(static_cast<uint32_t>(mtu)));
    }
    if (load_be16(packet.bytes.data() + 6) & dont_fragment)
        return answer(transit, icmp4::fragmentation_needed(static_cast<uint32_t>(mtu)));
    const pp_fib_adjacency found = load_adjacency(transit.image, transit.decision.adjacency);
    const IpAddress next_hop =
        environment.next_hop_of(transit.decision.adjacency).value_or(packet.destination());
    const auto adjacency = complete(found, next_hop);
    if (!adjacency) return no_neighbour(transit);
    fragment_out(transit, *adjacency, mtu);
}

void SlowPath::State::fragment_out(const Transit& transit, const pp_fib_adjacency& adjacency, size_t mtu) {
    if (!is_port_up(transit.image, adjacency.port)) return counters.add(Counter::dropped_no_egress);
    if (transit.packet.ttl() <= 1) return answer(transit, icmp4::time_exceeded());
    const LinkHeader link = link_header(adjacency, Family::ipv4);
    const size_t count = fragment(egress_header(transit, adjacency), transit.packet.payload(), mtu,
                                  [&](Bytes header, Bytes payload) {
                                      const std::array<Bytes, 3> parts{link.view(), header, payload};
                                      if (transmit_counted(transit, adjacency.port, parts))
                                          counters.add(Counter::fragments_sent);
                                  });
    counters.add(count == 0 ? Counter::fragment_impossible : Counter::fragmented_packets);
}

void SlowPath::State::no_neighbour(Transit& transit) {
    const pp_fib_adjacency found = load_adjacency(transit.image, transit.decision.adjacency);
    const IpAddress destination = transit.packet.destination();
    const IpAddress next_hop = environment.next_hop_of(transit.decision.adjacency).value_or(destination);
    // The image may lag behind what is known. forward() has not looked at the options then.
    if (complete(found, next_hop)) {
        if (accept_options(transit)) forward_rewritten(transit);
        return;
    }
    if (transit.give_up)
        return answer(transit,
                      destination.is_v4() ? icmp4::host_unreachable() : icmp6::address_unreachable());
    // The whole frame waits, not what would leave: its route may be another one by then, and an error quotes
    // it as it came.
    wait({found.interface, next_hop},
         {std::vector<uint8_t>(transit.frame.begin(), transit.frame.end()), transit.since, false,
          transit.port, 0, transit.decision.ingress_interface},
         transit.now);
}

void SlowPath::State::answer(const Transit& transit, const IcmpError& error) {
    const Packet& original = transit.packet;
    const uint16_t link = transit.decision.ingress_interface;
    const SilenceContext context{
        (transit.frame[0] & 1) != 0,
        error.counter == Counter::icmp6_packet_too_big || error.counter == Counter::icmp6_parameter_problem,
        [&](const IpAddress& address) { return environment.is_broadcast(address, link); }};
    if (const auto rule = icmp_silence(original, context)) return counters.add(*rule);
    const IpAddress destination = original.source();
    const auto way = way_to(transit.image, destination, link);
    if (!way) return counters.add(Counter::icmp_no_way_back);
    const auto source = source_towards(*way, destination);
    if (!source) return counters.add(Counter::icmp_no_source_address);
    const bool path_mtu = error.counter == Counter::icmp4_fragmentation_needed ||
                          error.counter == Counter::icmp6_packet_too_big;
    if (!(path_mtu ? path_mtu_limiter : limiter).allow(destination, transit.now))
        return counters.add(Counter::icmp_rate_limited);
    counters.add(error.counter);
    send_own(error.family == Family::ipv4 ? icmp4::build(error, original, *source, identifications.next())
                                          : icmp6::build(error, original, *source),
             link, transit.now, transit.now, false);
}

}  // namespace pktpit::router
