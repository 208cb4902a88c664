// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "base/json/nearest.h"
#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

bool has_ports(uint8_t protocol) {
    constexpr uint8_t dccp = 33, sctp = 132, udp_lite = 136;
    return protocol == protocol_tcp || protocol == protocol_udp || protocol == dccp || protocol == sctp ||
           protocol == udp_lite;
}

/// Rules that no packet can match.
void check_rule(const FilterRule& rule, const std::string& where, Errors& errors) {
    const auto never = [&](const char* key, const std::string& why, const std::string& expected) {
        errors.push_back({at(where, key), "the rule can never match: " + why, expected, ""});
    };
    const std::string protocol = rule.protocol ? in_quotes(ip_protocol_name(*rule.protocol)) : "";
    if (rule.source && rule.destination && rule.source->address.family != rule.destination->address.family)
        never("destination", "source and destination are not of the same IP version",
              "two of IPv4, or two of IPv6");
    for (const auto& [key, ports] :
         {std::pair{"source_port", rule.source_port}, {"destination_port", rule.destination_port}}) {
        if (!ports) continue;
        if (!rule.protocol)
            errors.push_back({at(where, key), "ports without a protocol that has them",
                              R"("protocol": "tcp", "udp", "sctp", 33 (DCCP) or 136 (UDP-Lite))",
                              "a rule for each of them"});
        else if (!has_ports(*rule.protocol))
            never(key, "protocol " + protocol + " has no ports", "\"tcp\", \"udp\" or \"sctp\"");
        if (rule.fragment == true)
            never(key, "only the first fragment of a packet shows its ports", "no \"fragment\": true");
    }
    if (rule.tcp_flags && rule.protocol != protocol_tcp)
        errors.push_back({at(where, "tcp_flags"), "flags of TCP in a rule that is not TCP's alone",
                          "\"protocol\": \"tcp\"", ""});
    if (rule.tcp_flags && rule.fragment == true)
        never("tcp_flags", "only the first fragment of a packet shows its flags", "no \"fragment\": true");
    if (!rule.icmp_type) {
        const bool icmp4 = rule.protocol == protocol_icmp, icmp6 = rule.protocol == protocol_icmpv6;
        const auto family = rule.family();
        if (family && ((icmp4 && family != Family::ipv4) || (icmp6 && family != Family::ipv6)))
            never("protocol", "protocol " + protocol + " and these addresses are not of the same IP version",
                  icmp4 ? "\"icmpv6\" for IPv6" : "\"icmp\" for IPv4");
        return;
    }
    if (rule.protocol != protocol_icmp && rule.protocol != protocol_icmpv6) {
        errors.push_back({at(where, "icmp_type"), "a type of ICMP in a rule that is not ICMP's alone",
                          R"("protocol": "icmp" for IPv4, or "icmpv6")", ""});
        return;
    }
    const Family of_type = rule.protocol == protocol_icmp ? Family::ipv4 : Family::ipv6;
    for (const auto& [key, net] : {std::pair{"source", rule.source}, {"destination", rule.destination}})
        if (net && net->address.family != of_type)
            never("icmp_type",
                  "protocol " + protocol + " and this " + key + " are not of the same IP version",
                  of_type == Family::ipv4 ? "\"icmpv6\" for IPv6" : "\"icmp\" for IPv4");
    if (rule.fragment == true)
        never("icmp_type", "only the first fragment of a packet shows its type", "no \"fragment\": true");
}

void check_name(const std::string& name, const std::string& where, const Draft& draft, Errors& errors) {
    if (name.empty() || draft.settings.filters.contains(name)) return;
    std::vector<std::string> names;
    for (const auto& [known, rules] : draft.settings.filters)
        names.push_back(known);
    const std::string hint = did_you_mean(name, names);
    errors.push_back({where, in_quotes(name) + " is no filter of this configuration", "the name of one",
                      hint.empty() ? "add it to /filters" : hint});
}

bool hands_to_kernel(const std::string& name, const Draft& draft) {
    const auto found = draft.settings.filters.find(name);
    return found != draft.settings.filters.end() &&
           std::ranges::any_of(found->second,
                               [](const FilterRule& rule) { return rule.action == FilterAction::to_kernel; });
}

// What is in a socket of a split or auto port has passed the kernel, which nobody can give it back to.
void check_to_kernel(const Draft& draft, Errors& errors) {
    if (draft.settings.dataplane != "xdp") return;
    const auto split = std::ranges::find_if(draft.interfaces, [](const PlacedInterface& one) {
        return one.value.forwarding != Forwarding::inline_;
    });
    if (split == draft.interfaces.end()) return;
    const auto refuse = [&](const std::string& name, const std::string& where) {
        if (hands_to_kernel(name, draft))
            errors.push_back({where,
                              in_quotes(name) + " has rules with \"to_kernel\", and " +
                                  in_quotes(split->value.name) + " is no inline port",
                              "inline ports alone beside such rules",
                              "take \"forwarding\" away at all ports"});
    };
    for (const PlacedInterface& one : draft.interfaces) {
        refuse(one.value.filter_in, at(one.where, "filter_in"));
        refuse(one.value.filter_out, at(one.where, "filter_out"));
    }
}

}  // namespace

void check_filters(const Draft& draft, Errors& errors) {
    size_t counters = 0;
    for (const auto& [name, rules] : draft.settings.filters) {
        const std::string where = at("/filters", name);
        counters += rules.size() + 1;
        if (rules.size() > most_filter_rules)
            errors.push_back({where, std::to_string(rules.size()) + " rules",
                              "at most " + std::to_string(most_filter_rules) + " in one filter", ""});
        for (size_t i = 0; i < rules.size(); i++)
            check_rule(rules[i], at(where, i), errors);
    }
    if (counters > most_filter_counters)
        errors.push_back({"/filters",
                          std::to_string(counters - draft.settings.filters.size()) + " rules in " +
                              std::to_string(draft.settings.filters.size()) + " filters need " +
                              std::to_string(counters) + " counters",
                          "at most " + std::to_string(most_filter_counters) + " of them in all", ""});
    for (const PlacedInterface& one : draft.interfaces) {
        check_name(one.value.filter_in, at(one.where, "filter_in"), draft, errors);
        check_name(one.value.filter_out, at(one.where, "filter_out"), draft, errors);
    }
    check_to_kernel(draft, errors);
}

}  // namespace pktpit::config
