// SPDX-License-Identifier: BSD-3-Clause
#include "config/dpdk_device.h"

#include <algorithm>

namespace pktpit::config {
namespace {

bool is_hex(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// domain:bus:device.function, or without the domain.
bool looks_like_pci(std::string_view name) {
    const auto colon = name.find(':');
    return colon != std::string_view::npos && name.find('.', colon) != std::string_view::npos &&
           std::ranges::all_of(name, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
}

}  // namespace

DpdkDevice DpdkDevice::parse(std::string_view text) {
    DpdkDevice device;
    const auto comma = text.find(',');
    device.name = text.substr(0, comma);
    device.pci = looks_like_pci(device.name);
    if (comma == std::string_view::npos) return device;
    std::string_view rest = text.substr(comma + 1);
    while (true) {
        // A value in brackets is a list, whose commas part nothing.
        size_t end = 0;
        for (int depth = 0; end < rest.size() && (rest[end] != ',' || depth > 0); end++)
            depth += rest[end] == '[' ? 1 : rest[end] == ']' ? -1 : 0;
        const std::string_view one = rest.substr(0, end);
        const auto equals = one.find('=');
        device.arguments.emplace_back(one.substr(0, equals),
                                      equals == std::string_view::npos ? "" : one.substr(equals + 1));
        if (end == rest.size()) return device;
        rest.remove_prefix(end + 1);
    }
}

std::optional<std::string_view> DpdkDevice::argument(std::string_view key) const {
    for (auto at = arguments.rbegin(); at != arguments.rend(); ++at)
        if (at->first == key) return at->second;
    return std::nullopt;
}

std::string_view DpdkDevice::driver() const {
    const auto last = name.find_last_not_of("0123456789");
    return std::string_view(name).substr(0, last == std::string::npos ? 0 : last + 1);
}

std::optional<std::string_view> DpdkDevice::linux_device() const {
    if (driver() == "net_af_packet" || driver() == "net_af_xdp" || driver() == "net_pcap")
        return argument("iface");
    return std::nullopt;
}

}  // namespace pktpit::config
