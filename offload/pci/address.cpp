// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/address.h"

#include <charconv>
#include <cstdio>
#include <optional>

namespace pktpit::offload {
namespace {

/// A field of one to `digits` hexadecimal digits and then `end` (0: the text's end), no larger than `most`.
std::optional<uint32_t> take(std::string_view& text, size_t digits, char end, uint32_t most) {
    const size_t length = end ? text.find(end) : text.size();
    if (length == std::string_view::npos || length == 0 || length > digits) return std::nullopt;
    uint32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + length, value, 16);
    if (error != std::errc{} || stop != text.data() + length || value > most) return std::nullopt;
    text.remove_prefix(length + (end ? 1 : 0));
    return value;
}

}  // namespace

Result<PciAddress> PciAddress::parse(std::string_view text) {
    std::string_view rest = text;
    std::optional<uint32_t> domain = 0;
    if (rest.find(':') != rest.rfind(':')) domain = take(rest, 4, ':', 0xffff);
    const auto bus = take(rest, 2, ':', 0xff);
    const auto device = bus ? take(rest, 2, '.', 31) : std::nullopt;
    const auto function = device ? take(rest, 1, 0, 7) : std::nullopt;
    if (!domain || !function)
        return fail({}, "\"" + std::string(text) + "\" is no PCI address",
                    "domain:bus:device.function in hexadecimal, as in 0000:03:00.0", "lspci -D");
    return PciAddress{static_cast<uint16_t>(*domain), static_cast<uint8_t>(*bus),
                      static_cast<uint8_t>(*device), static_cast<uint8_t>(*function)};
}

std::string PciAddress::to_string() const {
    char text[16];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
    return text;
}

}  // namespace pktpit::offload
