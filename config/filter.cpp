// SPDX-License-Identifier: BSD-3-Clause
#include "config/filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace pktpit::config {
namespace {

struct NamedProtocol {
    const char* name;
    uint8_t number;
};
constexpr std::array protocols{NamedProtocol{"icmp", protocol_icmp},
                               NamedProtocol{"igmp", 2},
                               NamedProtocol{"tcp", protocol_tcp},
                               NamedProtocol{"udp", protocol_udp},
                               NamedProtocol{"gre", 47},
                               NamedProtocol{"esp", 50},
                               NamedProtocol{"ah", 51},
                               NamedProtocol{"icmpv6", protocol_icmpv6},
                               NamedProtocol{"ospf", 89},
                               NamedProtocol{"pim", 103},
                               NamedProtocol{"vrrp", 112},
                               NamedProtocol{"sctp", 132}};

constexpr std::array flag_names{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};

/// Does what `mine` asks for follow from what `theirs` asks for?
template <class T, class Covers>
bool follows(const std::optional<T>& mine, const std::optional<T>& theirs, const Covers& covers) {
    return !mine || (theirs && covers(*mine, *theirs));
}

/// The protocol that a rule's packets have, whether it is named or follows from something else.
std::optional<uint8_t> implied_protocol(const FilterRule& rule) {
    if (rule.protocol) return rule.protocol;
    if (rule.tcp_flags) return protocol_tcp;
    return std::nullopt;
}

bool shows_transport(const FilterRule& rule) {
    return rule.source_port || rule.destination_port || rule.icmp_type || rule.tcp_flags;
}

}  // namespace

std::optional<Family> FilterRule::family() const {
    if (source) return source->address.family;
    if (destination) return destination->address.family;
    // ICMP's numbers differ: those of the one family mean nothing in the other.
    if (icmp_type && protocol) return *protocol == protocol_icmp ? Family::ipv4 : Family::ipv6;
    return std::nullopt;
}

bool FilterRule::covers(const FilterRule& other) const {
    const auto same = [](const auto& a, const auto& b) { return a == b; };
    const auto inside = [](const auto& a, const auto& b) { return a.contains(b); };
    const auto flags = [](const TcpFlags& a, const TcpFlags& b) {
        return (a.mask & b.mask) == a.mask && (b.value & a.mask) == a.value;
    };
    // Where a rule asks for ports, types or flags, a packet that shows none does not match.
    const std::optional<bool> other_fragment =
        other.fragment ? other.fragment
                       : (shows_transport(other) ? std::optional(false) : std::optional<bool>());
    return follows(source, other.source, inside) && follows(destination, other.destination, inside) &&
           follows(protocol, implied_protocol(other), same) &&
           follows(source_port, other.source_port, inside) &&
           follows(destination_port, other.destination_port, inside) &&
           follows(icmp_type, other.icmp_type, same) && follows(tcp_flags, other.tcp_flags, flags) &&
           follows(fragment, other_fragment, same) && (!family() || family() == other.family());
}

std::string to_string(FilterAction action) {
    switch (action) {
        case FilterAction::accept:
            return "accept";
        case FilterAction::drop:
            return "drop";
        default:
            return "to_kernel";
    }
}

std::string ip_protocol_name(uint8_t protocol) {
    const auto* found = std::ranges::find(protocols, protocol, &NamedProtocol::number);
    return found != protocols.end() ? found->name : std::to_string(protocol);
}

std::optional<uint8_t> ip_protocol_of(const std::string& name) {
    const auto* found = std::ranges::find_if(protocols, [&](const auto& one) { return name == one.name; });
    if (found != protocols.end()) return found->number;
    return std::nullopt;
}

std::string to_string(const PortRange& ports) {
    std::string out = std::to_string(ports.first);
    return ports.first == ports.last ? out : out + "-" + std::to_string(ports.last);
}

std::string to_string(const TcpFlags& flags) {
    std::string out;
    for (size_t bit = 0; bit < flag_names.size(); bit++) {
        if ((flags.mask >> bit & 1) == 0) continue;
        out += out.empty() ? "" : ",";
        out += (flags.value >> bit & 1) != 0 ? "" : "!";
        out += flag_names[bit];
    }
    return out;
}

std::string to_string(const FilterRule& rule) {
    std::string out = to_string(rule.action);
    if (rule.protocol) out += " " + ip_protocol_name(*rule.protocol);
    const auto end = [&](const char* word, const std::optional<Prefix>& prefix,
                         const std::optional<PortRange>& ports) {
        if (!prefix && !ports) return;
        out += std::string(" ") + word + " " + (prefix ? prefix->to_string() : "any");
        if (ports) out += " port " + to_string(*ports);
    };
    end("from", rule.source, rule.source_port);
    end("to", rule.destination, rule.destination_port);
    if (rule.icmp_type) out += " type " + std::to_string(*rule.icmp_type);
    if (rule.tcp_flags) out += " flags " + to_string(*rule.tcp_flags);
    if (rule.fragment) out += *rule.fragment ? " fragment" : " no fragment";
    return out;
}

}  // namespace pktpit::config
