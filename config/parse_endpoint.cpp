// SPDX-License-Identifier: BSD-3-Clause
#include <charconv>

#include "base/json/pointer.h"
#include "config/parse_values.h"

namespace pktpit::config {

std::optional<Endpoint> read_endpoint(const std::string& text, std::optional<uint16_t> default_port,
                                      const std::string& where, const std::string& forms, Errors& errors) {
    const auto refuse = [&](const std::string& why) {
        errors.push_back({where, in_quotes(text) + " is no address to listen at: " + why, forms, ""});
        return std::nullopt;
    };
    if (auto alone = IpAddress::parse(text)) {
        if (default_port) return Endpoint{*alone, *default_port};
        return refuse("it has no port");
    }
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

std::string endpoint_text(const IpAddress& address, uint16_t port) {
    const std::string host = address.to_string();
    return (address.family == Family::ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace pktpit::config
