// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/bgp.h"

#include <array>
#include <cstring>

namespace pktpit::fib {
namespace {

enum AttributeType : uint8_t {
    origin = 1,
    as_path = 2,
    next_hop = 3,
    multi_exit_disc = 4,
    local_pref = 5,
    mp_reach_nlri = 14,
    mp_unreach_nlri = 15,
};
constexpr uint8_t extended_length = 0x10;

enum SegmentType : uint8_t { as_set = 1, as_sequence = 2, as_confed_sequence = 3, as_confed_set = 4 };

void read_as_path(ByteCursor value, PathAttributes& attributes) {
    while (value.left()) {
        ByteCursor segment = value;
        const uint8_t type = value.u8("AS_PATH segment");
        const uint8_t count = value.u8("AS_PATH segment");
        if (type < as_set || type > as_confed_set) {
            segment.fail("AS_PATH segment of type " + std::to_string(type), "1 to 4");
            return;
        }
        ByteCursor numbers = value.part(size_t{4} * count, "AS_PATH segment");
        if (type > as_sequence || count == 0) continue;
        const bool first = attributes.as_path_length == 0;
        attributes.as_path_length += type == as_sequence ? count : 1;
        if (first && type == as_sequence) attributes.neighbour_as = numbers.u32("AS number");
    }
}

uint32_t whole_u32(ByteCursor value, const char* what) {
    const uint32_t result = value.u32(what);
    value.expect_end(what);
    return result;
}

}  // namespace

Prefix read_prefix(ByteCursor& bytes, Family family) {
    ByteCursor at_length = bytes;
    const unsigned length = bytes.u8("prefix length");
    const unsigned bits = family == Family::ipv4 ? 32 : 128;
    if (length > bits) {
        at_length.fail("prefix length " + std::to_string(length), "0 to " + std::to_string(bits));
        return {};
    }
    const auto octets = bytes.bytes((length + 7) / 8, "prefix");
    IpAddress address;
    address.family = family;
    if (!octets.empty()) std::memcpy(address.bytes.data(), octets.data(), octets.size());
    return Prefix::of(address, bytes.good() ? length : 0);
}

IpAddress read_next_hop(ByteCursor& bytes, size_t length) {
    if (length != 4 && length != 16 && length != 32) {
        bytes.fail("a next hop of " + std::to_string(length) + " bytes",
                   "4, 16, or 32 (global and link-local)");
        return {};
    }
    ByteCursor value = bytes.part(length, "next hop");
    return value.address(length == 4 ? Family::ipv4 : Family::ipv6, "next hop");
}

PathAttributes read_attributes(ByteCursor block, AsPath as_path_form) {
    PathAttributes attributes;
    std::array<bool, 256> seen{};
    while (block.left()) {
        ByteCursor start = block;
        const uint8_t flags = block.u8("attribute flags");
        const uint8_t type = block.u8("attribute type");
        const size_t length =
            flags & extended_length ? block.u16("attribute length") : block.u8("attribute length");
        ByteCursor value = block.part(length, "path attribute");
        if (!block.good()) break;
        if (seen[type]) {
            if (type == mp_reach_nlri || type == mp_unreach_nlri)
                start.fail("a second attribute of type " + std::to_string(type), "at most one");
            continue;
        }
        seen[type] = true;
        switch (type) {
            case origin:
                attributes.origin = value.u8("ORIGIN");
                if (attributes.origin > 2)
                    start.fail("ORIGIN " + std::to_string(attributes.origin), "0, 1 or 2");
                value.expect_end("ORIGIN");
                break;
            case as_path:
                if (as_path_form == AsPath::four_bytes) read_as_path(value, attributes);
                break;
            case next_hop:
                attributes.next_hop = value.address(Family::ipv4, "NEXT_HOP");
                value.expect_end("NEXT_HOP");
                break;
            case multi_exit_disc:
                attributes.med = whole_u32(value, "MULTI_EXIT_DISC");
                break;
            case local_pref:
                attributes.local_pref = whole_u32(value, "LOCAL_PREF");
                break;
            case mp_reach_nlri:
                attributes.mp_reach = value;
                break;
            case mp_unreach_nlri:
                attributes.mp_unreach = value;
                break;
            default:
                break;
        }
    }
    return attributes;
}

}  // namespace pktpit::fib
