// SPDX-License-Identifier: BSD-3-Clause
#include "router/filter/transport_classes.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace pktpit::router {
namespace {

/// What a rule asks of the field, once for all rules that ask the same.
struct Condition {
    std::optional<uint8_t> protocol;
    std::optional<config::TcpFlags> flags;
    std::optional<uint8_t> type;
    std::optional<bool> fragment;

    [[nodiscard]] auto key() const {
        return std::tuple(protocol, flags ? flags->mask : 0, flags ? flags->value : 0, flags.has_value(),
                          type, fragment);
    }
    bool operator<(const Condition& other) const { return key() < other.key(); }
};

bool takes(const Condition& wanted, unsigned kind, uint8_t byte, uint8_t icmp) {
    const uint8_t protocol = kind == PP_FILTER_TCP    ? config::protocol_tcp
                             : kind == PP_FILTER_ICMP ? icmp
                                                      : byte;
    if (wanted.protocol && *wanted.protocol != protocol) return false;
    if (wanted.flags && (kind != PP_FILTER_TCP || (byte & wanted.flags->mask) != wanted.flags->value))
        return false;
    if (wanted.type && (kind != PP_FILTER_ICMP || byte != *wanted.type)) return false;
    return !wanted.fragment || *wanted.fragment == (kind == PP_FILTER_FRAGMENT);
}

}  // namespace

TransportClasses::TransportClasses(const RuleList& rules, Family family) : rows(rules.size()) {
    std::map<Condition, RuleBits> conditions;
    for (size_t rule = 0; rule < rules.size(); rule++) {
        const config::FilterRule& from = *rules[rule];
        const Condition condition{from.protocol, from.tcp_flags, from.icmp_type, from.fragment};
        conditions.try_emplace(condition, rules.size()).first->second.set(rule);
    }
    const uint8_t icmp = family == Family::ipv4 ? config::protocol_icmp : config::protocol_icmpv6;
    for (unsigned kind = 0; kind < PP_FILTER_KINDS; kind++)
        for (unsigned byte = 0; byte < 256; byte++) {
            RuleBits bits(rules.size());
            for (const auto& [condition, of_rules] : conditions)
                if (takes(condition, kind, static_cast<uint8_t>(byte), icmp)) bits |= of_rules;
            of[kind * 256 + byte] = static_cast<uint16_t>(rows.class_of(bits, 0));
        }
}

PortClasses::PortClasses(const std::vector<std::optional<config::PortRange>>& wanted) : rows(wanted.size()) {
    RuleBits without(wanted.size());
    std::map<uint32_t, std::vector<size_t>> begins, ends;  // by the first port, and by that behind the last
    for (size_t rule = 0; rule < wanted.size(); rule++) {
        if (!wanted[rule]) {
            without.set(rule);
            continue;
        }
        begins[wanted[rule]->first].push_back(rule);
        ends[wanted[rule]->last + 1U].push_back(rule);
    }
    rows.add(without);
    if (begins.empty()) {
        rows.add(without);
        return;
    }
    constexpr uint32_t all_ports = 65536;
    std::vector<uint16_t> of(all_ports);
    RuleBits now = without;
    for (uint32_t port = 0; port < all_ports;) {
        if (const auto found = begins.find(port); found != begins.end())
            for (const size_t rule : found->second)
                now.set(rule);
        if (const auto found = ends.find(port); found != ends.end())
            for (const size_t rule : found->second)
                now.clear(rule);
        uint32_t next = all_ports;
        for (const auto* edges : {&begins, &ends})
            if (const auto found = edges->upper_bound(port); found != edges->end())
                next = std::min(next, found->first);
        std::fill(of.begin() + port, of.begin() + next, static_cast<uint16_t>(rows.class_of(now, 0)));
        port = next;
    }
    // Pages that are the same are one.
    std::map<std::vector<uint16_t>, uint16_t> known;
    pages.resize(256);
    for (size_t high = 0; high < 256; high++) {
        const auto begin = of.begin() + static_cast<ptrdiff_t>(high * 256);
        const auto [page, is_new] =
            known.try_emplace({begin, begin + 256}, static_cast<uint16_t>(known.size()));
        pages[high] = page->second;
        if (is_new) pages.insert(pages.end(), begin, begin + 256);
    }
}

}  // namespace pktpit::router
