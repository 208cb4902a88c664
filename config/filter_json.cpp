// SPDX-License-Identifier: BSD-3-Clause
// Filters from JSON that is valid against the schema, and back.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

/// "22", "1000-2000", or a number.
std::optional<PortRange> read_ports(const json& node, const std::string& where, Errors& errors) {
    if (node.is_number()) return PortRange{node.get<uint16_t>(), node.get<uint16_t>()};
    const auto text = node.get<std::string>();
    const auto bad = [&](const std::string& why) {
        errors.push_back({where, in_quotes(text) + " " + why, "a port from 0 to 65535, or a range of them",
                          "such as \"22\" or \"1000-2000\""});
        return std::nullopt;
    };
    std::array<uint32_t, 2> ends{};
    const char* at = text.data();
    const char* const end = at + text.size();
    size_t count = 0;
    for (; count < ends.size(); count++) {
        const auto [next, error] = std::from_chars(at, end, ends[count]);
        if (error != std::errc() || ends[count] > 65535) return bad("is no port");
        at = next;
        if (at == end || count == 1) break;
        if (*at++ != '-') return bad("is no range of ports");
    }
    if (at != end) return bad("is no range of ports");
    if (count == 0) ends[1] = ends[0];
    if (ends[0] > ends[1]) return bad("ends before it begins");
    return PortRange{static_cast<uint16_t>(ends[0]), static_cast<uint16_t>(ends[1])};
}

/// "syn,!ack"
std::optional<TcpFlags> read_flags(const std::string& text, const std::string& where, Errors& errors) {
    constexpr std::array names{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};
    TcpFlags out;
    for (size_t begin = 0; begin <= text.size();) {
        const size_t end = std::min(text.find(',', begin), text.size());
        std::string name = text.substr(begin, end - begin);
        const bool set = !name.starts_with('!');
        if (!set) name.erase(0, 1);
        const auto* found = std::ranges::find_if(names, [&](const char* known) { return name == known; });
        const auto bit = static_cast<uint8_t>(1U << (found - names.begin()) % names.size());
        if (found == names.end() || (out.mask & bit) != 0) {
            errors.push_back(
                {where,
                 found == names.end() ? in_quotes(name) + " is no flag of TCP"
                                      : in_quotes(name) + " is named twice",
                 "fin, syn, rst, psh, ack, urg, ece and cwr, each with \"!\" in front where it is "
                 "not to be set",
                 "such as \"syn,!ack\""});
            return std::nullopt;
        }
        out.mask |= bit;
        if (set) out.value |= bit;
        begin = end + 1;
    }
    return out;
}

std::optional<uint8_t> read_protocol(const json& node, const std::string& where, Errors& errors) {
    if (node.is_number()) return node.get<uint8_t>();
    const auto name = node.get<std::string>();
    const auto known = ip_protocol_of(name);
    if (!known)
        errors.push_back({where, in_quotes(name) + " is no protocol that is known by name",
                          "tcp, udp, icmp, icmpv6, sctp, gre, esp, ah, ospf, pim, vrrp, igmp, or a number",
                          ""});
    return known;
}

/// A prefix, or one address.
std::optional<Prefix> read_net(const std::string& text, const std::string& where, Errors& errors) {
    if (text.find('/') != std::string::npos) return read_prefix(text, where, errors);
    if (const auto address = read_address(text, where, errors)) return Prefix::of(*address, address->bits());
    return std::nullopt;
}

FilterRule read_rule(const json& node, const std::string& where, Errors& errors) {
    FilterRule out;
    out.action = node.at("action") == "drop"        ? FilterAction::drop
                 : node.at("action") == "to_kernel" ? FilterAction::to_kernel
                                                    : FilterAction::accept;
    const auto net = [&](const char* key, std::optional<Prefix>& value) {
        if (auto found = node.find(key); found != node.end())
            value = read_net(found->get<std::string>(), at(where, key), errors);
    };
    const auto ports = [&](const char* key, std::optional<PortRange>& value) {
        if (auto found = node.find(key); found != node.end())
            value = read_ports(*found, at(where, key), errors);
    };
    net("source", out.source);
    net("destination", out.destination);
    ports("source_port", out.source_port);
    ports("destination_port", out.destination_port);
    if (auto found = node.find("protocol"); found != node.end())
        out.protocol = read_protocol(*found, at(where, "protocol"), errors);
    if (auto found = node.find("icmp_type"); found != node.end()) out.icmp_type = found->get<uint8_t>();
    if (auto found = node.find("tcp_flags"); found != node.end())
        out.tcp_flags = read_flags(found->get<std::string>(), at(where, "tcp_flags"), errors);
    if (auto found = node.find("fragment"); found != node.end()) out.fragment = found->get<bool>();
    return out;
}

json rule_json(const FilterRule& rule) {
    json out = {{"action", to_string(rule.action)}};
    if (rule.source) out["source"] = rule.source->to_string();
    if (rule.destination) out["destination"] = rule.destination->to_string();
    if (rule.protocol) {
        if (ip_protocol_of(ip_protocol_name(*rule.protocol)))
            out["protocol"] = ip_protocol_name(*rule.protocol);
        else
            out["protocol"] = *rule.protocol;
    }
    if (rule.source_port) out["source_port"] = to_string(*rule.source_port);
    if (rule.destination_port) out["destination_port"] = to_string(*rule.destination_port);
    if (rule.icmp_type) out["icmp_type"] = *rule.icmp_type;
    if (rule.tcp_flags) out["tcp_flags"] = to_string(*rule.tcp_flags);
    if (rule.fragment) out["fragment"] = *rule.fragment;
    return out;
}

}  // namespace

void read_filters(const json& node, Filters& out, Errors& errors) {
    for (const auto& [name, rules] : node.items()) {
        Filter& filter = out[name];
        const std::string where = at("/filters", name);
        filter.reserve(rules.size());
        for (size_t i = 0; i < rules.size(); i++)
            filter.push_back(read_rule(rules[i], at(where, i), errors));
    }
}

json filters_json(const Filters& filters) {
    json out = json::object();
    for (const auto& [name, rules] : filters) {
        json& list = out[name] = json::array();
        for (const FilterRule& rule : rules)
            list.push_back(rule_json(rule));
    }
    return out;
}

}  // namespace pktpit::config
