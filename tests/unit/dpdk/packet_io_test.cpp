// SPDX-License-Identifier: BSD-3-Clause
// The packet interface over real drivers: net_ring gives back what is sent to it, so a test puts in and takes
// out mbufs as they are; net_null takes everything.
#include "router/dpdk/packet_io.h"

#include <gmock/gmock.h>

#include "tests/unit/dpdk/eal_rig.h"

namespace pktpit::router::test {
namespace {

using offload::EgressDescriptor;
using offload::HeaderSlice;
using ::testing::ElementsAreArray;

class PacketIoTest : public IoTest {
  protected:
    void SetUp() override {
        IoTest::SetUp();
        open_rings(nullptr);
    }
    void release(const HeaderSlice& slice) { io->release({&slice.slot, 1}); }
    uint64_t verdicts(uint16_t port, pp_verdict verdict) const {
        return counters.port(port).verdict[verdict];
    }
};

TEST_F(PacketIoTest, AFrameBecomesASliceOfAtMost128BytesInItsMbuf) {
    for (const size_t length : {60, 127, 128, 129, 1514}) {
        rte_mbuf* mbuf = mbuf_of(pool.get(), counting(length));
        const auto* place = rte_pktmbuf_mtod(mbuf, uint8_t*);
        arrive(mbuf);
        const HeaderSlice slice = receive_one();
        EXPECT_EQ(slice.bytes, place) << "nothing is copied";
        EXPECT_EQ(slice.length, std::min<size_t>(length, 128));
        EXPECT_EQ(slice.frame_length, length);
        EXPECT_EQ(slice.port, in);
        EXPECT_NE(slice.timestamp, 0U);
        release(slice);
    }
}

TEST_F(PacketIoTest, AChecksumIsGoodOnlyWhereTheDriverMeansTheHeaderThatIsRouted) {
    constexpr uint32_t ipv4 = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4;
    struct Case {
        uint64_t flags;
        uint32_t type;
        bool good;
    };
    for (const Case& one :
         {Case{RTE_MBUF_F_RX_IP_CKSUM_GOOD, ipv4, true},
          Case{RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_PTYPE_L3_IPV4_EXT_UNKNOWN, true},
          Case{RTE_MBUF_F_RX_IP_CKSUM_BAD, ipv4, false}, Case{RTE_MBUF_F_RX_IP_CKSUM_NONE, ipv4, false},
          Case{RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN, ipv4, false},
          Case{RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_PTYPE_UNKNOWN, false},
          Case{RTE_MBUF_F_RX_IP_CKSUM_GOOD, ipv4 | RTE_PTYPE_TUNNEL_IP, false},
          Case{RTE_MBUF_F_RX_IP_CKSUM_GOOD | RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD, ipv4, false}}) {
        rte_mbuf* mbuf = mbuf_of(pool.get(), counting(60));
        mbuf->ol_flags |= one.flags;
        mbuf->packet_type = one.type;
        arrive(mbuf);
        const HeaderSlice slice = receive_one();
        EXPECT_EQ(slice.checksum_good, one.good) << std::hex << one.flags << " " << one.type;
        release(slice);
    }
}

TEST_F(PacketIoTest, AHeaderIsRewrittenInPlaceShorterOrLonger) {
    for (const size_t length : {60, 200, 1514})
        for (const size_t header : {14, 18, 22, 10}) {
            const Bytes frame = counting(length);
            const Bytes with = counting(header, 100);
            arrive(mbuf_of(pool.get(), frame));
            const HeaderSlice slice = receive_one();
            const Mbuf sent = departed_with(slice, with);
            ASSERT_NE(sent, nullptr);
            Bytes expected = with;
            expected.insert(expected.end(), frame.begin() + 14, frame.end());
            EXPECT_THAT(bytes_of(sent.get()), ElementsAreArray(expected));
            EXPECT_EQ(sent->pkt_len, expected.size());
            EXPECT_EQ(rte_mbuf_check(sent.get(), 1, nullptr), 0);
        }
    EXPECT_EQ(counters.port(out).tx_packets, 12U);
}

TEST_F(PacketIoTest, SegmentsStayWhereTheyAreForADriverThatSendsThem) {
    io->remove(out);
    io->add({out, egress->id(), 0, {0}, true, false});
    rte_mbuf* head = mbuf_of(pool.get(), counting(128));
    rte_mbuf* tail = mbuf_of(pool.get(), counting(1000, 50));
    const auto* place = rte_pktmbuf_mtod(tail, uint8_t*);
    ASSERT_EQ(rte_pktmbuf_chain(head, tail), 0);
    Bytes expected = bytes_of(head);
    arrive(head);
    const HeaderSlice slice = receive_one();
    EXPECT_EQ(slice.length, 128);
    EXPECT_EQ(slice.frame_length, 1128U);
    const Mbuf sent = departed_with(slice, Bytes(expected.begin(), expected.begin() + 14));
    ASSERT_NE(sent, nullptr);
    ASSERT_EQ(sent->nb_segs, 2);
    EXPECT_EQ(rte_pktmbuf_mtod(sent->next, uint8_t*), place);
    EXPECT_THAT(bytes_of(sent.get()), ElementsAreArray(expected));
}

TEST_F(PacketIoTest, SegmentsBecomeOneForADriverThatSendsOne) {
    rte_mbuf* head = mbuf_of(pool.get(), counting(90));
    ASSERT_EQ(rte_pktmbuf_chain(head, mbuf_of(pool.get(), counting(1000, 50))), 0);
    const Bytes expected = bytes_of(head);
    arrive(head);
    const HeaderSlice slice = receive_one();
    EXPECT_EQ(slice.length, 90);
    const Mbuf sent = departed_with(slice, Bytes(expected.begin(), expected.begin() + 14));
    ASSERT_NE(sent, nullptr);
    EXPECT_EQ(sent->nb_segs, 1);
    EXPECT_THAT(bytes_of(sent.get()), ElementsAreArray(expected));
}

TEST_F(PacketIoTest, WhatOthersHoldIsCopiedBeforeItsHeaderIsWritten) {
    rte_mbuf* shared = mbuf_of(pool.get(), counting(300));
    const Bytes before = bytes_of(shared);
    rte_mbuf_refcnt_update(shared, 1);
    arrive(shared);
    const HeaderSlice slice = receive_one();
    EXPECT_NE(slice.bytes, rte_pktmbuf_mtod(shared, uint8_t*));
    std::memset(slice.bytes, 0, slice.length);
    EXPECT_THAT(bytes_of(shared), ElementsAreArray(before));
    release(slice);
    rte_pktmbuf_free(shared);
}

TEST_F(PacketIoTest, AFrameWithoutRoomInFrontIsMoved) {
    rte_mbuf* mbuf = mbuf_of(pool.get(), counting(300));
    rte_pktmbuf_prepend(mbuf, RTE_PKTMBUF_HEADROOM - 10);
    const Bytes before = bytes_of(mbuf);
    arrive(mbuf);
    const HeaderSlice slice = receive_one();
    EXPECT_THAT(Bytes(slice.bytes, slice.bytes + slice.length),
                ElementsAreArray(before.begin(), before.begin() + slice.length));
    const Mbuf sent = departed_with(slice, counting(14 + 8, 3));
    ASSERT_NE(sent, nullptr);
    EXPECT_EQ(sent->pkt_len, before.size() + 8);
}

TEST_F(PacketIoTest, ATagThatADriverTookOffIsPutBack) {
    const Bytes frame = counting(100);
    rte_mbuf* mbuf = mbuf_of(pool.get(), frame);
    mbuf->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
    mbuf->vlan_tci = 0x2064;
    arrive(mbuf);
    const HeaderSlice slice = receive_one();
    Bytes expected(frame.begin(), frame.begin() + 12);
    expected.insert(expected.end(), {0x81, 0x00, 0x20, 0x64});
    expected.insert(expected.end(), frame.begin() + 12, frame.end());
    EXPECT_EQ(slice.frame_length, 104U);
    EXPECT_THAT(Bytes(slice.bytes, slice.bytes + slice.length), ElementsAreArray(expected));
    release(slice);
}

TEST_F(PacketIoTest, WholeFramesAreGatheredForTheHost) {
    rte_mbuf* head = mbuf_of(pool.get(), counting(128));
    ASSERT_EQ(rte_pktmbuf_chain(head, mbuf_of(pool.get(), counting(700, 9))), 0);
    ASSERT_EQ(rte_pktmbuf_chain(head, mbuf_of(pool.get(), counting(300, 77))), 0);
    const Bytes expected = bytes_of(head);
    arrive(head);
    const HeaderSlice slice = receive_one();
    Bytes whole(slice.frame_length);
    EXPECT_TRUE(io->copy_frame(slice, whole));
    EXPECT_THAT(whole, ElementsAreArray(expected));
    release(slice);
}

TEST_F(PacketIoTest, TheHostsFramesLeaveAsTheyAre) {
    const Bytes frame = counting(333);
    EXPECT_TRUE(io->send(out, frame));
    const Mbuf sent = departed();
    ASSERT_NE(sent, nullptr);
    EXPECT_THAT(bytes_of(sent.get()), ElementsAreArray(frame));
    EXPECT_FALSE(io->send(9, frame)) << "no such port";
    EXPECT_FALSE(io->send(out, Bytes(60000))) << "longer than a buffer";
}

TEST_F(PacketIoTest, APortThatIsNotThereIsANamedDrop) {
    arrive(mbuf_of(pool.get(), counting(100)));
    const HeaderSlice slice = receive_one();
    EgressDescriptor descriptor = rewritten(slice, counting(14));
    descriptor.port = 77;
    io->submit({&descriptor, 1});
    EXPECT_EQ(verdicts(77, PP_DROP_NO_EGRESS), 1U);
    EXPECT_EQ(departed(), nullptr);
}

TEST_F(PacketIoTest, AFullTransmitRingIsANamedDrop) {
    // A driver that takes nothing: its queue is stopped by having no peer. net_memif without a peer is one.
    io->remove(out);
    egress.reset();
    egress = open("net_memif,socket=/tmp/pktpit-unit-" + std::to_string(getpid()) + ".sock,role=server", out);
    ASSERT_TRUE(egress);
    for (int i = 0; i < 10; i++)
        arrive(mbuf_of(pool.get(), counting(100)));
    const size_t count = io->receive(slices);
    ASSERT_EQ(count, 10U);
    std::vector<EgressDescriptor> descriptors;
    for (const HeaderSlice& slice : std::span(slices).first(count))
        descriptors.push_back(rewritten(slice, counting(14)));
    io->submit(descriptors);
    EXPECT_EQ(verdicts(out, PP_DROP_EGRESS_FULL), 10U);
    EXPECT_EQ(counters.port(out).tx_packets, 0U);
}

TEST_F(PacketIoTest, ABatchLeavesByEachPortInTheOrderThatItCame) {
    constexpr size_t frames = 40;
    for (size_t i = 0; i < frames; i++) {
        rte_mbuf* mbuf = mbuf_of(pool.get(), counting(60 + i, static_cast<uint8_t>(i)));
        if (i % 7 == 0) mbuf->ol_flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        arrive(mbuf);
    }
    ASSERT_EQ(io->receive(std::span(slices).first(frames)), frames);
    std::vector<EgressDescriptor> descriptors;
    for (size_t i = 0; i < frames; i++) {
        descriptors.push_back(rewritten(slices[i], counting(14, static_cast<uint8_t>(i))));
        descriptors.back().port = i % 3 == 1 ? in : out;
    }
    io->submit(descriptors);
    std::array<uint64_t, 3> bytes{};
    for (const uint16_t port : {in, out})
        for (size_t i = 0; i < frames; i++) {
            if ((i % 3 == 1) != (port == in)) continue;
            const Mbuf sent = departed_from(port == in ? *ingress : *egress);
            ASSERT_NE(sent, nullptr);
            EXPECT_THAT(bytes_of(sent.get()), ElementsAreArray(counting(60 + i, static_cast<uint8_t>(i))));
            EXPECT_EQ(sent->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK, 0U);
            bytes[port] += 60 + i;
        }
    for (const uint16_t port : {in, out})
        EXPECT_EQ(counters.port(port).tx_bytes, bytes[port]);
}

TEST_F(PacketIoTest, AWholeBatchThatLeavesByOnePortLeavesAsItIsHeld) {
    constexpr uint16_t first_port = 0;  // what columns say that nobody has decided
    io->add({first_port, egress->id(), 0, {}, false, false});
    constexpr size_t frames = 50;
    uint64_t bytes = 0;
    for (size_t i = 0; i < frames; i++) {
        bytes += 60 + i;
        arrive(mbuf_of(pool.get(), counting(60 + i, static_cast<uint8_t>(i))));
    }
    PlainBatch columns;
    const auto runs = io->by_batch()->receive(columns);
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].count, frames);
    EXPECT_EQ(runs[0].bytes, bytes);
    for (size_t i = 0; i < frames; i++)
        EXPECT_EQ(columns.frame_length(i), 60 + i);
    io->by_batch()->submit(columns, ~uint64_t{0} >> (64 - frames), {});
    EXPECT_EQ(counters.port(first_port).tx_packets, frames);
    EXPECT_EQ(counters.port(first_port).tx_bytes, bytes);
    for (size_t i = 0; i < frames; i++) {
        const Mbuf sent = departed();
        ASSERT_NE(sent, nullptr);
        EXPECT_THAT(bytes_of(sent.get()), ElementsAreArray(counting(60 + i, static_cast<uint8_t>(i))));
    }
    io->remove(first_port);
}

TEST_F(PacketIoTest, OneUnusualMbufInABurstTakesNothingFromTheOthers) {
    constexpr size_t frames = 9;
    rte_mbuf* held = nullptr;
    for (size_t i = 0; i < frames; i++) {
        rte_mbuf* mbuf = mbuf_of(pool.get(), counting(60 + i));
        if (i == 2) rte_mbuf_refcnt_set(held = mbuf, 2);
        if (i == 4) {
            ASSERT_EQ(rte_pktmbuf_chain(mbuf, mbuf_of(pool.get(), counting(1000))), 0);
        }
        arrive(mbuf);
    }
    PlainBatch columns;
    const auto runs = io->by_batch()->receive(columns);
    ASSERT_EQ(runs.size(), 1U);
    EXPECT_EQ(runs[0].count, frames);
    for (size_t i = 0; i < frames; i++)
        EXPECT_EQ(columns.frame_length(i), 60 + i + (i == 4 ? 1000 : 0));
    io->by_batch()->slice(~uint64_t{0} >> (64 - frames), slices);
    for (size_t i = 0; i < frames; i++) {
        EXPECT_EQ(slices[i].frame_length, columns.frame_length(i));
        release(slices[i]);
    }
    EXPECT_EQ(rte_mbuf_refcnt_read(held), 1) << "ours was given back; the other holder's is left";
    rte_pktmbuf_free(held);
}

TEST_F(PacketIoTest, PortsTakeTurns) {
    const auto third = open("net_ring", 3);
    ASSERT_TRUE(third);
    for (int i = 0; i < 120; i++) {
        arrive(mbuf_of(pool.get(), counting(60)));
        rte_mbuf* mbuf = mbuf_of(pool.get(), counting(60));
        ASSERT_EQ(rte_eth_tx_burst(third->id(), 0, &mbuf, 1), 1);
    }
    std::map<uint16_t, size_t> seen;
    for (size_t count = 1; count != 0;) {
        count = io->receive(slices);
        for (const HeaderSlice& slice : std::span(slices).first(count)) {
            seen[slice.port]++;
            release(slice);
        }
    }
    EXPECT_EQ(seen[in], 120U);
    EXPECT_EQ(seen[3], 120U);
    io->remove(3);
}

}  // namespace
}  // namespace pktpit::router::test
