// SPDX-License-Identifier: BSD-3-Clause
/// Filters as plain values: rules that a packet is held against one after the other, until one matches. Part
/// of config/config.h, in a header of its own for what compiles them (router/filter). Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"

namespace pktpit::config {

enum class FilterAction : uint8_t { accept, drop, to_kernel };

struct PortRange {
    uint16_t first = 0;
    uint16_t last = 65535;
    [[nodiscard]] bool contains(const PortRange& other) const {
        return first <= other.first && other.last <= last;
    }
    bool operator==(const PortRange&) const = default;
};

/// Flags of TCP as in its header, FIN lowest: those of `mask` are `value`.
struct TcpFlags {
    uint8_t mask = 0;
    uint8_t value = 0;
    bool operator==(const TcpFlags&) const = default;
};

inline constexpr uint8_t protocol_icmp = 1;
inline constexpr uint8_t protocol_tcp = 6;
inline constexpr uint8_t protocol_udp = 17;
inline constexpr uint8_t protocol_icmpv6 = 58;

/// What is absent matches everything.
struct FilterRule {
    FilterAction action = FilterAction::accept;
    std::optional<Prefix> source{};
    std::optional<Prefix> destination{};
    std::optional<uint8_t> protocol{};
    std::optional<PortRange> source_port{};
    std::optional<PortRange> destination_port{};
    std::optional<uint8_t> icmp_type{};
    std::optional<TcpFlags> tcp_flags{};
    std::optional<bool> fragment{};  ///< a fragment other than the first
    bool operator==(const FilterRule&) const = default;

    /// Of which family packets can match: nothing where both can.
    [[nodiscard]] std::optional<Family> family() const;
    /// Does every packet that `other` matches match this one?
    [[nodiscard]] bool covers(const FilterRule& other) const;
};

using Filter = std::vector<FilterRule>;
using Filters = std::map<std::string, Filter>;

/// Rules of one filter.
inline constexpr size_t most_filter_rules = 16384;
/// Rules and one more a filter, of all filters.
inline constexpr size_t most_filter_counters = 262144;

/// "drop tcp from 192.0.2.0/24 to any port 22"
std::string to_string(const FilterRule& rule);
std::string to_string(FilterAction action);      ///< "accept", "drop" or "to_kernel"
std::string ip_protocol_name(uint8_t protocol);  ///< "tcp", …, or the number
std::optional<uint8_t> ip_protocol_of(const std::string& name);
std::string to_string(const PortRange& ports);  ///< "22" or "1000-2000"
std::string to_string(const TcpFlags& flags);   ///< "syn,!ack"

}  // namespace pktpit::config
