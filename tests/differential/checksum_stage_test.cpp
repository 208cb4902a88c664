// SPDX-License-Identifier: BSD-3-Clause
// TCP and UDP checksums that senders have left to a NIC: the stage completes them as
// router/forward/partial_checksum.h does, wherever the segment lies, and touches no others.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include "router/forward/bytes.h"
#include "router/forward/partial_checksum.h"
#include "tests/differential/random_traffic.h"
#include "tests/differential/router_stage.h"

namespace pktpit::test {
namespace {

namespace forward = router::test;
using router::load_be16;
using router::store_be16;

constexpr uint8_t tcp_number = 6;
constexpr uint8_t udp_number = 17;

struct SegmentShape {
    bool v4 = true;
    uint8_t protocol = tcp_number;
    const char* destination4 = "10.1.0.9";
    size_t options = 0;  ///< bytes of IPv4 options
    bool tagged = false;
    uint16_t fragment = 0;
};

/// One as its sender has left it, of random bytes; the checksum's place in it.
struct PartialFrame {
    Bytes bytes;
    size_t place = 0;
};

PartialFrame partial(const SegmentShape& shape, size_t segment_bytes, Random& random) {
    Bytes segment(segment_bytes);
    for (auto& byte : segment)
        byte = random.byte();
    const size_t field = shape.protocol == udp_number ? 6 : 16;
    auto link = forward::arriving;
    if (shape.tagged) link = forward::tagged(link, {{0x8100, 300}, {0x8100, 20}});
    const Bytes frame = shape.v4 ? forward::frame(link, forward::Ipv4{.destination = shape.destination4,
                                                                      .protocol = shape.protocol,
                                                                      .options = Bytes(shape.options, 1),
                                                                      .payload = segment,
                                                                      .fragment = shape.fragment})
                                 : forward::frame(link, forward::Ipv6{.destination = "2001:db8:1::9",
                                                                      .next = shape.protocol,
                                                                      .payload = segment});
    PartialFrame made{frame, frame.size() - segment_bytes + field};
    const size_t l3 = shape.tagged ? 22 : 14;
    uint64_t sum = shape.protocol + segment_bytes;
    const size_t first = l3 + (shape.v4 ? 12 : 8);
    for (size_t at = first; at < first + (shape.v4 ? 8 : 32); at += 2)
        sum += load_be16(&frame[at]);
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    store_be16(&made.bytes[made.place], static_cast<uint16_t>(sum));
    return made;
}

class ChecksumStage : public RouterStage {
  protected:
    void prepare() override {
        load(test_ingress, {.completes_checksums = true});
        set_mtu(65535);
    }
    /// What becomes of the frame is what becomes of it once it is complete.
    void expect_completed(const Bytes& in) {
        Bytes whole = in;
        ASSERT_TRUE(router::complete_checksum(whole));
        const Outcome outcome = stage->run(1, in);
        ASSERT_EQ(outcome.verdict, PP_FORWARDED);
        ASSERT_EQ(outcome.frame, stage->run(1, whole).frame);
    }
    void expect_untouched(const Bytes& in, size_t place) {
        const Outcome outcome = stage->run(1, in);
        ASSERT_EQ(outcome.verdict, PP_FORWARDED);
        ASSERT_EQ(outcome.frame.size(), in.size());
        EXPECT_EQ(load_be16(&outcome.frame[place]), load_be16(&in[place]));
    }
    Random random{20261129};
};

TEST_F(ChecksumStage, CompletesWhatWasLeftToTheNic) {
    const std::vector<SegmentShape> shapes{{},
                                           {.protocol = udp_number},
                                           {.v4 = false},
                                           {.v4 = false, .protocol = udp_number},
                                           {.destination4 = "10.3.0.9"},
                                           {.options = 8},
                                           {.v4 = false, .tagged = true}};
    for (const SegmentShape& shape : shapes)
        for (int round = 0; round < 200; round++) {
            const size_t bytes = round < 8 ? 1452 + static_cast<size_t>(round) : 20 + random.below(1440);
            SCOPED_TRACE(bytes);
            expect_completed(partial(shape, bytes, random).bytes);
        }
}

// Behind the linear part, which ends somewhere in a large piece.
TEST_F(ChecksumStage, CompletesWhatLiesInFragments) {
    for (const size_t bytes : {3000, 3399, 3500, 4001, 8948, 8949, 20000, 60001, 65000})
        for (const uint8_t protocol : {tcp_number, udp_number}) {
            SCOPED_TRACE(bytes);
            expect_completed(partial({.protocol = protocol}, bytes, random).bytes);
            expect_completed(partial({.v4 = false, .protocol = protocol}, bytes, random).bytes);
        }
}

// RFC 768: a UDP checksum of 0 says that there is none.
TEST_F(ChecksumStage, UdpIsNeverLeftWithoutOne) {
    PartialFrame frame = partial({.protocol = udp_number}, 30, random);
    Bytes whole = frame.bytes;
    ASSERT_TRUE(router::complete_checksum(whole));
    // What was missing to a sum of ones goes into the last word.
    uint32_t last = load_be16(&whole[whole.size() - 2]) + load_be16(&whole[frame.place]);
    last = (last & 0xffff) + (last >> 16);
    store_be16(&frame.bytes[frame.bytes.size() - 2], static_cast<uint16_t>(last));
    whole = frame.bytes;
    ASSERT_TRUE(router::complete_checksum(whole));
    ASSERT_EQ(load_be16(&whole[frame.place]), 0xffff);
    expect_completed(frame.bytes);
}

TEST_F(ChecksumStage, TouchesNoOthers) {
    for (int round = 0; round < 500; round++) {
        PartialFrame frame =
            partial({.v4 = round % 2 == 0, .protocol = round % 3 == 0 ? udp_number : tcp_number}, 60, random);
        store_be16(&frame.bytes[frame.place],
                   static_cast<uint16_t>(load_be16(&frame.bytes[frame.place]) + 1 + random.below(65534)));
        expect_untouched(frame.bytes, frame.place);
    }
    const PartialFrame fragment = partial({.fragment = 0x2000}, 64, random);
    expect_untouched(fragment.bytes, fragment.place);
    const PartialFrame other = partial({.protocol = 132}, 64, random);
    expect_untouched(other.bytes, other.place);
}

// A checksum that is right and looks like the pseudo header's sum is computed again, to the same.
TEST_F(ChecksumStage, LeavesARightOneThatLooksSo) {
    PartialFrame frame = partial({}, 40, random);
    Bytes whole = frame.bytes;
    ASSERT_TRUE(router::complete_checksum(whole));
    const uint16_t pseudo = load_be16(&frame.bytes[frame.place]);
    // The last word takes what the field gives: the sum stays all ones.
    uint32_t last =
        load_be16(&whole[whole.size() - 2]) + load_be16(&whole[frame.place]) + static_cast<uint16_t>(~pseudo);
    last = (last & 0xffff) + (last >> 16);
    last = (last & 0xffff) + (last >> 16);
    store_be16(&frame.bytes[frame.bytes.size() - 2], static_cast<uint16_t>(last));
    whole = frame.bytes;
    ASSERT_TRUE(router::complete_checksum(whole));
    ASSERT_EQ(whole, frame.bytes);
    expect_completed(frame.bytes);
}

// Programs of virtual devices have all that a configuration can ask for beside it: each has its frame on the
// stack.
TEST_F(StageTest, ChecksumsBesideAllElseAreLoaded) {
    fib::Capacity capacity = forward::small_capacity();
    capacity.tables = 8;
    const pp_fib_geometry geometry = fib::plan_geometry(capacity);
    pp_filter_shape filters{};
    filters.nodes.node_bytes = 1 << 20;
    filters.data_offset = filters.nodes.node_bytes;
    filters.data_bytes = 1 << 20;
    filters.half_bytes = filters.data_offset + filters.data_bytes;
    filters.counters = 16;
    const uint32_t all_guards = PP_GUARD_RPF | PP_GUARD_POLICE | PP_GUARD_HOST;
    for (const bool observed : {false, true})
        for (const int decides : {0, 1, 2}) {
            SCOPED_TRACE(decides);
            const auto split = decides > 0 ? std::optional<uint32_t>(decides) : std::nullopt;
            const auto cold = decides > 1 ? std::optional<uint32_t>(1) : std::nullopt;
            const StageOptions everything{.observed = observed,
                                          .split_table = split,
                                          .cold_table = cold,
                                          .watch_daemon = true,
                                          .vrfs = true,
                                          .filters = filters,
                                          .aggregation = true,
                                          .guards = all_guards,
                                          .completes_checksums = true};
            EXPECT_NO_THROW(LoadedPortStage(geometry, first_port, first_port, everything));
        }
}

// Where the device's checksums are there, as a real NIC's are, nothing is looked at.
TEST_F(RouterStage, ChecksumsAreLeftAloneWhereTheyAreThere) {
    load(test_ingress);
    Random random(1);
    const PartialFrame frame = partial({}, 100, random);
    const Outcome outcome = stage->run(1, frame.bytes);
    ASSERT_EQ(outcome.verdict, PP_FORWARDED);
    EXPECT_EQ(load_be16(&outcome.frame[frame.place]), load_be16(&frame.bytes[frame.place]));
}

}  // namespace
}  // namespace pktpit::test
