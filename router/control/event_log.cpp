// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/event_log.h"

namespace pktpit::router {

const char* to_string(EventKind kind) {
    switch (kind) {
        case EventKind::link:
            return "link";
        case EventKind::address:
            return "address";
        case EventKind::neighbour:
            return "neighbour";
        case EventKind::next_hop:
            return "next_hop";
        case EventKind::port:
            return "port";
        case EventKind::reload:
            return "reload";
        case EventKind::kernel_routes:
            return "kernel_routes";
        case EventKind::fpm:
            return "fpm";
    }
    return "unknown";
}

}  // namespace pktpit::router
