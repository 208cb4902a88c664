// SPDX-License-Identifier: BSD-3-Clause
/// Text → address, prefix, with errors that say what was most likely meant. Internal to config/.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

#include "config/config.h"

namespace pktpit::config {

// Each returns nothing where it has added an error at `where`.
std::optional<IpAddress> read_address(const std::string& text, const std::string& where, Errors& errors);
std::optional<Prefix> read_prefix(const std::string& text, const std::string& where, Errors& errors);
std::optional<InterfaceAddress> read_interface_address(const std::string& text, const std::string& where,
                                                       Errors& errors);
std::optional<MacAddress> read_mac(const std::string& text, const std::string& where, Errors& errors);

struct Endpoint {
    IpAddress address;
    uint16_t port = 0;
};
/// "ADDRESS" (where there is a default port), "IPV4:PORT" or "[IPV6]:PORT". `forms`: what was expected.
std::optional<Endpoint> read_endpoint(const std::string& text, std::optional<uint16_t> default_port,
                                      const std::string& where, const std::string& forms, Errors& errors);
/// What read_endpoint() reads.
std::string endpoint_text(const IpAddress& address, uint16_t port);

/// ASCII letters only, as PCI addresses have them.
std::string lower_case(std::string text);

/// The name of a VRF: empty for "default".
std::string vrf_of(const nlohmann::json& node);

}  // namespace pktpit::config
