// SPDX-License-Identifier: BSD-3-Clause
// A NIC that splits headers hands over less than the first 128 bytes of a frame. What the router decides must
// not depend on it: same verdict, same egress port, same header as for the 128 bytes.
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "router/forward/bytes.h"
#include "tests/differential/random_traffic.h"
#include "tests/sanitized.h"
#include "tests/unit/forward/vectors.h"
#include "tests/unit/loop/loop_rig.h"

namespace pktpit::router::test {
namespace {

struct Split {
    size_t header = 0;        ///< bytes of the slice
    bool parsed = false;      ///< by the NIC; else it is just the first bytes
    uint8_t protocol = 59;    ///< behind the IP header and its extensions
    bool extensions = false;  ///< IPv6 with extension headers
    bool fragment = false;
};

/// Bytes of a TCP or UDP header at `at`; nothing where the frame ends before its end.
std::optional<size_t> transport_header(const Buffer& frame, size_t at, uint8_t protocol) {
    if (protocol == 17) return at + 8 <= frame.size() ? std::optional(8) : std::nullopt;
    if (at + 20 > frame.size()) return std::nullopt;
    const size_t length = (frame[at + 12] >> 4) * 4u;
    return length >= 20 && at + length <= frame.size() ? std::optional(length) : std::nullopt;
}

/// After the 82574L's datasheet, 7.1.10: behind TCP and UDP where there is no fragment, else behind the IP
/// header; IPv6 extension headers are walked. What it cannot parse, or whose headers are longer than the
/// buffer for them, is not split: the first 128 bytes are there.
Split split_of(const Buffer& frame) {
    const Split unparsed{std::min(frame.size(), size_t{PP_SLICE_BYTES})};
    size_t at = 12;
    uint16_t ethertype = 0x8100;
    for (int tags = -1; (ethertype == 0x8100 || ethertype == 0x88a8) && tags < 2; tags++) {
        if (at + 2 > frame.size()) return unparsed;
        ethertype = load_be16(&frame[at]);
        at += ethertype == 0x8100 || ethertype == 0x88a8 ? 4 : 2;
    }
    Split split{.header = 0, .parsed = true};
    if (ethertype == 0x0800) {
        if (at + 20 > frame.size() || frame[at] >> 4 != 4 || (frame[at] & 15) < 5) return unparsed;
        split.fragment = (load_be16(&frame[at + 6]) & 0x3fff) != 0;
        split.protocol = frame[at + 9];
        at += (frame[at] & 15u) * 4;
    } else if (ethertype == 0x86dd) {
        if (at + 40 > frame.size() || frame[at] >> 4 != 6) return unparsed;
        split.protocol = frame[at + 6];
        at += 40;
        while (split.protocol == 0 || split.protocol == 43 || split.protocol == 44 || split.protocol == 60) {
            if (at + 8 > frame.size()) return unparsed;
            split.extensions = true;
            const bool fragment = split.protocol == 44;
            split.fragment = split.fragment || fragment;
            split.protocol = frame[at];
            at += fragment ? 8 : (frame[at + 1] + size_t{1}) * 8;
            if (fragment) break;
        }
    } else {
        return unparsed;
    }
    if (!split.fragment && (split.protocol == 6 || split.protocol == 17)) {
        const auto length = transport_header(frame, at, split.protocol);
        if (!length) return unparsed;
        at += *length;
    }
    if (at > frame.size() || at > PP_SLICE_BYTES) return unparsed;
    split.header = at;
    return split;
}

/// Nothing if they are the same, else what differs.
std::string difference(const Decision& a, const Decision& b) {
    if (a.adjacency != b.adjacency) return "another next hop";
    if (a.verdict != b.verdict) return std::string(name_of(a.verdict)) + " became " + name_of(b.verdict);
    if (a.egress_port != b.egress_port || a.parameter_pointer != b.parameter_pointer) return "another port";
    if (a.header_length != b.header_length || a.consumed != b.consumed ||
        !std::equal(a.header.begin(), a.header.begin() + a.header_length, b.header.begin()))
        return "another header";
    return "";
}

/// Multipath chooses by ports too, where a NIC leaves them in the header: of TCP and UDP. SCTP, DCCP and
/// UDP-Lite stay behind the split, as what follows an authentication header does, and go by their addresses.
bool ports_are_not_seen(const Split& split) {
    return split.parsed && (split.protocol == 33 || split.protocol == 132 || split.protocol == 136 ||
                            split.protocol == 51 || split.extensions);
}

/// Whom a DHCP server answers stands behind the split: the host gets it then.
bool is_dhcp_unseen(const Split& split, const Decision& part) {
    return split.parsed && split.protocol == 17 && part.verdict == PP_HOST_DHCP;
}

class HeaderSplit : public testing::Test {
  protected:
    void check(uint16_t port, const Buffer& bytes, const std::string& name) {
        const Split split = split_of(bytes);
        const Buffer slice(bytes.begin(), bytes.begin() + static_cast<long>(split.header));
        const Decision whole = forward_frame(image.view(), port, bytes);
        const Decision part = forward(image.view(), port, slice, static_cast<uint32_t>(bytes.size()));
        const std::string what = difference(whole, part);
        splits += split.parsed && split.header < std::min(bytes.size(), size_t{PP_SLICE_BYTES});
        if (what.empty()) return;
        if (what == "another next hop" && ports_are_not_seen(split)) {
            other_hops++;
            return;
        }
        if (is_dhcp_unseen(split, part)) return;
        ADD_FAILURE() << name << ": " << what << ", split behind byte " << split.header << ", protocol "
                      << int{split.protocol};
    }
    HeapImage image{pktpit::test::random_capacity()};
    uint64_t splits = 0;
    uint64_t other_hops = 0;
};

TEST_F(HeaderSplit, EveryVectorIsDecidedAsWithoutIt) {
    fill_test_router(image.image(), image.base());
    for (const Vector& vector : all_vectors()) {
        check(vector.port, vector.in, vector.name);
        const Decision part = forward(image.view(), vector.port, cut(vector.in, split_of(vector.in).header),
                                      static_cast<uint32_t>(vector.in.size()));
        if (!is_dhcp_unseen(split_of(vector.in), part))
            EXPECT_STREQ(name_of(part.verdict), name_of(vector.verdict)) << vector.name;
    }
    EXPECT_GE(splits, 50u);
}

TEST_F(HeaderSplit, RandomFramesAreDecidedAsWithoutIt) {
    pktpit::test::Random random(4);
    const auto fib = pktpit::test::fill_randomly(image.image(), image.base(), random);
    for (int i = 0; i < pktpit::test::rounds_of(300'000) && !HasFailure(); i++) {
        const auto made = pktpit::test::random_frame(fib, random);
        check(made.port, made.bytes, "frame " + std::to_string(i));
    }
    EXPECT_GE(splits, pktpit::test::rounds_of(100'000u));
    RecordProperty("splits", std::to_string(splits));
    RecordProperty("other_next_hops", std::to_string(other_hops));
}

}  // namespace
}  // namespace pktpit::router::test
