// SPDX-License-Identifier: BSD-3-Clause
// Devices that are opened, started and closed while EAL runs, and what drivers say when they are not.
#include "router/dpdk/eth_device.h"

#include <gmock/gmock.h>

#include "tests/unit/dpdk/eal_rig.h"

namespace pktpit::router::test {
namespace {

using ::testing::HasSubstr;

class EthDeviceTest : public EalTest {};

TEST_F(EthDeviceTest, DriversThatOnlyPromiseTheBasicsStart) {
    for (const std::string text : {"net_null", "net_null,no-rx=1", "net_ring", "net_null7"}) {
        auto device = EthDevice::open(text, "/interfaces/a/device");
        ASSERT_TRUE(device) << device.error().to_string();
        EthWishes wishes;
        wishes.interrupts = true;
        const auto started = (*device)->start(wishes, {pool.get(), nullptr});
        ASSERT_TRUE(started) << text << ": " << started.error().to_string();
        EXPECT_TRUE((*device)->link_up()) << text;
        EXPECT_FALSE((*device)->statistics().empty());
        (*device)->stop();
        EXPECT_FALSE((*device)->link_up());
        EXPECT_TRUE((*device)->start(wishes, {pool.get(), nullptr})) << "and again";
    }
}

TEST_F(EthDeviceTest, ADriversNameAloneIsADeviceOfItsOwnEachTime) {
    auto first = EthDevice::open("net_null", "");
    auto second = EthDevice::open("net_null", "");
    ASSERT_TRUE(first && second);
    EXPECT_NE((*first)->id(), (*second)->id());
}

TEST_F(EthDeviceTest, ADeviceThatIsClosedCanBeOpenedAgain) {
    for (int i = 0; i < 20; i++) {
        auto device = EthDevice::open("net_ring3", "");
        ASSERT_TRUE(device) << i << ": " << device.error().to_string();
        ASSERT_TRUE((*device)->start({}, {pool.get(), nullptr}));
    }
    EXPECT_EQ(rte_eth_dev_count_avail(), 0);
}

TEST_F(EthDeviceTest, WhatADriverSaysIsTheErrorsReason) {
    auto device = EthDevice::open("net_pcap,rx_pcap=/there/is/none.pcap", "/interfaces/a/device");
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().where, "/interfaces/a/device");
    EXPECT_THAT(device.error().message,
                HasSubstr("DPDK cannot open \"net_pcap,rx_pcap=/there/is/none.pcap\""));
    EXPECT_THAT(device.error().message, HasSubstr("No such file or directory"));
}

TEST_F(EthDeviceTest, ADriverThatThereIsNotIsSaid) {
    auto device = EthDevice::open("net_nonsense", "/interfaces/a/device");
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr("net_nonsense"));
}

TEST_F(EthDeviceTest, ALinuxDeviceBelowThatThereIsNotIsFoundBeforeDpdkIs) {
    auto device = EthDevice::open("net_af_packet,iface=pktpit-none", "/interfaces/a/device");
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr("there is no Linux device \"pktpit-none\""));
}

TEST_F(EthDeviceTest, ALinuxDeviceOfTheHostsIsNotTaken) {
    auto device = EthDevice::open("net_af_packet,iface=lo", "/interfaces/a/device");
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr("has addresses"));
}

}  // namespace
}  // namespace pktpit::router::test
