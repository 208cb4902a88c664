// SPDX-License-Identifier: BSD-3-Clause
/// Writes MRT and BGP byte by byte, for tests: after RFC 6396, RFC 8050, RFC 4271 and RFC 4760, sharing no
/// code with the readers. Values are not checked, so that tests can write wrong ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace pktpit::test {

class Bytes {
  public:
    Bytes& u8(uint64_t value) {
        data_ += static_cast<char>(value);
        return *this;
    }
    Bytes& u16(uint64_t value) { return u8(value >> 8).u8(value); }
    Bytes& u32(uint64_t value) { return u16(value >> 16).u16(value); }
    Bytes& raw(std::string_view bytes) {
        data_ += bytes;
        return *this;
    }
    Bytes& address(const IpAddress& address) {
        return raw({reinterpret_cast<const char*>(address.bytes.data()), address.size()});
    }
    /// RFC 4271 section 4.3: the length, and only the bytes that matter.
    Bytes& prefix(const Prefix& prefix) {
        u8(prefix.length);
        return raw({reinterpret_cast<const char*>(prefix.address.bytes.data()), (prefix.length + 7u) / 8});
    }
    Bytes& sized8(std::string_view bytes) { return u8(bytes.size()).raw(bytes); }
    Bytes& sized16(std::string_view bytes) { return u16(bytes.size()).raw(bytes); }
    [[nodiscard]] const std::string& str() const { return data_; }
    operator std::string_view() const { return data_; }  // NOLINT: a Bytes is bytes

  private:
    std::string data_;
};

inline IpAddress addr(std::string_view text) {
    return IpAddress::parse(text).value();
}
inline Prefix net(std::string_view text) {
    return Prefix::parse(text).value();
}

/// RFC 6396 section 2.
inline std::string mrt(uint32_t time, uint16_t type, uint16_t subtype, std::string_view body) {
    return Bytes().u32(time).u16(type).u16(subtype).u32(body.size()).raw(body).str();
}

struct TestPeer {
    IpAddress address;
    uint32_t as = 0;
};

/// RFC 6396 section 4.3.1; numbers of an AS take 4 bytes where they must, and by turns where they need not.
inline std::string peer_index_table(const std::vector<TestPeer>& peers, std::string_view view = "") {
    Bytes body;
    body.u32(0xc0000201).sized16(view).u16(peers.size());
    for (size_t i = 0; i < peers.size(); i++) {
        const bool wide = peers[i].as > 0xffff || i % 2;
        body.u8((peers[i].address.is_v6() ? 1 : 0) | (wide ? 2 : 0)).u32(i + 1).address(peers[i].address);
        wide ? body.u32(peers[i].as) : body.u16(peers[i].as);
    }
    return mrt(1470009600, 13, 1, body);
}

struct TestSegment {
    uint8_t type = 2;  ///< 1 AS_SET, 2 AS_SEQUENCE, 3 AS_CONFED_SEQUENCE, 4 AS_CONFED_SET
    std::vector<uint32_t> numbers;
};

inline std::string attribute(uint8_t flags, uint8_t type, std::string_view value) {
    Bytes bytes;
    if (value.size() > 255) flags |= 0x10;
    bytes.u8(flags).u8(type);
    flags & 0x10 ? bytes.sized16(value) : bytes.sized8(value);
    return bytes.str();
}

struct TestAttributes {
    std::optional<uint8_t> origin = uint8_t{0};
    std::vector<TestSegment> path;
    std::optional<IpAddress> next_hop;  ///< attribute 3
    std::optional<uint32_t> med, local_pref;
    std::string mp_reach, mp_unreach;  ///< values
    std::string others;                ///< whole attributes

    [[nodiscard]] std::string encode(bool wide_as = true) const {
        Bytes bytes;
        if (origin) bytes.raw(attribute(0x40, 1, Bytes().u8(*origin)));
        Bytes segments;
        for (const TestSegment& segment : path) {
            segments.u8(segment.type).u8(segment.numbers.size());
            for (const uint32_t number : segment.numbers)
                wide_as ? segments.u32(number) : segments.u16(number);
        }
        bytes.raw(attribute(0x40, 2, segments));
        if (next_hop) bytes.raw(attribute(0x40, 3, Bytes().address(*next_hop)));
        if (med) bytes.raw(attribute(0x80, 4, Bytes().u32(*med)));
        if (local_pref) bytes.raw(attribute(0x40, 5, Bytes().u32(*local_pref)));
        if (!mp_reach.empty()) bytes.raw(attribute(0x80, 14, mp_reach));
        if (!mp_unreach.empty()) bytes.raw(attribute(0x80, 15, mp_unreach));
        return bytes.raw(others).str();
    }
};

/// MP_REACH_NLRI as tables have it (RFC 6396 section 4.3.4): the next hop alone.
inline std::string abbreviated_reach(const std::vector<IpAddress>& hops) {
    Bytes value;
    for (const IpAddress& hop : hops)
        value.address(hop);
    return Bytes().sized8(value).str();
}

inline std::string prefixes(const std::vector<Prefix>& list, std::optional<uint32_t> path_id = {}) {
    Bytes bytes;
    for (const Prefix& prefix : list) {
        if (path_id) bytes.u32(*path_id);
        bytes.prefix(prefix);
    }
    return bytes.str();
}

/// MP_REACH_NLRI in full (RFC 4760 section 3).
inline std::string full_reach(uint16_t afi, uint8_t safi, const std::vector<IpAddress>& hops,
                              std::string_view nlri) {
    return Bytes().u16(afi).u8(safi).raw(abbreviated_reach(hops)).u8(0).raw(nlri).str();
}

inline std::string unreach(uint16_t afi, uint8_t safi, std::string_view nlri) {
    return Bytes().u16(afi).u8(safi).raw(nlri).str();
}

struct TestEntry {
    uint16_t peer = 0;
    uint32_t path_id = 0;
    TestAttributes attributes;
};

/// RFC 6396 section 4.3.2; with path identifiers RFC 8050 section 4.3.
inline std::string rib_body(const Prefix& prefix, const std::vector<TestEntry>& entries,
                            bool add_path = false) {
    Bytes body;
    body.u32(7).prefix(prefix).u16(entries.size());
    for (const TestEntry& entry : entries) {
        body.u16(entry.peer).u32(1470000000);
        if (add_path) body.u32(entry.path_id);
        body.sized16(entry.attributes.encode());
    }
    return body.str();
}
inline std::string rib(const Prefix& prefix, const std::vector<TestEntry>& entries, bool add_path = false) {
    const uint16_t subtype = prefix.address.is_v4() ? (add_path ? 8 : 2) : (add_path ? 10 : 4);
    return mrt(1470009600, 13, subtype, rib_body(prefix, entries, add_path));
}

inline std::string bgp_message(uint8_t type, std::string_view body) {
    return Bytes().raw(std::string(16, '\xff')).u16(19 + body.size()).u8(type).raw(body).str();
}
/// RFC 4271 section 4.3.
inline std::string bgp_update(std::string_view withdrawn, std::string_view attributes,
                              std::string_view nlri) {
    return bgp_message(2, Bytes().sized16(withdrawn).sized16(attributes).raw(nlri));
}

/// RFC 6396 section 4.4.2 and 4.4.3.
inline std::string bgp4mp_body(const TestPeer& peer, bool wide_as, std::string_view message) {
    Bytes body;
    wide_as ? body.u32(peer.as).u32(64499) : body.u16(peer.as).u16(64499);
    body.u16(0).u16(peer.address.is_v4() ? 1 : 2).address(peer.address);
    body.address(peer.address.is_v4() ? addr("192.0.2.254") : addr("2001:db8::fe"));
    return body.raw(message).str();
}
inline std::string bgp4mp(uint32_t time, const TestPeer& peer, std::string_view message,
                          uint16_t subtype = 4) {
    const bool wide_as = subtype == 4 || subtype == 7 || subtype == 9 || subtype == 11;
    return mrt(time, 16, subtype, bgp4mp_body(peer, wide_as, message));
}
inline std::string bgp4mp_et(uint32_t time, uint32_t microseconds, const TestPeer& peer,
                             std::string_view message, uint16_t subtype = 4) {
    const bool wide_as = subtype == 4 || subtype == 7 || subtype == 9 || subtype == 11;
    return mrt(time, 17, subtype, Bytes().u32(microseconds).raw(bgp4mp_body(peer, wide_as, message)));
}

}  // namespace pktpit::test
