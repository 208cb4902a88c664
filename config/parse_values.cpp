// SPDX-License-Identifier: BSD-3-Clause
#include "config/parse_values.h"

#include <nlohmann/json.hpp>

#include "base/json/pointer.h"

namespace pktpit::config {
namespace {

constexpr const char* address_forms = "an address such as 192.0.2.1 or 2001:db8::1";
constexpr const char* prefix_forms = "a prefix such as 192.0.2.0/24 or 2001:db8::/32";

std::string leading_zeros_hint(const std::string& text) {
    for (size_t i = 0; i + 1 < text.size(); i++) {
        bool starts_number = i == 0 || text[i - 1] == '.';
        if (starts_number && text[i] == '0' && text[i + 1] >= '0' && text[i + 1] <= '9' &&
            text.find(':') == text.npos)
            return "no leading zeros: they are octal to some programs";
    }
    return "";
}

/// Why "address/length" is not one: the address or the length.
Error explain_pair(const std::string& text, const std::string& where, const char* expected,
                   const char* what) {
    size_t slash = text.find('/');
    std::string address_text = text.substr(0, slash);
    auto address = IpAddress::parse(address_text);
    if (!address)
        return {
            where,
            in_quotes(text) + " is " + what + ": " + in_quotes(address_text) + " is no IPv4 or IPv6 address",
            expected, leading_zeros_hint(address_text)};
    return {where, in_quotes(text) + " is " + what + ": length " + text.substr(slash + 1),
            "a length from 0 to " + std::to_string(address->bits()) + " without leading zeros", ""};
}

}  // namespace

std::optional<IpAddress> read_address(const std::string& text, const std::string& where, Errors& errors) {
    if (auto parsed = IpAddress::parse(text)) return *parsed;
    errors.push_back(
        {where, in_quotes(text) + " is no IPv4 or IPv6 address", address_forms, leading_zeros_hint(text)});
    return std::nullopt;
}

std::optional<Prefix> read_prefix(const std::string& text, const std::string& where, Errors& errors) {
    if (auto parsed = Prefix::parse(text)) return *parsed;
    if (auto address = InterfaceAddress::parse(text); address && address->net().address != address->address)
        errors.push_back(
            {where, "prefix " + in_quotes(text) + " has bits set behind its length",
             in_quotes(address->net().to_string()),
             "or " + in_quotes(address->address.to_string() + "/" + std::to_string(address->address.bits())) +
                 " for this one address"});
    else
        errors.push_back(explain_pair(text, where, prefix_forms, "no prefix"));
    return std::nullopt;
}

std::optional<InterfaceAddress> read_interface_address(const std::string& text, const std::string& where,
                                                       Errors& errors) {
    if (auto parsed = InterfaceAddress::parse(text)) return *parsed;
    errors.push_back(explain_pair(text, where, "an address with its net's length, such as 192.0.2.1/24",
                                  "no interface address"));
    return std::nullopt;
}

std::optional<MacAddress> read_mac(const std::string& text, const std::string& where, Errors& errors) {
    auto parsed = MacAddress::parse(text);
    const char* fault = !parsed             ? "no MAC address"
                        : parsed->is_zero() ? "no station's"
                                            : "a multicast MAC address";
    if (parsed && !parsed->is_zero() && !parsed->is_multicast()) return *parsed;
    errors.push_back({where, in_quotes(text) + " is " + fault,
                      "the MAC address of one station, such as 02:00:00:00:00:07", ""});
    return std::nullopt;
}

std::string vrf_of(const nlohmann::json& node) {
    auto name = node.get<std::string>();
    return name == "default" ? "" : name;
}

std::string lower_case(std::string text) {
    for (char& letter : text)
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    return text;
}

}  // namespace pktpit::config
