// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

void read_tcp_service(const json& node, const std::string& where, TcpService& out, Errors& errors) {
    const auto from = node.find("from");
    if (from != node.end())
        for (size_t i = 0; i < from->size(); i++)
            if (auto prefix = read_prefix((*from)[i].get<std::string>(), at(at(where, "from"), i), errors))
                out.from.push_back(*prefix);
    if (auto hosts = node.find("hosts"); hosts != node.end())
        for (const json& host : *hosts)
            out.hosts.push_back(lower_case(host.get<std::string>()));
    const std::string forms = "an address of this machine with a port, such as 127.0.0.1:8080 or [::1]:8080";
    const std::string listen = node.at("listen").get<std::string>();
    const std::string listen_where = at(where, "listen");
    const auto endpoint = read_endpoint(listen, std::nullopt, listen_where, forms, errors);
    if (!endpoint) return;
    out.enabled = true;
    out.address = endpoint->address;
    out.port = endpoint->port;
    if (out.address.is_multicast())
        errors.push_back({listen_where, in_quotes(listen) + " is a multicast address", forms, ""});
    else if (!out.address.is_loopback() && from == node.end())
        errors.push_back({listen_where,
                          in_quotes(listen) + " is no loopback address: whoever reaches it could ask",
                          "a loopback address such as 127.0.0.1, or " + at(where, "from") + " beside it",
                          "nobody is asked for a password; " + at(where, "from") + " names who may connect"});
}

std::string TcpService::listen() const {
    return enabled ? endpoint_text(address, port) : "";
}

}  // namespace pktpit::config
