// SPDX-License-Identifier: BSD-3-Clause
// Packets as a NIC with buffer split leaves them: header in a packet mbuf, payload in payload memory that the
// CPU cannot touch. The NIC is the test; there is none here that splits.
#include "router/dpdk/payload.h"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/dpdk/eal_rig.h"

namespace pktpit::router::test {
namespace {

using ::testing::ElementsAreArray;

constexpr size_t memory_bytes = 1 << 20;
constexpr uint32_t slot_bytes = 2048;
constexpr offload::Iova bus_address = 0x400000000;

/// A device's memory, played by a memfd, made known to DPDK as PayloadMemory does it.
class PayloadTest : public IoTest {
  protected:
    void SetUp() override {
        IoTest::SetUp();
        offload::Backing backing;
        backing.file = Fd(memfd_create("pktpit-payload", MFD_CLOEXEC));
        ASSERT_EQ(ftruncate(backing.file.get(), memory_bytes), 0);
        device_side = static_cast<uint8_t*>(
            mmap(nullptr, memory_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, backing.file.get(), 0));
        backing.bytes = memory_bytes;
        backing.bus_address = bus_address;
        offload::MemorySource source;
        source.kind = offload::MemoryKind::pci_bar;
        memory = std::make_unique<offload::PeerMemory>(source, std::move(backing));
        ASSERT_TRUE(memory->get_pages());
        const auto mapped = memory->map_for(domain, bus_address);
        ASSERT_TRUE(mapped) << mapped.error().to_string();
        auto made = make_payload_pool("test-payloads", *memory, slot_bytes);
        ASSERT_TRUE(made) << made.error().to_string();
        payloads = std::move(*made);
        ASSERT_TRUE(memory->seal(false));
        open_rings(memory.get());
    }
    void TearDown() override {
        IoTest::TearDown();
        payloads.reset();
        memory.reset();
        munmap(device_side, memory_bytes);
    }
    /// What a NIC does: header here, payload there, by its bus address, which is given back.
    rte_iova_t arrive_split(const Bytes& frame) {
        rte_mbuf* head = mbuf_of(pool.get(), Bytes(frame.begin(), frame.begin() + 128));
        rte_mbuf* tail = rte_pktmbuf_alloc(payloads.get());
        tail->data_off = 0;
        tail->data_len = static_cast<uint16_t>(frame.size() - 128);
        tail->pkt_len = tail->data_len;
        const rte_iova_t place = rte_pktmbuf_iova(tail);
        std::memcpy(device_side + (place - bus_address), frame.data() + 128, tail->data_len);
        rte_pktmbuf_chain(head, tail);
        arrive(head);
        EXPECT_EQ(receive_one().length, 128);
        EXPECT_EQ(slices[0].frame_length, frame.size());
        return place;
    }

    std::shared_ptr<EalDomain> domain = std::make_shared<EalDomain>(std::vector<rte_device*>{});
    uint8_t* device_side = nullptr;
    std::unique_ptr<offload::PeerMemory> memory;
    MbufPool payloads;
};

TEST_F(PayloadTest, PayloadsLieAtTheirBusAddressesInSlots) {
    std::set<rte_iova_t> seen;
    std::vector<rte_mbuf*> all;
    while (rte_mbuf* mbuf = rte_pktmbuf_alloc(payloads.get())) {
        EXPECT_GE(mbuf->buf_iova, bus_address);
        EXPECT_LE(mbuf->buf_iova + slot_bytes, bus_address + memory_bytes);
        EXPECT_EQ((mbuf->buf_iova - bus_address) % slot_bytes, 0U);
        EXPECT_TRUE(seen.insert(mbuf->buf_iova).second) << "two packets in one slot";
        all.push_back(mbuf);
    }
    EXPECT_EQ(all.size(), memory_bytes / slot_bytes);
    rte_pktmbuf_free_bulk(all.data(), static_cast<unsigned>(all.size()));
}

// A touch of the payload by this thread would be a crash: its mapping is PROT_NONE.
TEST_F(PayloadTest, APacketCrossesAndItsPayloadIsNeverTouched) {
    io->remove(out);
    io->add({out, egress->id(), 0, {0}, true, false});
    const Bytes frame = counting(1514);
    const auto place = arrive_split(frame);
    Bytes whole(frame.size());
    EXPECT_TRUE(io->copy_frame(slices[0], whole)) << "opened for the host's frames, and closed again";
    EXPECT_THAT(whole, ElementsAreArray(frame));
    Mbuf sent = departed_with(slices[0], Bytes(frame.begin(), frame.begin() + 14));
    ASSERT_NE(sent, nullptr);
    EXPECT_EQ(sent->nb_segs, 2);
    EXPECT_EQ(rte_pktmbuf_iova(sent->next), place)
        << "the egress NIC fetches it from where the ingress NIC put it";
    EXPECT_EQ(std::memcmp(device_side + (place - bus_address), frame.data() + 128, frame.size() - 128), 0);
    sent.reset();
    EXPECT_EQ(rte_mempool_in_use_count(payloads.get()), 0U) << "the slot is free again";
}

TEST_F(PayloadTest, ADriverThatSendsOneSegmentGetsACopy) {
    const Bytes frame = counting(900);
    arrive_split(frame);
    const Mbuf sent = departed_with(slices[0], Bytes(frame.begin(), frame.begin() + 14));
    ASSERT_NE(sent, nullptr);
    EXPECT_EQ(sent->nb_segs, 1);
    EXPECT_THAT(bytes_of(sent.get()), ElementsAreArray(frame));
}

}  // namespace
}  // namespace pktpit::router::test
