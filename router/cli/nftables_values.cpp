// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/nftables_values.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "base/address.h"

namespace pktpit::router::cli::nft {
namespace {

auto cannot(std::string why) {
    return fail("", std::move(why));
}

/// Two ends of a "range"; false: it is none.
bool read_range(const json& element, json& low, json& high) {
    if (!element.is_object() || !element.contains("range")) return false;
    const json& ends = element["range"];
    if (!ends.is_array() || ends.size() != 2) return false;
    low = ends[0];
    high = ends[1];
    return true;
}

template <class Read>
Result<Values> each(const Values& elements, const Read& read) {
    Values values;
    for (const json& element : elements) {
        auto value = read(element);
        if (!value) return tl::unexpected(value.error());
        values.push_back(std::move(*value));
    }
    if (values.empty()) return cannot("an empty set matches nothing");
    return values;
}

Result<json> address(const json& element) {
    if (element.is_string()) {
        const auto text = element.get<std::string>();
        if (IpAddress::parse(text)) return json(text);
        return cannot("\"" + text + "\" is no address");
    }
    if (element.is_object() && element.contains("prefix")) {
        const json& prefix = element["prefix"];
        if (prefix.is_object() && prefix.contains("addr") && prefix.contains("len") &&
            prefix["addr"].is_string() && prefix["len"].is_number_unsigned()) {
            const std::string text =
                prefix["addr"].get<std::string>() + "/" + std::to_string(prefix["len"].get<uint64_t>());
            if (Prefix::parse(text)) return json(text);
        }
        return cannot("a prefix that is none");
    }
    return cannot(element.is_object() && element.contains("range")
                      ? "a range of addresses: write it as prefixes"
                      : "an address of a kind that is not known here");
}

Result<json> port(const json& element) {
    constexpr uint64_t most = 65535;
    const auto is_port = [](const json& one) {
        return one.is_number_unsigned() && one.get<uint64_t>() <= most;
    };
    if (is_port(element)) return json(std::to_string(element.get<uint64_t>()));
    json low, high;
    if (read_range(element, low, high) && is_port(low) && is_port(high))
        return json(std::to_string(low.get<uint64_t>()) + "-" + std::to_string(high.get<uint64_t>()));
    return cannot("a port that is no number: list the rules with nft -jn");
}

Result<json> protocol(const json& element) {
    constexpr std::array known{"icmp", "igmp", "tcp", "udp",  "gre", "esp",
                               "ah",   "ospf", "pim", "vrrp", "sctp"};
    if (element.is_number_unsigned() && element.get<uint64_t>() <= 255) return element;
    if (element == "ipv6-icmp" || element == "icmpv6") return json("icmpv6");
    if (std::ranges::any_of(known, [&](const char* name) { return element == name; })) return element;
    return cannot("a protocol whose name is not known here: list the rules with nft -jn");
}

const std::map<std::string_view, int> icmp_names{{"echo-reply", 0},         {"destination-unreachable", 3},
                                                 {"source-quench", 4},      {"redirect", 5},
                                                 {"echo-request", 8},       {"router-advertisement", 9},
                                                 {"time-exceeded", 11},     {"parameter-problem", 12},
                                                 {"timestamp-request", 13}, {"timestamp-reply", 14}};
const std::map<std::string_view, int> icmpv6_names{{"destination-unreachable", 1},
                                                   {"packet-too-big", 2},
                                                   {"time-exceeded", 3},
                                                   {"parameter-problem", 4},
                                                   {"echo-request", 128},
                                                   {"echo-reply", 129},
                                                   {"mld-listener-query", 130},
                                                   {"mld-listener-report", 131},
                                                   {"nd-router-solicit", 133},
                                                   {"nd-router-advert", 134},
                                                   {"nd-neighbor-solicit", 135},
                                                   {"nd-neighbor-advert", 136},
                                                   {"nd-redirect", 137}};

/// A name or a number (`nft -jn`), several in an array, or joined by "|".
Result<std::vector<std::string>> flag_names(const json& node) {
    constexpr std::array known{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"};
    const json& list = node.is_object() && node.contains("|") ? node["|"] : node;
    std::vector<std::string> names;
    for (const json& one : list.is_array() ? list : json::array({list})) {
        if (one.is_string()) {
            names.push_back(one == "ecn" ? "ece" : one.get<std::string>());
        } else if (one.is_number_unsigned() && one.get<uint64_t>() <= 255) {
            for (size_t bit = 0; bit < known.size(); bit++)
                if ((one.get<uint64_t>() >> bit & 1) != 0) names.emplace_back(known[bit]);
        } else {
            return cannot("TCP flags of a form that is not known here");
        }
    }
    return names;
}

}  // namespace

Result<Values> addresses(const Values& elements) {
    return each(elements, address);
}

Result<Values> ports(const Values& elements) {
    return each(elements, port);
}

Result<Values> protocols(const Values& elements) {
    return each(elements, protocol);
}

Result<Values> icmp_types(const Values& elements, bool v6) {
    return each(elements, [v6](const json& element) -> Result<json> {
        if (element.is_number_unsigned() && element.get<uint64_t>() <= 255) return element;
        const auto& names = v6 ? icmpv6_names : icmp_names;
        if (element.is_string())
            if (const auto found = names.find(element.get_ref<const std::string&>()); found != names.end())
                return json(found->second);
        return cannot("an ICMP type that is not known here: list the rules with nft -jn");
    });
}

Result<Values> tcp_flags(const json& mask, const json& set) {
    const auto asked = flag_names(mask);
    if (!asked) return tl::unexpected(asked.error());
    const auto wanted = flag_names(set);
    if (!wanted) return tl::unexpected(wanted.error());
    std::string text;
    for (const std::string& name : *asked)
        text += (text.empty() ? "" : ",") +
                std::string(std::ranges::find(*wanted, name) == wanted->end() ? "!" : "") + name;
    for (const std::string& name : *wanted)
        if (std::ranges::find(*asked, name) == asked->end()) return cannot("TCP flags that can never be");
    if (text.empty()) return cannot("no TCP flag is asked for");
    return Values{text};
}

Result<Values> tcp_flag(const json& right) {
    const auto wanted = flag_names(right);
    if (!wanted) return tl::unexpected(wanted.error());
    if (wanted->size() != 1) return cannot("any one of several TCP flags");
    return Values{wanted->front()};
}

}  // namespace pktpit::router::cli::nft
