// SPDX-License-Identifier: BSD-3-Clause
// Configuration space from bytes that may be anything: short, looping, all ones.
#include <gtest/gtest.h>

#include "offload/pci/capabilities.h"
#include "tests/unit/pci/pci_machine.h"

namespace pktpit::offload::test {
namespace {

TEST(ConfigSpace, ReadsLittleEndianUpToItsEnd) {
    const ConfigSpace config(std::string_view("\x86\x80\xd3\x10\x07", 5));
    EXPECT_EQ(config.u8(0), 0x86);
    EXPECT_EQ(config.u16(0), 0x8086);
    EXPECT_EQ(config.u32(0), 0x10d38086U);
    EXPECT_EQ(config.u8(4), 7);
    EXPECT_FALSE(config.u8(5));
    EXPECT_FALSE(config.u16(4));
    EXPECT_FALSE(config.u32(2));
    EXPECT_FALSE(config.u32(~size_t{0} - 1));
    EXPECT_FALSE(config.has_capabilities());
    EXPECT_EQ(ConfigSpace(std::string(9000, 'x')).size(), 4096U);
}

TEST(ConfigSpace, FindsCapabilitiesInAnyOrder) {
    ConfigBytes bytes;
    bytes.capability(0x40, 0x01).capability(0x50, 0x05).capability(0xe0, 0x10);
    const ConfigSpace config(bytes.bytes());
    EXPECT_EQ(config.capability(0x01), 0x40U);
    EXPECT_EQ(config.capability(0x05), 0x50U);
    EXPECT_EQ(config.capability(0x10), 0xe0U);
    EXPECT_FALSE(config.capability(0x11));
}

TEST(ConfigSpace, NoListWithoutTheStatusBit) {
    ConfigBytes bytes;
    bytes.capability(0x40, 0x10).set(0x06, 0, 2);
    EXPECT_FALSE(ConfigSpace(bytes.bytes()).capability(0x10));
}

TEST(ConfigSpace, LoopingListsEnd) {
    ConfigBytes bytes;
    bytes.capability(0x40, 0x01).capability(0x50, 0x05).set(0x41, 0x50, 1);  // 0x50 → 0x40 → 0x50
    EXPECT_FALSE(ConfigSpace(bytes.bytes()).capability(0x10));
    bytes.set(0x100, 0x10010001, 4);  // an extended capability that points at itself
    EXPECT_FALSE(ConfigSpace(bytes.bytes()).extended_capability(0x000d));
}

TEST(ConfigSpace, PointersIntoTheHeaderAndBeyondTheEndAreNothing) {
    ConfigBytes bytes(256);
    bytes.set(0x06, 0x10, 2).set(0x34, 0x20, 1).set(0x20, 0x10, 1);
    EXPECT_FALSE(ConfigSpace(bytes.bytes()).capability(0x10));
    EXPECT_FALSE(ConfigSpace(bytes.bytes()).extended_capability(0x000d));
    ConfigBytes last(64);
    last.set(0x06, 0x10, 2).set(0x34, 0x40, 1);
    EXPECT_FALSE(ConfigSpace(last.bytes()).capability(0x10));
}

TEST(ConfigSpace, ADeadDeviceHasNothing) {
    const ConfigSpace config(std::string(4096, '\xff'));
    EXPECT_FALSE(config.capability(0x10));
    EXPECT_FALSE(config.extended_capability(0x000d));
    EXPECT_FALSE(PcieCapability::parse(config));
    EXPECT_FALSE(BridgeHeader::parse(config));
}

TEST(Capabilities, Pcie) {
    const auto made = function("pci0000:00/0000:01:00.0", {.type = PcieType::downstream_port,
                                                           .speed = 2,
                                                           .lanes = 4,
                                                           .max_speed = 4,
                                                           .max_lanes = 8,
                                                           .mps = 1,
                                                           .mps_supported = 2,
                                                           .mrrs = 5,
                                                           .port = 7});
    const auto pcie = PcieCapability::parse(ConfigSpace(made.config));
    ASSERT_TRUE(pcie);
    EXPECT_EQ(pcie->type, PcieType::downstream_port);
    EXPECT_EQ(pcie->port_number, 7);
    EXPECT_EQ(pcie->mps, 256U);
    EXPECT_EQ(pcie->mps_supported, 512U);
    EXPECT_EQ(pcie->mrrs, 4096U);
    EXPECT_EQ(pcie->link, (PcieLink{5, 4}));
    EXPECT_EQ(pcie->max_link, (PcieLink{16, 8}));
}

TEST(Capabilities, PcieWithReservedValues) {
    ConfigBytes bytes;
    bytes.capability(0x60, 0x10).set(0x64, 7, 4).set(0x68, 0x7fff, 2).set(0x72, 0xf | 63 << 4, 2);
    const auto pcie = PcieCapability::parse(ConfigSpace(bytes.bytes()));
    ASSERT_TRUE(pcie);
    EXPECT_EQ(pcie->mps_supported, 128U);
    EXPECT_EQ(pcie->mrrs, 128U);
    EXPECT_FALSE(pcie->link.known());
    bytes.set(0x62, 0xf0, 2);  // a port type that there is not
    EXPECT_FALSE(PcieCapability::parse(ConfigSpace(bytes.bytes())));
    ConfigBytes cut(0x66);
    cut.capability(0x60, 0x10);
    EXPECT_FALSE(PcieCapability::parse(ConfigSpace(cut.bytes())));
}

TEST(Capabilities, AcsAndAts) {
    ConfigBytes bytes;
    bytes.ats(true).acs(AcsCapability::request_redirect | AcsCapability::source_validation,
                        AcsCapability::request_redirect | AcsCapability::completion_redirect);
    const auto acs = AcsCapability::parse(ConfigSpace(bytes.bytes()));
    ASSERT_TRUE(acs);
    EXPECT_TRUE(acs->is_on(AcsCapability::request_redirect));
    EXPECT_FALSE(acs->is_on(AcsCapability::completion_redirect)) << "on, but not implemented";
    EXPECT_FALSE(acs->is_on(AcsCapability::source_validation));
    EXPECT_EQ(AtsCapability::parse(ConfigSpace(bytes.bytes())), AtsCapability{true});
    EXPECT_FALSE(AcsCapability::parse(ConfigSpace(bytes.bytes().substr(0, 256))));
    EXPECT_FALSE(AcsCapability::parse(ConfigSpace(bytes.bytes().substr(0, 0x182))));
}

TEST(Capabilities, BridgeWindows) {
    ConfigBytes bytes;
    bytes.set(0x0e, 0x81, 1).set(0x19, 3, 1).set(0x1a, 9, 1);
    bytes.set(0x20, 0xfeb0fea0, 4);  // 0xfea00000 to 0xfebfffff
    bytes.set(0x24, 0x00310001, 4).set(0x28, 0x40, 4).set(0x2c, 0x41, 4);
    const auto bridge = BridgeHeader::parse(ConfigSpace(bytes.bytes()));
    ASSERT_TRUE(bridge);
    EXPECT_EQ(bridge->secondary_bus, 3);
    EXPECT_EQ(bridge->subordinate_bus, 9);
    EXPECT_EQ(bridge->memory, (BridgeWindow{0xfea00000, 0xfebfffff}));
    EXPECT_EQ(bridge->prefetchable, (BridgeWindow{0x4000000000, 0x41003fffff}));
    EXPECT_TRUE(bridge->memory.contains(0xfea00000, 0x200000));
    EXPECT_FALSE(bridge->memory.contains(0xfea00000, 0x200001));
    EXPECT_FALSE(bridge->memory.contains(0xfea00000, ~0ULL));
    bytes.set(0x20, 0x0000fff0, 4);  // closed
    EXPECT_FALSE(BridgeHeader::parse(ConfigSpace(bytes.bytes()))->memory.contains(0xfff00000, 1));
    bytes.set(0x0e, 0, 1);
    EXPECT_FALSE(BridgeHeader::parse(ConfigSpace(bytes.bytes())));
}

}  // namespace
}  // namespace pktpit::offload::test
