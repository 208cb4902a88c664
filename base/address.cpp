// SPDX-License-Identifier: BSD-3-Clause
#include "base/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstring>

#include "base/quoted.h"

namespace pktpit {
namespace {

constexpr const char* address_examples = "an address such as 192.0.2.1 or 2001:db8::1";
constexpr const char* prefix_examples = "a prefix such as 192.0.2.0/24 or 2001:db8::/32";

struct AddressAndLength {
    IpAddress address;
    uint8_t length;
};

Result<AddressAndLength> parse_with_length(std::string_view text, const char* examples) {
    const size_t slash = text.find('/');
    if (slash == std::string_view::npos) return fail({}, quoted(text) + " has no prefix length", examples);
    auto address = IpAddress::parse(text.substr(0, slash));
    if (!address) return fail({}, quoted(text) + " does not start with an IP address", examples);
    const std::string_view digits = text.substr(slash + 1);
    unsigned length = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    if (error != std::errc{} || end != digits.data() + digits.size() ||
        (digits.size() > 1 && digits[0] == '0') || length > address->bits())
        return fail({}, quoted(text) + " has the prefix length " + quoted(digits),
                    "a number from 0 to " + std::to_string(address->bits()));
    return AddressAndLength{*address, static_cast<uint8_t>(length)};
}

uint64_t load64(const uint8_t* bytes) {
    uint64_t value;
    std::memcpy(&value, bytes, sizeof(value));
    return value;
}

/// The finalizer of MurmurHash3, public domain: every input bit reaches every output bit.
uint64_t mix(uint64_t value) {
    value = (value ^ value >> 33) * 0xff51afd7ed558ccdull;
    value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53ull;
    return value ^ value >> 33;
}

int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

}  // namespace

IpAddress IpAddress::v4(uint32_t host_order) {
    const uint32_t network_order = htonl(host_order);
    return v4(reinterpret_cast<const uint8_t*>(&network_order));
}

IpAddress IpAddress::v4(const uint8_t* network_order) {
    IpAddress address;
    std::memcpy(address.bytes.data(), network_order, 4);
    return address;
}

IpAddress IpAddress::v6(const uint8_t* network_order) {
    IpAddress address;
    std::memcpy(address.bytes.data(), network_order, 16);
    address.family = Family::ipv6;
    return address;
}

Result<IpAddress> IpAddress::parse(std::string_view text) {
    // inet_pton() wants a terminated string; it refuses zones, space and leading zeros itself.
    char terminated[INET6_ADDRSTRLEN];
    IpAddress address;
    if (text.size() < sizeof(terminated) && text.find('\0') == std::string_view::npos) {
        std::copy(text.begin(), text.end(), terminated);
        terminated[text.size()] = '\0';
        if (text.find(':') != std::string_view::npos) address.family = Family::ipv6;
        if (inet_pton(address.is_v6() ? AF_INET6 : AF_INET, terminated, address.bytes.data()) == 1)
            return address;
    }
    return fail({}, quoted(text) + " is not an IP address", address_examples);
}

uint32_t IpAddress::v4_host_order() const {
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

bool IpAddress::is_unspecified() const {
    return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_loopback() const {
    if (is_v4()) return bytes[0] == 127;
    return bytes[15] == 1 &&
           std::all_of(bytes.begin(), bytes.end() - 1, [](uint8_t byte) { return byte == 0; });
}

bool IpAddress::is_multicast() const {
    return is_v4() ? (bytes[0] & 0xf0) == 0xe0 : bytes[0] == 0xff;
}

bool IpAddress::is_link_local() const {
    if (is_v4()) return bytes[0] == 169 && bytes[1] == 254;
    return bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

std::string IpAddress::to_string() const {
    char text[INET6_ADDRSTRLEN];
    return inet_ntop(is_v4() ? AF_INET : AF_INET6, bytes.data(), text, sizeof(text));
}

Result<MacAddress> MacAddress::parse(std::string_view text) {
    MacAddress mac;
    bool good = text.size() == 17;
    for (size_t i = 0; good && i < 6; i++) {
        const int high = hex_digit(text[3 * i]);
        const int low = hex_digit(text[3 * i + 1]);
        good = high >= 0 && low >= 0 && (i == 5 || text[3 * i + 2] == ':');
        mac.bytes[i] = static_cast<uint8_t>(high << 4 | low);
    }
    if (!good) return fail({}, quoted(text) + " is not a MAC address", "six bytes such as 02:00:00:00:00:01");
    return mac;
}

std::string MacAddress::to_string() const {
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (uint8_t byte : bytes) {
        if (!text.empty()) text += ':';
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

Prefix Prefix::of(IpAddress address, unsigned length) {
    assert(length <= address.bits());
    for (unsigned byte = length / 8; byte < address.size(); byte++) {
        const unsigned kept = byte == length / 8 ? length % 8 : 0;
        address.bytes[byte] &= static_cast<uint8_t>(0xff00 >> kept);
    }
    return {address, static_cast<uint8_t>(length)};
}

Result<Prefix> Prefix::parse(std::string_view text) {
    const auto parsed = parse_with_length(text, prefix_examples);
    if (!parsed) return tl::unexpected(parsed.error());
    const Prefix prefix = of(parsed->address, parsed->length);
    if (prefix.address != parsed->address)
        return fail({}, quoted(text) + " has bits set behind its prefix length", prefix.to_string());
    return prefix;
}

bool Prefix::contains(const IpAddress& other) const {
    return other.family == address.family && of(other, length).address == address;
}

bool Prefix::contains(const Prefix& other) const {
    return other.length >= length && contains(other.address);
}

bool Prefix::overlaps(const Prefix& other) const {
    return contains(other) || other.contains(*this);
}

IpAddress Prefix::last() const {
    IpAddress result = address;
    for (unsigned byte = length / 8; byte < address.size(); byte++) {
        const unsigned kept = byte == length / 8 ? length % 8 : 0;
        result.bytes[byte] |= static_cast<uint8_t>(0xff >> kept);
    }
    return result;
}

std::string Prefix::to_string() const {
    return address.to_string() + "/" + std::to_string(length);
}

Result<InterfaceAddress> InterfaceAddress::parse(std::string_view text) {
    const auto parsed = parse_with_length(text, "an address with its prefix length, such as 192.0.2.1/24");
    if (!parsed) return tl::unexpected(parsed.error());
    return InterfaceAddress{parsed->address, parsed->length};
}

std::string InterfaceAddress::to_string() const {
    return address.to_string() + "/" + std::to_string(length);
}

}  // namespace pktpit

size_t std::hash<pktpit::IpAddress>::operator()(const pktpit::IpAddress& address) const noexcept {
    const uint64_t high =
        pktpit::mix(pktpit::load64(address.bytes.data()) + static_cast<uint64_t>(address.family));
    return pktpit::mix(high ^ pktpit::load64(address.bytes.data() + 8));
}

size_t std::hash<pktpit::Prefix>::operator()(const pktpit::Prefix& prefix) const noexcept {
    return pktpit::mix(std::hash<pktpit::IpAddress>{}(prefix.address) + prefix.length);
}
