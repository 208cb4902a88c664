// SPDX-License-Identifier: BSD-3-Clause
// Who may write which slots: random numbers of slots, domains and ports against what every byte's access must
// be.
#include "router/vfio/slot_domains.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <random>

namespace pktpit::router {
namespace {

using offload::DmaAccess;
using offload::Iova;

constexpr uint64_t page = 4096;
constexpr Iova cells_iova = 0x10000000;
constexpr Iova payloads_iova = 0x20000000;
constexpr Iova peer_iova = 0x4000000000;

/// By page, what its devices may do.
class PageDomain : public offload::DmaDomain {
  public:
    Result<void> map(std::span<std::byte> memory, Iova iova, DmaAccess access) override {
        if (maps_left-- == 0) return fail("IOMMU", "refuses");
        EXPECT_EQ(iova % page, 0U);
        EXPECT_EQ(memory.size() % page, 0U);
        for (uint64_t at = 0; at < memory.size(); at += page)
            EXPECT_TRUE(pages.emplace(iova + at, access).second) << "mapped twice";
        return {};
    }
    Result<void> unmap(Iova iova, size_t length) override {
        pages.erase(pages.lower_bound(iova), pages.lower_bound(iova + length));
        return {};
    }
    [[nodiscard]] std::optional<DmaAccess> access(Iova iova) const {
        const auto found = pages.find(iova / page * page);
        return found == pages.end() ? std::nullopt : std::optional(found->second);
    }
    std::map<Iova, DmaAccess> pages;
    int maps_left = -1;  ///< before it refuses; -1: never
};

std::unique_ptr<offload::PeerMemory> peer_of(uint64_t size) {
    offload::Backing backing;
    backing.file = Fd(memfd_create("pktpit-test", MFD_CLOEXEC));
    backing.bytes = size;
    backing.bus_address = peer_iova;
    EXPECT_EQ(ftruncate(backing.file.get(), static_cast<off_t>(size)), 0);
    offload::MemorySource source;
    source.kind = offload::MemoryKind::pci_bar;
    auto peer = std::make_unique<offload::PeerMemory>(source, std::move(backing));
    EXPECT_TRUE(peer->get_pages());
    EXPECT_TRUE(peer->seal(false));
    return peer;
}

struct Slots {
    Slots(uint32_t slot_size, uint32_t main, uint32_t peer_slots, std::span<const uint32_t> ports,
          std::span<const uint32_t> direct)
        : slot_bytes(slot_size),
          main_parts(share_slots(main, main / 4, ports)),
          peer_parts(share_slots(peer_slots, 0, direct)),
          peer(peer_of((uint64_t{peer_slots} * slot_size + page - 1) / page * page)),
          memory(slot_size,
                 {offload::CpuMapping::of_pages(size_t{main + peer_slots} * header_cell_bytes).value(),
                  cells_iova},
                 {offload::CpuMapping::of_pages(size_t{main} * slot_size).value(), payloads_iova},
                 {main, main_parts}, peer.get(), peer_iova, {peer_slots, peer_parts}) {}

    /// Of a slot's header and of its payload.
    [[nodiscard]] std::vector<Iova> places(offload::Slot slot) const {
        return {memory.header_iova(slot), memory.payload_iova(slot),
                memory.payload_iova(slot) + slot_bytes - 1};
    }

    uint32_t slot_bytes;
    std::vector<SlotRange> main_parts;
    std::vector<SlotRange> peer_parts;
    std::unique_ptr<offload::PeerMemory> peer;
    SlotMemory memory;
};

TEST(ShareSlots, EachPortHasAsManyAndNoneIsInTwoParts) {
    const std::vector<uint32_t> ports{1, 2, 1};
    const auto parts = share_slots(1000, 250, ports);
    ASSERT_EQ(parts.size(), 4U);
    EXPECT_EQ(parts[0].count, 240U) << "whole pages";
    EXPECT_EQ(parts[1].count, 176U) << "760 / 4 = 190";
    EXPECT_EQ(parts[2].count, 352U);
    EXPECT_EQ(parts[3].count, 176U);
    for (size_t i = 1; i < parts.size(); i++)
        EXPECT_EQ(parts[i].first, parts[i - 1].first + parts[i - 1].count);
}

TEST(ShareSlots, WhereNobodyHasAPortYetThereIsSomethingForWhoComes) {
    const std::vector<uint32_t> none{0, 0};
    const auto parts = share_slots(256, 64, none);
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_EQ(parts[1].count, 96U);
    EXPECT_EQ(parts[2].count, 96U);
    const auto late = share_slots(256, 64, {});
    ASSERT_EQ(late.size(), 2U);
    EXPECT_EQ(late[1].count, 192U);
}

TEST(SlotDomains, APortThatIsDirectOnlyAfterAReloadHasPeerMemory) {
    const std::vector<uint32_t> ports{1, 1};
    const std::vector<uint32_t> none{0, 0};
    Slots slots(2048, 256, 256, ports, none);
    SlotDomains domains(slots.memory);
    const auto domain = std::make_shared<PageDomain>();
    const auto place = domains.admit(domain, false);
    ASSERT_TRUE(place);
    ASSERT_TRUE(domains.admit(domain, true));
    EXPECT_EQ(slots.memory.pool(SlotMemory::peer_memory, place->part).count(), 128U);
}

TEST(SlotDomains, EachNicWritesItsPartAndReadsTheRestWhateverTheNumbers) {
    std::mt19937 random(1);
    const auto number = [&](uint32_t least, uint32_t most) {
        return std::uniform_int_distribution<uint32_t>(least, most)(random);
    };
    for (int round = 0; round < 60; round++) {
        std::vector<uint32_t> ports(number(1, 5));
        std::vector<uint32_t> direct(ports.size());
        for (size_t i = 0; i < ports.size(); i++) {
            ports[i] = number(1, 3);
            direct[i] = number(0, ports[i]);
        }
        Slots slots(1024 * number(1, 9), number(5, 40) * slots_of_whole_pages, number(1, 600), ports, direct);
        SlotDomains domains(slots.memory);
        std::vector<std::pair<std::shared_ptr<PageDomain>, uint8_t>> admitted;
        std::vector<bool> reaches;
        for (size_t i = 0; i < ports.size(); i++) {
            admitted.emplace_back(std::make_shared<PageDomain>(), 0);
            const auto place = domains.admit(admitted.back().first, direct[i] != 0);
            ASSERT_TRUE(place);
            admitted.back().second = place->part;
            reaches.push_back(direct[i] != 0);
        }
        for (size_t i = 0; i < admitted.size(); i++) {
            const auto& [domain, part] = admitted[i];
            EXPECT_NE(part, 0) << "the daemon's";
            for (const uint8_t region : {SlotMemory::main_memory, SlotMemory::peer_memory}) {
                const auto& parts = region == SlotMemory::main_memory ? slots.main_parts : slots.peer_parts;
                for (size_t owner = 0; owner < parts.size(); owner++)
                    for (uint32_t at = 0; at < parts[owner].count; at++) {
                        const offload::Slot slot{region, parts[owner].first + at};
                        for (const Iova iova : slots.places(slot)) {
                            const bool unreached = iova >= peer_iova && !reaches[i];
                            const auto wanted =
                                unreached
                                    ? std::nullopt
                                    : std::optional(owner == part ? DmaAccess::read_write : DmaAccess::read);
                            ASSERT_EQ(domain->access(iova), wanted)
                                << "round " << round << ", region " << int{region} << ", slot " << slot.index;
                        }
                    }
            }
        }
    }
}

TEST(SlotDomains, ALateComerSharesOrTakesThePartOfWhoHasGone) {
    const std::vector<uint32_t> ports{1, 1};
    Slots slots(2048, 256, 256, ports, ports);
    SlotDomains domains(slots.memory);
    auto first = std::make_shared<PageDomain>();
    const auto second = std::make_shared<PageDomain>();
    EXPECT_EQ(domains.admit(first, true)->part, 1);
    EXPECT_EQ(domains.admit(second, true)->part, 2);
    EXPECT_EQ(domains.admit(second, true)->part, 2) << "another NIC of the same group";
    EXPECT_FALSE(domains.admit(second, true)->shared);
    auto third = std::make_shared<PageDomain>();
    EXPECT_TRUE(domains.admit(third, true)->shared);
    third.reset();
    first.reset();
    const auto fourth = std::make_shared<PageDomain>();
    const auto place = domains.admit(fourth, true);
    EXPECT_EQ(place->part, 1);
    EXPECT_FALSE(place->shared);
}

TEST(SlotDomains, OneThatIsRefusedIsNotAdmittedAndKeepsNothing) {
    const std::vector<uint32_t> ports{1, 1};
    for (int maps = 0; maps < 8; maps++) {
        Slots slots(2048, 256, 256, ports, ports);
        SlotDomains domains(slots.memory);
        const auto domain = std::make_shared<PageDomain>();
        domain->maps_left = maps;
        const auto refused = domains.admit(domain, false);
        ASSERT_FALSE(refused) << maps;
        EXPECT_TRUE(domain->pages.empty()) << maps << " maps";
        domain->maps_left = -1;
        EXPECT_TRUE(domains.admit(domain, true));
    }
}

TEST(SlotDomains, ANicThatBecomesDirectReachesThePeerMemoryThen) {
    const std::vector<uint32_t> ports{2};
    Slots slots(2048, 256, 256, ports, ports);
    SlotDomains domains(slots.memory);
    const auto domain = std::make_shared<PageDomain>();
    ASSERT_TRUE(domains.admit(domain, false));
    EXPECT_FALSE(domain->access(peer_iova));
    ASSERT_TRUE(domains.admit(domain, true));
    EXPECT_EQ(domain->access(peer_iova), DmaAccess::read_write);
    ASSERT_TRUE(domains.admit(domain, true));
}

}  // namespace
}  // namespace pktpit::router
