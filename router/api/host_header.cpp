// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/host_header.h"

#include <algorithm>
#include <cctype>

#include "base/address.h"

namespace pktpit::router {
namespace {

bool is_port(std::string_view text) {
    return text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

bool is_for_us(std::string_view host_header, const std::vector<std::string>& names) {
    constexpr size_t longest = 300;  // a DNS name has 253, and then a port
    if (host_header.empty() || host_header.size() > longest) return false;
    if (host_header.front() == '[') {
        const size_t end = host_header.find(']');
        if (end == host_header.npos) return false;
        const std::string_view rest = host_header.substr(end + 1);
        if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return false;
        const auto address = IpAddress::parse(std::string(host_header.substr(1, end - 1)));
        return address && address->family == Family::ipv6;
    }
    const size_t colon = host_header.find(':');
    if (colon != host_header.npos && !is_port(host_header.substr(colon + 1))) return false;
    std::string host(host_header.substr(0, colon));
    if (!host.empty() && host.back() == '.') host.pop_back();
    std::ranges::transform(host, host.begin(), [](unsigned char c) {
        return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : char(c);
    });
    if (const auto address = IpAddress::parse(host); address && address->family == Family::ipv4) return true;
    return host == "localhost" || std::ranges::find(names, host) != names.end();
}

}  // namespace pktpit::router
