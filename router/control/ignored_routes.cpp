// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/ignored_routes.h"

#include <fmt/format.h>

namespace pktpit::router {

const char* to_string(IgnoredRoutes::Kind kind) {
    switch (kind) {
        case IgnoredRoutes::Kind::tos:
            return "tos";
        case IgnoredRoutes::Kind::from:
            return "from";
        case IgnoredRoutes::Kind::thrown:
            return "throw";
        case IgnoredRoutes::Kind::encapsulated:
            return "encap";
        case IgnoredRoutes::Kind::device:
            return "device";
        case IgnoredRoutes::Kind::rule:
            return "rule";
        case IgnoredRoutes::Kind::table:
            return "table";
        case IgnoredRoutes::Kind::other:
            break;
    }
    return "other";
}

std::string reason_of(const IgnoredRoutes::Route& route, IgnoredRoutes::Kind kind) {
    switch (kind) {
        case IgnoredRoutes::Kind::tos:
            return fmt::format("is for TOS 0x{:02x} alone; packets are routed by their destination alone",
                               route.tos);
        case IgnoredRoutes::Kind::from:
            return fmt::format("is for packets from {} alone; packets are routed by their destination alone",
                               route.from ? route.from->to_string() : "somewhere");
        case IgnoredRoutes::Kind::thrown:
            return "throws: the lookup goes on in the table of the next rule, which the kernel alone knows";
        case IgnoredRoutes::Kind::encapsulated:
            return "encapsulates, which Pktpit does not";
        case IgnoredRoutes::Kind::device:
            return "leaves by a device that is none of the router's interfaces";
        case IgnoredRoutes::Kind::rule:
            return fmt::format(
                "rule {}: lookup of table {}; packets are routed by their destination alone, in the table of "
                "their "
                "interface's VRF",
                route.metric, route.table);
        case IgnoredRoutes::Kind::table:
            return fmt::format("stands in table {}, which the kernel's rules lead to, and Pktpit does not",
                               route.table);
        case IgnoredRoutes::Kind::other:
            break;
    }
    return "is of a type that Pktpit does not have";
}

bool is_kernels(IgnoredRoutes::Kind kind) {
    return kind == IgnoredRoutes::Kind::thrown || kind == IgnoredRoutes::Kind::encapsulated ||
           kind == IgnoredRoutes::Kind::device || kind == IgnoredRoutes::Kind::other;
}

}  // namespace pktpit::router
