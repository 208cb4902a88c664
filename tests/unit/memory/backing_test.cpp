// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/backing.h"

#include <gtest/gtest.h>

#include "offload/memory/nvme_cmb.h"
#include "tests/unit/memory/fake_sysfs.h"

namespace pktpit::offload {
namespace {

using test::FakeSysfs;

const std::string address = "0000:05:00.0";
constexpr uint64_t mib = 1 << 20;
constexpr uint64_t bus = 0x4000000000;

class Backings : public testing::Test {
  protected:
    Backings() {
        sysfs.add(address, "0x050000", {{0, 0xfe000000, 4096}, {1, 0xc000, 32, false}, {2, bus, 4 * mib}});
    }

    static MemorySource source(MemoryKind kind, uint8_t bar = 2, uint64_t bytes = 0) {
        return {kind, PciAddress::parse(address).value(), bar, bytes};
    }
    Result<Backing> open(const MemorySource& wanted) const {
        return open_backing(wanted, sysfs.tree(), sysfs.root());
    }
    /// Of what must not be opened.
    [[nodiscard]] Error refusal(const MemorySource& wanted) const {
        const auto backing = open(wanted);
        EXPECT_FALSE(backing.has_value());
        return backing.has_value() ? Error() : backing.error();
    }
    [[nodiscard]] char enabled() const { return sysfs.attribute(address, "enable").at(0); }

    FakeSysfs sysfs;
};

TEST_F(Backings, ABarIsItsResourceFileAtItsBusAddress) {
    {
        auto backing = open(source(MemoryKind::pci_bar));
        ASSERT_TRUE(backing.has_value()) << backing.error().to_string();
        EXPECT_EQ(backing->bytes, 4 * mib);
        EXPECT_EQ(backing->offset, 0u);
        EXPECT_EQ(backing->bus_address, bus);
        EXPECT_EQ(enabled(), '1') << "a device that is not enabled answers no access";
        const auto mapping = backing->map("BAR 2");
        ASSERT_TRUE(mapping.has_value()) << mapping.error().to_string();
        ASSERT_EQ(mapping->bytes().size(), 4 * mib);
        mapping->bytes()[8 * 512 + 3] = std::byte{0x5a};
        EXPECT_EQ(sysfs.peek(address, 2, 4096) >> 24, 0x5au);
    }
    EXPECT_EQ(enabled(), '0') << "undone at the end";
}

TEST_F(Backings, PartOfABarIsItsStart) {
    const auto backing = open(source(MemoryKind::pci_bar, 2, mib));
    ASSERT_TRUE(backing.has_value());
    EXPECT_EQ(backing->bytes, mib);
    EXPECT_EQ(backing->bus_address, bus);
}

TEST_F(Backings, AMovedBackingIsUndoneOnce) {
    auto backing = open(source(MemoryKind::pci_bar));
    ASSERT_TRUE(backing.has_value());
    {
        Backing other = std::move(*backing);
        EXPECT_EQ(enabled(), '1');
        *backing = std::move(other);
    }
    EXPECT_EQ(enabled(), '1') << "still held";
    *backing = Backing();
    EXPECT_EQ(enabled(), '0');
    sysfs.set(address, "enable", "7");
    backing = fail("", "");
    EXPECT_EQ(enabled(), '7');
}

TEST_F(Backings, RefusesWhatIsNotInsideOfABarAndUndoesEnable) {
    const struct {
        MemorySource source;
        const char* says;
    } cases[] = {
        {source(MemoryKind::pci_bar, 2, 4 * mib + 4096), "not inside BAR 2"},
        {source(MemoryKind::pci_bar, 2, ~uint64_t{0}), "not inside BAR 2"},
        {source(MemoryKind::pci_bar, 2, 4097), "begin and end at a page"},
        {source(MemoryKind::pci_bar, 1), "BAR 1 is no memory BAR"},
        {source(MemoryKind::pci_bar, 3), "BAR 3 is no memory BAR"},
        {source(MemoryKind::pci_bar, 200), "BAR 200 is no memory BAR"},
        {source(MemoryKind::nvme_cmb), "no NVMe controller"},
    };
    for (const auto& item : cases) {
        SCOPED_TRACE(item.says);
        const Error error = refusal(item.source);
        EXPECT_NE(error.message.find(item.says), std::string::npos) << error.to_string();
        EXPECT_FALSE(error.expected.empty());
        EXPECT_EQ(error.where, address);
        EXPECT_EQ(enabled(), '0');
    }
}

TEST_F(Backings, ADeviceThatIsNotThere) {
    const MemorySource other{MemoryKind::pci_bar, PciAddress::parse("0000:09:00.0").value(), 0, 0};
    EXPECT_NE(refusal(other).hint.find("pktpit doctor"), std::string::npos);
}

TEST_F(Backings, ADriverThatHoldsTheDeviceIsNamedWithTheWayOut) {
    sysfs.bind(address, "nvme");
    const Error error = refusal(source(MemoryKind::pci_bar));
    EXPECT_NE(error.message.find("driver nvme uses"), std::string::npos);
    EXPECT_EQ(error.hint, "echo " + address + " > /sys/bus/pci/drivers/nvme/unbind");
    sysfs.set(address, "p2pmem/size", "4194304\n");
    sysfs.set(address, "p2pmem/available", "4194304\n");
    EXPECT_NE(refusal(source(MemoryKind::pci_bar)).hint.find("p2pmem"), std::string::npos);
    EXPECT_EQ(enabled(), '0');
}

TEST_F(Backings, ADeviceAtVfioIsAVfioRegion) {
    sysfs.bind(address, "vfio-pci");
    for (const auto kind : {MemoryKind::pci_bar, MemoryKind::p2pmem})
        EXPECT_NE(refusal(source(kind)).hint.find("vfio_region"), std::string::npos);
}

TEST_F(Backings, EnableThatCannotBeWrittenIsAnError) {
    std::filesystem::remove(sysfs.device(address) / "enable");
    EXPECT_NE(refusal(source(MemoryKind::pci_bar)).message.find("cannot be enabled"), std::string::npos);
}

TEST_F(Backings, P2pmemIsTakenFromItsDriver) {
    sysfs.bind(address, "nvme");
    EXPECT_NE(refusal(source(MemoryKind::p2pmem)).message.find("publishes no p2pmem"), std::string::npos);
    sysfs.set(address, "p2pmem/size", "4194304\n");
    sysfs.set(address, "p2pmem/available", "1048576\n");
    sysfs.set(address, "p2pmem/allocate", std::string(mib, '\0'));
    EXPECT_NE(refusal(source(MemoryKind::p2pmem, 0, 2 * mib)).message.find("1 MiB left"), std::string::npos);
    const auto backing = open(source(MemoryKind::p2pmem));
    ASSERT_TRUE(backing.has_value()) << backing.error().to_string();
    EXPECT_EQ(backing->bytes, mib);
    EXPECT_FALSE(backing->bus_address.has_value()) << "the kernel does not tell it";
    EXPECT_EQ(enabled(), '0') << "the driver's business";
    sysfs.set(address, "p2pmem/available", "0\n");
    EXPECT_FALSE(open(source(MemoryKind::p2pmem)).has_value()) << "nothing is left";
}

class NvmeBackings : public testing::Test {
  protected:
    NvmeBackings() { sysfs.add(address, "0x010802", {{0, 0xfe000000, 16384}, {2, bus, 4 * mib}}); }
    Result<Backing> open(uint64_t bytes = 0) const {
        return open_backing({MemoryKind::nvme_cmb, PciAddress::parse(address).value(), 0, bytes},
                            sysfs.tree(), sysfs.root());
    }
    void registers(uint64_t cap, uint32_t cmbloc, uint32_t cmbsz) const {
        sysfs.poke(address, 0, nvme_cap, cap, 8);
        sysfs.poke(address, 0, nvme_cmbloc, cmbloc, 4);
        sysfs.poke(address, 0, nvme_cmbsz, cmbsz, 4);
    }
    FakeSysfs sysfs;
};

TEST_F(NvmeBackings, ABufferOfBefore14IsWhereItsRegistersSay) {
    registers(0, 1 << 12 | 2, 2 << 12 | 2 << 8);  // from 1 MiB on, 2 MiB
    const auto backing = open();
    ASSERT_TRUE(backing.has_value()) << backing.error().to_string();
    EXPECT_EQ(backing->offset, mib);
    EXPECT_EQ(backing->bytes, 2 * mib);
    EXPECT_EQ(backing->bus_address, bus + mib);
    EXPECT_EQ(sysfs.peek(address, 0, nvme_cmbmsc), 0u) << "a register that it does not have";
}

TEST_F(NvmeBackings, ABufferSince14IsToldItsAddress) {
    registers(nvme_cap_cmbs, 2, 4 << 12 | 2 << 8);
    {
        const auto backing = open(2 * mib);
        ASSERT_TRUE(backing.has_value()) << backing.error().to_string();
        EXPECT_EQ(backing->bytes, 2 * mib);
        EXPECT_EQ(backing->bus_address, bus);
        // CBA in 63:12, CMSE, CRE.
        EXPECT_EQ(sysfs.peek(address, 0, nvme_cmbmsc), bus | 3);
        EXPECT_EQ(sysfs.attribute(address, "enable").at(0), '1');
    }
    EXPECT_EQ(sysfs.attribute(address, "enable").at(0), '0');
}

TEST_F(NvmeBackings, RegistersThatLieAreErrors) {
    const struct {
        uint64_t cap;
        uint32_t cmbloc, cmbsz;
        uint64_t bytes;
        const char* says;
    } cases[] = {
        {0, 0, 0, 0, "no controller memory buffer"},
        {~uint64_t{0}, ~0U, ~0U, 0, "does not answer"},
        {0, 2, 8 << 12 | 2 << 8, 0, "not inside BAR 2"},            // 8 MiB in a BAR of 4
        {0, 3 << 12 | 2, 2 << 12 | 2 << 8, 0, "not inside BAR 2"},  // its end is beyond
        {0, 0xfffffU << 12 | 2, 1 << 12 | 6 << 8, 0, "not inside BAR 2"},
        {0, 4, 1 << 12 | 2 << 8, 0, "BAR 4 is no memory BAR"},
        {0, 2, 1 << 12 | 2 << 8, 2 * mib, "has 1 MiB"},
    };
    for (const auto& item : cases) {
        registers(item.cap, item.cmbloc, item.cmbsz);
        const auto backing = open(item.bytes);
        ASSERT_FALSE(backing.has_value()) << item.says;
        EXPECT_NE(backing.error().message.find(item.says), std::string::npos) << backing.error().to_string();
        EXPECT_EQ(backing.error().where, address);
        EXPECT_EQ(sysfs.attribute(address, "enable").at(0), '0');
    }
}

TEST(Hugepages, MoreThanThereAreSaysWhatToDo) {
    const auto backing = open_backing({.bytes = uint64_t{1} << 46}, PciTree());
    ASSERT_TRUE(backing.has_value());
    EXPECT_FALSE(backing->bus_address.has_value());
    const auto mapping = backing->map("hugepages");
    ASSERT_FALSE(mapping.has_value());
    EXPECT_NE(mapping.error().hint.find("vm.nr_hugepages"), std::string::npos);
    EXPECT_NE(mapping.error().expected.find("hugepages of 2 MiB"), std::string::npos);
}

}  // namespace
}  // namespace pktpit::offload
