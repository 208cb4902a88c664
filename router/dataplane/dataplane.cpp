// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/dataplane.h"

namespace pktpit::router {

std::string_view to_string(AttachMode mode) {
    switch (mode) {
        case AttachMode::native:
            return "native";
        case AttachMode::generic:
            return "generic";
        case AttachMode::user:
            break;
    }
    return "user";
}

}  // namespace pktpit::router
