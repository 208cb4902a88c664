// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <charconv>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

constexpr const char* listen_forms = "an address of this machine, such as 127.0.0.1:2620 or [::1]:2620";

struct Endpoint {
    IpAddress address;
    uint16_t port = 0;
};

/// "ADDRESS", "IPV4:PORT" or "[IPV6]:PORT".
std::optional<Endpoint> read_endpoint(const std::string& text, uint16_t default_port, Errors& errors) {
    const auto refuse = [&](const std::string& why) {
        errors.push_back(
            {"/fpm/listen", in_quotes(text) + " is no address to listen at: " + why, listen_forms, ""});
        return std::nullopt;
    };
    if (auto alone = IpAddress::parse(text)) return Endpoint{*alone, default_port};
    const size_t colon = text.rfind(':');
    if (colon == text.npos) return refuse("it is no IPv4 or IPv6 address");
    std::string host = text.substr(0, colon);
    const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
    if (brackets) host = host.substr(1, host.size() - 2);
    const auto address = IpAddress::parse(host);
    if (!address) return refuse(in_quotes(host) + " is no IPv4 or IPv6 address");
    if ((address->family == Family::ipv6) != brackets)
        return refuse("an IPv6 address with a port stands in brackets, and no other does");
    const char* begin = text.data() + colon + 1;
    const char* end = text.data() + text.size();
    uint16_t port = 0;
    const auto [stopped, error] = std::from_chars(begin, end, port);
    if (error != std::errc() || stopped != end || port == 0)
        return refuse("its port is no number from 1 to 65535");
    return Endpoint{*address, port};
}

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
    const auto endpoint = read_endpoint(listen, out.port, errors);
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
    if (!enabled) return "";
    const std::string host = address.to_string();
    return (address.family == Family::ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace pktpit::config
