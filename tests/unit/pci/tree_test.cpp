// SPDX-License-Identifier: BSD-3-Clause
// Trees from snapshots that may say anything, and what is made of a function's attributes.
#include <gtest/gtest.h>

#include "tests/unit/pci/pci_machine.h"

namespace pktpit::offload::test {
namespace {

TEST(Tree, ParentsChildrenAncestors) {
    const PciTree tree = SwitchMachine().tree();
    EXPECT_EQ(tree.size(), 6U);
    const PciFunction* nic = tree.find(at("04:00.0"));
    ASSERT_TRUE(nic);
    EXPECT_EQ(nic->parent, at("03:00.0"));
    EXPECT_EQ(nic->host_bridge, "pci0000:00");
    const auto above = tree.ancestors(*nic);
    ASSERT_EQ(above.size(), 3U);
    EXPECT_EQ(above[0]->address, at("03:00.0"));
    EXPECT_EQ(above[2]->address, at("01:00.0"));
    EXPECT_EQ(tree.find(at("02:00.0"))->children, (std::vector{at("03:00.0"), at("03:01.0")}));
    EXPECT_EQ(tree.on_root_bus("pci0000:00").size(), 1U);
    EXPECT_TRUE(tree.on_root_bus("pci0000:80").empty());
    EXPECT_EQ(tree.host_bridges(), std::vector<std::string>{"pci0000:00"});
    EXPECT_EQ(tree.in_group(1).size(), 6U);
    EXPECT_TRUE(tree.has_iommu());
    EXPECT_FALSE(tree.find(at("0001:04:00.0")));
}

TEST(Tree, WhatHangsNowhereIsOnItsRootBus) {
    const PciTree tree({"",
                        {function("pci0000:00/0000:00:09.0/0000:01:00.0", {}),
                         function("pci0000:00/not-an-address/0000:02:00.0", {})}});
    EXPECT_EQ(tree.size(), 2U);
    EXPECT_FALSE(tree.find(at("01:00.0"))->parent);
    EXPECT_FALSE(tree.find(at("02:00.0"))->parent);
    EXPECT_EQ(tree.on_root_bus("pci0000:00").size(), 2U);
}

TEST(Tree, LoopsAreCut) {
    const PciTree tree({"",
                        {function("pci0000:00/0000:02:00.0/0000:01:00.0", {}),
                         function("pci0000:00/0000:01:00.0/0000:02:00.0", {}),
                         function("pci0000:00/0000:03:00.0/0000:03:00.0", {}),
                         function("pci0000:00/0000:02:00.0/0000:04:00.0", {})}});
    EXPECT_EQ(tree.size(), 4U);
    size_t roots = 0;
    for (const PciFunction* item : tree.functions()) {
        EXPECT_LE(tree.ancestors(*item).size(), 2U);
        roots += !item->parent;
    }
    EXPECT_EQ(roots, 2U);
}

TEST(Tree, WhatIsNoFunctionOrTwiceIsLeftOut) {
    const PciTree tree(
        {"",
         {function("pci10000:e0/10000:e0:06.0", {}), function("", {}), function("0000:01:00.0", {}),
          function("pci0000:00/0000:01:00.0", {}), function("pci0000:00/0000:01:00.0", {})}});
    EXPECT_EQ(tree.size(), 1U);
    EXPECT_EQ(tree.left_out(), 4U);
    EXPECT_TRUE(PciTree().empty());
}

TEST(Function, AttributesThatAreNoNumbers) {
    SnapshotFunction item = function("pci0000:00/0000:01:00.0", {});
    item.attributes = {{"vendor", "0xzz"},     {"class", ""},
                       {"numa_node", "-1"},    {"iommu_group", "x"},
                       {"physfn", "nonsense"}, {"resource", "1 2\nx y z\n\n0x5 0x4 0x200"},
                       {"p2pmem/size", "many"}};
    const auto made = PciFunction::from(item);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->vendor, 0);
    EXPECT_EQ(made->numa_node, -1);
    EXPECT_FALSE(made->iommu_group);
    EXPECT_FALSE(made->physical);
    EXPECT_FALSE(made->p2pmem);
    EXPECT_TRUE(made->bars.empty());
}

TEST(Function, BarsOfResource) {
    SnapshotFunction item = function("pci0000:00/0000:01:00.0", {});
    item.attributes["resource"] =
        "0x00000000fe000000 0x00000000fe01ffff 0x0000000000040200\n"
        "0x000000000000d000 0x000000000000d01f 0x0000000000040101\n"
        "0x0000004000000000 0x0000004003ffffff 0x000000000014220c\n"
        "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
        "0x0000000000000000 0xffffffffffffffff 0x0000000000000200\n"
        "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
        "0x00000000fe100000 0x00000000fe1fffff 0x0000000000046200";  // the ROM
    const auto made = PciFunction::from(item);
    EXPECT_EQ(made->bars, (std::vector<PciBar>{{0, 0xfe000000, 0x20000, true, false, false},
                                               {1, 0xd000, 0x20, false, false, false},
                                               {2, 0x4000000000, 0x4000000, true, true, true}}));
    ASSERT_TRUE(made->payload_bar());
    EXPECT_EQ(made->payload_bar()->index, 2U);
    EXPECT_FALSE(made->bar(3));
}

TEST(Function, MemoryCandidates) {
    const auto is_candidate = [](Part part) {
        return PciFunction::from(function("pci0000:00/0000:01:00.0", part))->is_memory_candidate();
    };
    const std::string plain = "0x0000000000140204";  // not prefetchable
    EXPECT_TRUE(is_candidate({.class_code = "0x050000", .bar = 1 << 20}));
    EXPECT_FALSE(is_candidate({.class_code = "0x050000", .bar = 1 << 19}));
    EXPECT_TRUE(is_candidate({.class_code = "0x010802", .bar = 1 << 20, .bar_flags = plain}));
    EXPECT_TRUE(is_candidate({.class_code = "0x030200", .bar = 1 << 28}));
    EXPECT_FALSE(is_candidate({.class_code = "0x0c0330", .bar = 1 << 20, .bar_flags = plain}));
    EXPECT_FALSE(is_candidate({.class_code = "0x020000", .bar = 1 << 20})) << "a NIC's registers";
    EXPECT_FALSE(is_candidate({.type = PcieType::downstream_port, .bar = 1 << 20}));
}

TEST(Function, LinkFromSysfsWhereRegistersWereNotRead) {
    SnapshotFunction item = function("pci0000:00/0000:01:00.0", {.speed = 0, .lanes = 0});
    item.attributes["current_link_speed"] = "8.0 GT/s PCIe";
    item.attributes["current_link_width"] = "4";
    item.attributes["max_link_speed"] = "16.0 GT/s PCIe";
    item.attributes["max_link_width"] = "8";
    EXPECT_EQ(PciFunction::from(item)->pcie->link, (PcieLink{8, 4}));
    EXPECT_EQ(PciFunction::from(item)->pcie->max_link, (PcieLink{16, 8}));
    item.attributes["current_link_speed"] = "Unknown";
    EXPECT_FALSE(PciFunction::from(item)->pcie->link.known());
}

}  // namespace
}  // namespace pktpit::offload::test
