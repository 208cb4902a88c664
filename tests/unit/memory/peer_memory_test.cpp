// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/peer_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/unit/memory/fake_sysfs.h"
#include "tests/unit/memory/memory_map.h"

namespace pktpit::offload {
namespace {

using test::protection_of;

const std::string address = "0000:05:00.0";
constexpr uint64_t mib = 1 << 20;
constexpr uint64_t bus = 0x4000000000;
using Events = std::vector<std::string>;

/// Notes what is asked of it, and whether the memory is there meanwhile.
class RecordingDomain : public DmaDomain {
  public:
    RecordingDomain(Events& events, std::string name = "") : events_(events), name_(std::move(name)) {}
    Result<void> map(std::span<std::byte> memory, Iova iova, DmaAccess access) override {
        if (refuses || refused == access) return fail("IOMMU", "refuses");
        memory_ = memory;
        events_.push_back(name_ + "map " + std::to_string(memory.size()) + " at " + std::to_string(iova) +
                          " " + protection_of(memory.data()) + (access == DmaAccess::read ? " to read" : ""));
        return {};
    }
    Result<void> unmap(Iova iova, size_t bytes) override {
        events_.push_back(name_ + "unmap " + std::to_string(bytes) + " at " + std::to_string(iova) +
                          (protection_of(memory_.data()).empty() ? " too late" : ""));
        return unmaps ? Result<void>() : fail("IOMMU", "cannot be unmapped");
    }
    bool refuses = false;
    bool unmaps = true;
    std::optional<DmaAccess> refused;

  private:
    Events& events_;
    std::string name_;
    std::span<std::byte> memory_;
};

class PeerMemories : public testing::Test {
  protected:
    PeerMemories() {
        sysfs.add(address, "0x050000", {{2, bus, 4 * mib}});
        for (uint64_t at = 0; at < 4 * mib; at += 4096)
            sysfs.poke(address, 2, at, at / 4096 + 1, 4);
        memory = PeerMemory::acquire({MemoryKind::pci_bar, PciAddress::parse(address).value(), 2, 0},
                                     sysfs.tree(), sysfs.root())
                     .value();
    }
    void prepare(bool readable) {
        ASSERT_TRUE(memory->get_pages().has_value());
        ASSERT_TRUE(memory->map_for(domain, *memory->bus_address()).has_value());
        ASSERT_TRUE(memory->seal(readable).has_value());
    }
    [[nodiscard]] int mapped() const { return test::mappings_of(sysfs.root()); }
    [[nodiscard]] char enabled() const { return sysfs.attribute(address, "enable").at(0); }
    const std::string mapped_event = "map 4194304 at " + std::to_string(bus) + " rw-s";
    const std::string unmapped_event = "unmap 4194304 at " + std::to_string(bus);

    test::FakeSysfs sysfs;
    Events events;
    std::shared_ptr<RecordingDomain> domain = std::make_shared<RecordingDomain>(events);
    std::unique_ptr<PeerMemory> memory;
};

TEST_F(PeerMemories, LifeFromAcquireToRelease) {
    EXPECT_EQ(mapped(), 0) << "acquire maps nothing";
    EXPECT_EQ(memory->bus_address(), bus);
    EXPECT_EQ(memory->bytes(), 4 * mib);
    EXPECT_TRUE(memory->on_device());
    prepare(false);
    EXPECT_EQ(memory->iova(), bus);
    EXPECT_EQ(events, Events{mapped_event}) << "mapped for devices while it is writable";
    EXPECT_GT(mapped(), 0);
    EXPECT_EQ(enabled(), '1');
    ASSERT_TRUE(memory->unmap());
    EXPECT_EQ(events, (Events{mapped_event, unmapped_event}));
    memory->put_pages();
    EXPECT_EQ(mapped(), 0);
    memory.reset();
    EXPECT_EQ(events.size(), 2u);
    EXPECT_EQ(enabled(), '0');
}

TEST_F(PeerMemories, ADestructorWithoutUnmapUnmaps) {
    prepare(false);
    memory.reset();
    EXPECT_EQ(events, (Events{mapped_event, unmapped_event}));
    EXPECT_EQ(mapped(), 0);
    EXPECT_EQ(enabled(), '0');
}

TEST_F(PeerMemories, EachDomainIsUnmappedWhereItWasMapped) {
    const auto other = std::make_shared<RecordingDomain>(events, "other: ");
    ASSERT_TRUE(memory->get_pages().has_value());
    ASSERT_TRUE(memory->map_for(domain, bus).has_value());
    ASSERT_TRUE(memory->map_for(other, 64 * mib).has_value());
    events.clear();
    ASSERT_TRUE(memory->unmap());
    EXPECT_EQ(events, (Events{unmapped_event, "other: unmap 4194304 at 67108864"}));
}

TEST_F(PeerMemories, ADomainThatRefusesIsNotUnmapped) {
    ASSERT_TRUE(memory->get_pages().has_value());
    domain->refuses = true;
    EXPECT_FALSE(memory->map_for(domain, bus).has_value());
    memory.reset();
    EXPECT_EQ(events, Events{});
}

TEST_F(PeerMemories, ADomainMayWriteAPartAndReadTheRest) {
    ASSERT_TRUE(memory->get_pages().has_value());
    ASSERT_TRUE(memory->map_for(domain, bus, {mib, 2 * mib}).has_value());
    const std::string at = " at " + std::to_string(bus);
    EXPECT_EQ(events, (Events{"map 1048576" + at + " rw-s to read",
                              "map 2097152 at " + std::to_string(bus + mib) + " rw-s",
                              "map 1048576 at " + std::to_string(bus + 3 * mib) + " rw-s to read"}));
    events.clear();
    ASSERT_TRUE(memory->unmap());
    EXPECT_EQ(events, Events{unmapped_event});
}

TEST_F(PeerMemories, WhatIsMappedBeforeARefusalIsUnmapped) {
    ASSERT_TRUE(memory->get_pages().has_value());
    domain->refused = DmaAccess::read_write;
    EXPECT_FALSE(memory->map_for(domain, bus, {mib, mib}).has_value());
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1], "unmap 1048576 at " + std::to_string(bus));
    memory.reset();
    EXPECT_EQ(events.size(), 2U);
}

TEST_F(PeerMemories, ADomainThatComesLateIsMappedAndTheCpuStaysOut) {
    for (const bool readable : {false, true}) {
        prepare(readable);
        events.clear();
        const auto late = std::make_shared<RecordingDomain>(events, "late: ");
        ASSERT_TRUE(memory->map_for(late, bus, {0, mib}).has_value());
        EXPECT_EQ(events.at(0), "late: map 1048576 at " + std::to_string(bus) + " rw-s");
        EXPECT_EQ(protection_of(memory->cpu_bytes().data()), readable ? "r--s" : "---s");
        late->refuses = true;
        EXPECT_FALSE(memory->map_for(late, bus).has_value());
        EXPECT_EQ(protection_of(memory->cpu_bytes().data()), readable ? "r--s" : "---s");
    }
}

TEST_F(PeerMemories, ADomainThatHasEndedIsLeftAlone) {
    prepare(false);
    auto other = std::make_shared<RecordingDomain>(events, "other: ");
    ASSERT_TRUE(memory->map_for(other, bus).has_value());
    other.reset();
    events.clear();
    ASSERT_TRUE(memory->unmap());
    EXPECT_EQ(events, Events{unmapped_event});
}

TEST_F(PeerMemories, SealedMemoryIsClosedToTheCpu) {
    prepare(false);
    const std::span<std::byte> bytes = memory->cpu_bytes();
    EXPECT_EQ(protection_of(bytes.data()), "---s");
    EXPECT_EQ(protection_of(&bytes.back()), "---s");
    EXPECT_DEATH((void)*static_cast<volatile std::byte*>(&bytes[4096]), "");
    EXPECT_DEATH(*static_cast<volatile std::byte*>(&bytes[4096]) = std::byte{1}, "");
}

TEST_F(PeerMemories, ReadOpensASlotAndClosesItAgain) {
    prepare(false);
    std::vector<uint8_t> slot(2048);
    for (uint64_t at = 0; at < 4 * mib; at += 65536) {
        ASSERT_TRUE(memory->read(at, slot));
        uint32_t value = 0;
        std::memcpy(&value, slot.data(), sizeof value);
        ASSERT_EQ(value, at / 4096 + 1);
        ASSERT_EQ(protection_of(&memory->cpu_bytes()[at]), "---s");
    }
    // Over the border of two pages.
    ASSERT_TRUE(memory->read(4095, slot));
    EXPECT_EQ(slot[1], 2);
    EXPECT_EQ(protection_of(&memory->cpu_bytes()[4096]), "---s");
}

TEST_F(PeerMemories, ReadStaysInside) {
    prepare(false);
    std::vector<uint8_t> slot(2048);
    EXPECT_TRUE(memory->read(4 * mib - 2048, slot));
    EXPECT_FALSE(memory->read(4 * mib - 2047, slot));
    EXPECT_FALSE(memory->read(4 * mib, slot));
    EXPECT_FALSE(memory->read(~uint64_t{0}, slot));
    EXPECT_FALSE(memory->read(~uint64_t{0} - 2047, slot));
    EXPECT_TRUE(memory->read(4 * mib, {}));
}

TEST_F(PeerMemories, SealedReadableForBouncesStaysReadableAndNoMore) {
    prepare(true);
    EXPECT_EQ(protection_of(memory->cpu_bytes().data()), "r--s");
    EXPECT_EQ(memory->readable(8192)[0], 3);
    std::vector<uint8_t> slot(16);
    ASSERT_TRUE(memory->read(8192, slot));
    EXPECT_EQ(slot[0], 3);
    EXPECT_EQ(protection_of(memory->cpu_bytes().data()), "r--s");
    EXPECT_DEATH(*static_cast<volatile std::byte*>(memory->cpu_bytes().data()) = std::byte{1}, "");
    // The first port that cannot reach it comes later.
    ASSERT_TRUE(memory->seal(false).has_value());
    EXPECT_EQ(protection_of(memory->cpu_bytes().data()), "---s");
    ASSERT_TRUE(memory->seal(true).has_value());
    EXPECT_EQ(memory->readable(8192)[0], 3);
}

TEST_F(PeerMemories, SealWithoutPagesIsAnError) {
    EXPECT_FALSE(memory->seal(false).has_value());
}

TEST_F(PeerMemories, RevocationStopsItsUsersThenUnmapsThenPutsThePages) {
    prepare(false);
    const void* where = memory->cpu_bytes().data();
    for (const char* name : {"first", "second"})
        memory->on_revoke([this, name, where] {
            events.push_back(std::string(name) + (protection_of(where).empty() ? " too late" : ""));
            EXPECT_TRUE(memory->revoked());
            // read() of the daemon's thread between the callbacks and the end: refused, since use has ended.
            std::vector<uint8_t> slot(16);
            EXPECT_FALSE(memory->read(0, slot));
        });
    EXPECT_FALSE(memory->revoked());
    ASSERT_TRUE(memory->revoke());
    const Events wanted{mapped_event, "first", "second", unmapped_event};
    EXPECT_EQ(events, wanted);
    EXPECT_TRUE(memory->revoked());
    EXPECT_EQ(mapped(), 0) << "nothing can be reached any more";
    EXPECT_EQ(enabled(), '0') << "what is at this address next is not ours to switch";
    std::vector<uint8_t> slot(16);
    EXPECT_FALSE(memory->read(0, slot));
    EXPECT_FALSE(memory->read(0, {}));
    ASSERT_TRUE(memory->revoke());
    EXPECT_EQ(events, wanted) << "once";
    sysfs.set(address, "enable", "5");
    memory.reset();
    EXPECT_EQ(events, wanted);
    EXPECT_EQ(enabled(), '5');
}

TEST_F(PeerMemories, WhatTheIommuDoesNotLetGoOfIsTriedAgainAndTheOthersAreUnmapped) {
    const auto other = std::make_shared<RecordingDomain>(events, "other: ");
    ASSERT_TRUE(memory->get_pages().has_value());
    ASSERT_TRUE(memory->map_for(domain, bus).has_value());
    ASSERT_TRUE(memory->map_for(other, bus).has_value());
    domain->unmaps = false;
    events.clear();
    const auto refused = memory->unmap();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().to_string().find("a device may still reach it"), std::string::npos);
    EXPECT_EQ(events, (Events{unmapped_event, "other: " + unmapped_event}));
    domain->unmaps = true;
    EXPECT_TRUE(memory->unmap());
    EXPECT_EQ(events.size(), 3U) << "that one alone";
    EXPECT_EQ(events.back(), unmapped_event);
    memory->put_pages();
    EXPECT_EQ(mapped(), 0) << "nobody reaches it";
}

// Pages that the process let go of could be given to somebody else, whom a device would then write to.
TEST_F(PeerMemories, RevokedMemoryThatADeviceMayStillReachIsKept) {
    prepare(false);
    domain->unmaps = false;
    bool stopped = false;
    memory->on_revoke([&] { stopped = true; });
    const void* where = memory->cpu_bytes().data();
    const auto revoked = memory->revoke();
    ASSERT_FALSE(revoked);
    EXPECT_NE(revoked.error().to_string().find("is not let go of"), std::string::npos);
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(memory->revoked());
    EXPECT_GT(mapped(), 0);
    std::vector<uint8_t> slot(16);
    EXPECT_FALSE(memory->read(0, slot));
    EXPECT_FALSE(memory->map_for(domain, bus).has_value());
    memory.reset();
    EXPECT_EQ(protection_of(where), "---s") << "for as long as the process lives, and closed to it";
}

TEST_F(PeerMemories, ReleasedMemoryThatADeviceMayStillReachIsKept) {
    prepare(false);
    domain->unmaps = false;
    const void* where = memory->cpu_bytes().data();
    memory.reset();
    EXPECT_EQ(protection_of(where), "---s");
    EXPECT_EQ(enabled(), '0') << "a device that decodes no address is not written to";
}

TEST_F(PeerMemories, WhatIsRevokedDoesNotComeBack) {
    prepare(false);
    ASSERT_TRUE(memory->revoke());
    EXPECT_FALSE(memory->get_pages().has_value());
    EXPECT_FALSE(memory->map_for(domain, bus).has_value());
    EXPECT_FALSE(memory->seal(true).has_value());
    EXPECT_EQ(events, (Events{mapped_event, unmapped_event}));
}

}  // namespace
}  // namespace pktpit::offload
