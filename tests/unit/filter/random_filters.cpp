// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/filter/random_filters.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace pktpit::test {
namespace {

uint32_t below(Engine& engine, uint32_t bound) {
    return static_cast<uint32_t>(engine() % bound);
}
bool one_in(Engine& engine, uint32_t n) {
    return below(engine, n) == 0;
}

bool has_ports(uint8_t protocol) {
    return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

/// One of `variety` addresses, which share leading bits.
IpAddress address_of(Engine& engine, Family family, uint32_t variety) {
    IpAddress out;
    out.family = family;
    const uint32_t number = below(engine, variety);
    std::minstd_rand spread(number + 1);
    out.bytes[0] = family == Family::ipv4 ? 10 : 0x20;
    for (unsigned i = 1; i < out.size(); i++)
        out.bytes[i] = static_cast<uint8_t>(i % 3 == 1 ? spread() % 4 : spread());
    return out;
}

uint16_t port_of(Engine& engine, uint32_t variety) {
    return one_in(engine, 8) ? static_cast<uint16_t>(engine())
                             : static_cast<uint16_t>(below(engine, variety) * 37);
}

config::FilterRule random_rule(Engine& engine, uint32_t variety) {
    config::FilterRule rule;
    constexpr std::array actions{config::FilterAction::accept, config::FilterAction::drop,
                                 config::FilterAction::to_kernel};
    rule.action = actions[below(engine, 3)];
    const Family family = one_in(engine, 2) ? Family::ipv4 : Family::ipv6;
    const auto net = [&](std::optional<Prefix>& out) {
        if (one_in(engine, 4)) return;
        const IpAddress address = address_of(engine, family, variety);
        out = Prefix::of(address, one_in(engine, 3) ? below(engine, address.bits() + 1) : address.bits());
    };
    net(rule.source);
    net(rule.destination);
    if (one_in(engine, 3)) {
        if (one_in(engine, 3)) rule.fragment = one_in(engine, 2);
        if (one_in(engine, 3)) rule.protocol = static_cast<uint8_t>(engine());
        return rule;
    }
    const auto ports = [&](std::optional<config::PortRange>& out) {
        if (one_in(engine, 3)) return;
        const uint16_t a = port_of(engine, variety), b = one_in(engine, 2) ? a : port_of(engine, variety);
        out = config::PortRange{std::min(a, b), std::max(a, b)};
    };
    switch (below(engine, 3)) {
        case 0:
            rule.protocol = config::protocol_tcp;
            if (one_in(engine, 2)) {
                const auto mask = static_cast<uint8_t>(engine());
                rule.tcp_flags = {mask, static_cast<uint8_t>(engine() & mask)};
            }
            ports(rule.source_port);
            ports(rule.destination_port);
            break;
        case 1:
            rule.protocol = config::protocol_udp;
            ports(rule.source_port);
            ports(rule.destination_port);
            break;
        default:
            rule.protocol = family == Family::ipv4 ? config::protocol_icmp : config::protocol_icmpv6;
            if (one_in(engine, 2)) rule.icmp_type = static_cast<uint8_t>(below(engine, 16));
    }
    return rule;
}

/// An address inside, mostly; `like`: where the rule does not say.
IpAddress inside(Engine& engine, const std::optional<Prefix>& prefix, Family family) {
    if (!prefix || prefix->address.family != family || one_in(engine, 6))
        return address_of(engine, family, 64);
    IpAddress out = prefix->address;
    for (unsigned bit = prefix->length; bit < out.bits(); bit++)
        if (one_in(engine, 2)) out.bytes[bit / 8] |= static_cast<uint8_t>(0x80U >> bit % 8);
    return out;
}

}  // namespace

pp_filter_key FilteredPacket::key() const {
    pp_filter_key key{};
    key.transport = (fragment ? PP_FILTER_FRAGMENT * 256U : PP_FILTER_OTHER * 256U) + protocol;
    if (fragment || cut_short) return key;
    const uint8_t icmp = source.is_v4() ? config::protocol_icmp : config::protocol_icmpv6;
    if (protocol == icmp) key.transport = PP_FILTER_ICMP * 256U + icmp_type;
    if (protocol == config::protocol_tcp) key.transport = PP_FILTER_TCP * 256U + tcp_flags;
    if (!has_ports(protocol)) return key;
    key.has_ports = 1;
    key.source_port = source_port;
    key.destination_port = destination_port;
    return key;
}

bool takes(const config::FilterRule& rule, const FilteredPacket& packet) {
    const bool shows = !packet.fragment && !packet.cut_short;
    if (rule.source && !rule.source->contains(packet.source)) return false;
    if (rule.destination && !rule.destination->contains(packet.destination)) return false;
    if (rule.protocol && *rule.protocol != packet.protocol) return false;
    if (rule.fragment && *rule.fragment != packet.fragment) return false;
    const bool ports = shows && has_ports(packet.protocol);
    if (const auto& wanted = rule.source_port)
        if (!ports || packet.source_port < wanted->first || packet.source_port > wanted->last) return false;
    if (const auto& wanted = rule.destination_port)
        if (!ports || packet.destination_port < wanted->first || packet.destination_port > wanted->last)
            return false;
    if (const auto& wanted = rule.tcp_flags)
        if (!shows || packet.protocol != config::protocol_tcp ||
            (packet.tcp_flags & wanted->mask) != wanted->value)
            return false;
    if (!rule.icmp_type) return true;
    const uint8_t icmp = packet.source.is_v4() ? config::protocol_icmp : config::protocol_icmpv6;
    return shows && packet.protocol == icmp && packet.icmp_type == *rule.icmp_type;
}

size_t first_of(const config::Filter& filter, const FilteredPacket& packet) {
    const auto found = std::ranges::find_if(filter, [&](const auto& rule) { return takes(rule, packet); });
    return static_cast<size_t>(found - filter.begin());
}

config::Filter random_filter(Engine& engine, size_t rules, uint32_t variety) {
    config::Filter out;
    for (size_t i = 0; i < rules; i++)
        out.push_back(random_rule(engine, variety));
    return out;
}

FilteredPacket random_packet(Engine& engine, const config::Filter& filter) {
    const config::FilterRule rule =
        filter.empty() ? config::FilterRule{} : filter[below(engine, static_cast<uint32_t>(filter.size()))];
    FilteredPacket out;
    const Family family = rule.family().value_or(one_in(engine, 2) ? Family::ipv4 : Family::ipv6);
    out.source = inside(engine, rule.source, family);
    out.destination = inside(engine, rule.destination, family);
    constexpr std::array<uint8_t, 8> common{1, 6, 6, 17, 17, 58, 132, 47};
    out.protocol =
        rule.protocol && !one_in(engine, 6) ? *rule.protocol : common[below(engine, common.size())];
    out.fragment = rule.fragment && !one_in(engine, 4) ? *rule.fragment : one_in(engine, 10);
    out.cut_short = one_in(engine, 20);
    const auto port = [&](const std::optional<config::PortRange>& range) {
        if (!range || one_in(engine, 6)) return static_cast<uint16_t>(engine());
        const uint32_t span = range->last - range->first + 1U;
        // Often the edges, and what is just beyond them.
        switch (below(engine, 6)) {
            case 0:
                return range->first;
            case 1:
                return range->last;
            case 2:
                return static_cast<uint16_t>(range->last + 1U);
            case 3:
                return static_cast<uint16_t>(range->first - 1U);
            default:
                return static_cast<uint16_t>(range->first + below(engine, span));
        }
    };
    out.source_port = port(rule.source_port);
    out.destination_port = port(rule.destination_port);
    out.tcp_flags = static_cast<uint8_t>(engine());
    if (rule.tcp_flags && !one_in(engine, 4))
        out.tcp_flags = static_cast<uint8_t>((out.tcp_flags & ~rule.tcp_flags->mask) | rule.tcp_flags->value);
    out.icmp_type =
        rule.icmp_type && !one_in(engine, 4) ? *rule.icmp_type : static_cast<uint8_t>(below(engine, 20));
    return out;
}

config::Config config_with(const std::vector<config::Filter>& filters) {
    config::Config config;
    for (size_t i = 0; i < filters.size(); i++) {
        const std::string name = "f" + std::to_string(i + 1);
        config.filters[name] = filters[i];
        config::Interface& interface = config.interfaces["eth" + std::to_string(i + 1)];
        interface.filter_in = interface.filter_out = name;
    }
    return config;
}

router::FilterSet filter_set_of(const config::Config& config) {
    router::FilterSet set;
    auto compiled = router::compile_filters(config);
    if (!compiled) throw std::runtime_error(compiled.error().to_string());
    set.compiled = std::make_shared<const router::CompiledFilters>(std::move(*compiled));
    set.counters = 1;
    for (const auto& [name, filter] : set.compiled->filters) {
        set.first_counter[name] = set.counters;
        set.counters += filter.rules + 1;
    }
    for (size_t i = 1; i <= config.interfaces.size(); i++) {
        const config::Interface& interface = config.interfaces.at("eth" + std::to_string(i));
        const auto id = static_cast<uint16_t>(i);
        set.interfaces.push_back({id, id, interface.filter_in, interface.filter_out});
    }
    return set;
}

void HeapFilters::Free::operator()(std::byte* memory) const {
    std::free(memory);
}

HeapFilters::HeapFilters(const config::Config& config)
    : set_(filter_set_of(config)),
      shape_(router::plan_filters(set_)),
      bytes_(router::filter_block_bytes(shape_)),
      memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes_ + 4095) / 4096 * 4096))) {
    std::fill_n(memory_.get(), bytes_, std::byte{});
    router::write_filters(block(), shape_, set_);
    router::publish_filters(block());
    view_ = {memory_.get(), &shape_};
    published_ = &view_;
}

void HeapFilters::change(const config::Config& config) {
    set_ = filter_set_of(config);
    if (!router::filters_fit(shape_, set_)) throw std::runtime_error("the filters do not fit");
    router::write_filters(block(), shape_, set_);
    router::publish_filters(block());
}

uint32_t HeapFilters::rule_of(uint16_t interface, bool out, const FilteredPacket& packet) const {
    const void* half = pp_filter_half(memory_.get(), &shape_, pp_filter_current(memory_.get()));
    const bool ipv6 = packet.source.is_v6();
    const uint32_t rules = pp_filter_of(half, &shape_, interface, out ? 1 : 0, ipv6 ? 1 : 0);
    if (rules == 0) return 0;
    if (PP_FILTER_RULES_FIELD(half, &shape_, rules, words) == 0)
        return PP_FILTER_RULES_FIELD(half, &shape_, rules, unmatched);
    const auto class_of = [&](uint32_t entry, const IpAddress& address) {
        return ipv6 ? pp_filter_class6(half, &shape_, entry, address.bytes.data())
                    : pp_filter_class4(half, &shape_, entry, address.v4_host_order());
    };
    const pp_filter_key key = packet.key();
    return pp_filter_match(
        half, &shape_, rules, class_of(PP_FILTER_RULES_FIELD(half, &shape_, rules, source), packet.source),
        class_of(PP_FILTER_RULES_FIELD(half, &shape_, rules, destination), packet.destination), &key);
}

}  // namespace pktpit::test
