// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/uevent.h"

#include <algorithm>
#include <string_view>

namespace pktpit::offload {
namespace {

/// The text up to the next NUL, which is taken off the rest.
std::string_view take_string(std::string_view& rest) {
    const std::string_view text = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    return text;
}

}  // namespace

std::optional<PciAddress> removed_function(std::span<const char> message) {
    std::string_view rest(message.data(), message.size());
    const std::string_view head = take_string(rest);
    if (!head.starts_with("remove@/devices/")) return std::nullopt;
    const auto address = PciAddress::parse(head.substr(head.rfind('/') + 1));
    if (!address) return std::nullopt;
    // Other kinds of devices may be named after the function that they belong to.
    while (!rest.empty())
        if (take_string(rest) == "SUBSYSTEM=pci") return *address;
    return std::nullopt;
}

}  // namespace pktpit::offload
