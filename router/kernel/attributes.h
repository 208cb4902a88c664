// SPDX-License-Identifier: BSD-3-Clause
/// Reading netlink attributes that nobody vouches for: bounds and sizes are checked before a byte is read.
/// Private to router/kernel.
#pragma once

#include <libmnl/libmnl.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>

#include "base/address.h"

namespace pktpit::router::netlink {

using Bytes = std::span<const std::byte>;

/// One attribute: type without its flag bits, and payload.
struct Attribute {
    uint16_t type = 0;
    Bytes payload;

    template <class T>
    [[nodiscard]] std::optional<T> number() const {
        if (payload.size() != sizeof(T)) return std::nullopt;
        T value;
        std::memcpy(&value, payload.data(), sizeof(T));
        return value;
    }
    /// 4 or 16 bytes, by the family asked for.
    [[nodiscard]] std::optional<IpAddress> address(Family family) const {
        if (payload.size() != (family == Family::ipv4 ? 4U : 16U)) return std::nullopt;
        const auto* bytes = reinterpret_cast<const uint8_t*>(payload.data());
        return family == Family::ipv4 ? IpAddress::v4(bytes) : IpAddress::v6(bytes);
    }
    [[nodiscard]] std::optional<MacAddress> mac() const {
        MacAddress value;
        if (payload.size() != value.bytes.size()) return std::nullopt;
        std::memcpy(value.bytes.data(), payload.data(), value.bytes.size());
        return value;
    }
    /// Up to the first NUL; nullopt if empty or without one.
    [[nodiscard]] std::optional<std::string> text() const {
        const auto* begin = reinterpret_cast<const char*>(payload.data());
        const size_t length = strnlen(begin, payload.size());
        if (length == 0 || length == payload.size()) return std::nullopt;
        return std::string(begin, length);
    }
};

/// Calls visit(Attribute) for each; visit returns false for an attribute it cannot accept. False if it did,
/// or if an attribute is longer than what contains it. `bytes` starts at a multiple of 4 bytes (libmnl's
/// alignment).
template <class Visit>
bool for_each_attribute(Bytes bytes, Visit&& visit) {
    while (!bytes.empty()) {
        const auto* attribute = reinterpret_cast<const nlattr*>(bytes.data());
        if (!mnl_attr_ok(attribute, static_cast<int>(bytes.size()))) return false;
        const size_t length = attribute->nla_len;
        if (!visit(Attribute{mnl_attr_get_type(attribute),
                             bytes.subspan(MNL_ATTR_HDRLEN, length - MNL_ATTR_HDRLEN)})) {
            return false;
        }
        bytes = bytes.subspan(std::min<size_t>(MNL_ALIGN(length), bytes.size()));
    }
    return true;
}

/// Stores into `to` if there is a value; says whether there was one.
template <class To, class From>
bool store(To& to, const std::optional<From>& from) {
    if (from) to = *from;
    return from.has_value();
}

}  // namespace pktpit::router::netlink
