// SPDX-License-Identifier: BSD-3-Clause
/// The classes of what filters see of a packet's transport: protocol, flags, type and fragments as one field,
/// and each of its ports (bpf/filter_layout.h). Used by what compiles a filter; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bpf/filter_layout.h"
#include "config/filter.h"
#include "router/filter/rows.h"

namespace pktpit::router {

using RuleList = std::vector<const config::FilterRule*>;

struct TransportClasses {
    Rows rows;
    std::array<uint16_t, PP_FILTER_TRANSPORTS> of{};

    TransportClasses(const RuleList& rules, Family family);
};

struct PortClasses {
    Rows rows;  ///< row 0: of packets that show no ports; row 1: of all ports, where there are no pages
    std::vector<uint16_t> pages;  ///< as in the image: 256 numbers, then pages of 256 classes; or empty

    /// `wanted`: of each rule its ports; nothing: it takes all packets.
    explicit PortClasses(const std::vector<std::optional<config::PortRange>>& wanted);
};

}  // namespace pktpit::router
