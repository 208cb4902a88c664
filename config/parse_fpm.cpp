// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

constexpr const char* listen_forms = "an address of this machine, such as 127.0.0.1:2620 or [::1]:2620";

}  // namespace

void read_fpm(const json& node, Fpm& out, Errors& errors) {
    const auto take = [&](const char* key, auto& value) {
        if (auto found = node.find(key); found != node.end()) found->get_to(value);
    };
    take("table", out.table);
    take("preference", out.preference);
    take("stale_hold_s", out.stale_hold_s);
    const auto from = node.find("from");
    if (from != node.end())
        for (size_t i = 0; i < from->size(); i++)
            if (auto prefix = read_prefix((*from)[i].get<std::string>(), at("/fpm/from", i), errors))
                out.from.push_back(*prefix);
    const std::string listen = node.at("listen").get<std::string>();
    const auto endpoint = read_endpoint(listen, out.port, "/fpm/listen", listen_forms, errors);
    if (!endpoint) return;
    out.enabled = true;
    out.address = endpoint->address;
    out.port = endpoint->port;
    if (out.address.is_multicast())
        errors.push_back({"/fpm/listen", in_quotes(listen) + " is a multicast address", listen_forms, ""});
    else if (!out.address.is_loopback() && from == node.end())
        errors.push_back({"/fpm/listen",
                          in_quotes(listen) + " is no loopback address: whoever reaches it could set routes",
                          "a loopback address such as 127.0.0.1, or /fpm/from beside it",
                          "FPM knows no authentication; /fpm/from names who may connect"});
}

std::string Fpm::listen() const {
    return enabled ? endpoint_text(address, port) : "";
}

}  // namespace pktpit::config
