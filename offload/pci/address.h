// SPDX-License-Identifier: BSD-3-Clause
/// Where a PCI function is: domain, bus, device, function, as the kernel and lspci write it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit::offload {

struct PciAddress {
    uint16_t domain = 0;
    uint8_t bus = 0;
    uint8_t device = 0;    ///< 0 to 31
    uint8_t function = 0;  ///< 0 to 7

    /// "0000:03:00.0"; "03:00.0" means domain 0. Errors: what is wrong with the text, without `where`.
    static Result<PciAddress> parse(std::string_view text);
    /// Always with the domain.
    [[nodiscard]] std::string to_string() const;
    auto operator<=>(const PciAddress&) const = default;
};

}  // namespace pktpit::offload
