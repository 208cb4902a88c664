// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/route_json.h"

#include <nlohmann/json.hpp>

namespace pktpit::router {

using nlohmann::json;

json errors_to_json(const config::Errors& errors) {
    json list = json::array();
    for (const auto& error : errors) {
        list.push_back({{"where", error.where},
                        {"message", error.message},
                        {"expected", error.expected},
                        {"hint", error.hint}});
    }
    return {{"errors", std::move(list)}};
}

}  // namespace pktpit::router
