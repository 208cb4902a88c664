// SPDX-License-Identifier: BSD-3-Clause
// Which faults of drivers are told of a device, of devices that are made up.
#include "router/xdp/driver_faults.h"

#include <gtest/gtest.h>

#include <string>

namespace pktpit::router {
namespace {

/// With the kernel's own driver, and queues enough.
DriverState device(const std::string& driver, const std::string& release) {
    return {.driver = driver,
            .version = release,
            .release = release,
            .queues = 8,
            .most_queues = 64,
            .processors = 8};
}

size_t count(const DriverState& state) {
    return faults_of(state).size();
}

TEST(DriverFaults, AreToldWithTheirSource) {
    DriverState state = device("ice", "6.1.0-56-amd64");
    state.splits = true;
    const auto found = faults_of(state);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(fault_text(*found[0]),
              "its driver ice: when AF_XDP sockets come or go under load the device may be reset, and the "
              "kernel may "
              "crash, before Linux 6.11 (https://github.com/intel/ethernet-linux-ice/issues/61)");
}

TEST(DriverFaults, BeginAndEndWithAVersion) {
    for (const auto& [release, expected] : {std::pair{"6.1.0-56-amd64", 1},
                                            {"6.10.3", 1},
                                            {"6.11.0", 0},
                                            {"6.12.95+deb12-amd64", 0},
                                            {"6.14.0", 1},
                                            {"7.3.4+deb13-amd64", 1}}) {
        DriverState state = device("ice", release);
        EXPECT_EQ(count(state), 0U) << "an inline port has no AF_XDP sockets";
        state.splits = true;
        EXPECT_EQ(count(state), static_cast<size_t>(expected)) << release;
    }
}

TEST(DriverFaults, OfADriverFromElsewhereAreItsOwn) {
    DriverState state = device("i40e", "6.12.0");
    EXPECT_EQ(count(state), 0U);
    state.version = "2.26.8";
    ASSERT_EQ(count(state), 1U);
    EXPECT_NE(fault_text(*faults_of(state)[0]).find("takes no redirected frames"), std::string::npos);
    state.version = "";
    EXPECT_EQ(count(state), 0U) << "it does not say";
}

TEST(DriverFaults, OfQueuesMergingAndMtuDependOnThem) {
    DriverState i40e = device("i40e", "6.12.0");
    i40e.queues = 4;
    EXPECT_EQ(count(i40e), 1U);
    DriverState ena = device("ena", "6.12.0");
    ena.most_queues = 16;
    EXPECT_EQ(count(ena), 0U);
    ena.queues = 9;
    EXPECT_EQ(count(ena), 1U);
    DriverState netvsc = device("hv_netvsc", "6.12.0");
    EXPECT_EQ(count(netvsc), 0U);
    netvsc.merges = true;
    EXPECT_EQ(count(netvsc), 1U);
    DriverState ixgbevf = device("ixgbevf", "6.12.0");
    EXPECT_EQ(count(ixgbevf), 0U);
    ixgbevf.mtu = 9000;
    EXPECT_EQ(count(ixgbevf), 1U);
    DriverState virtio = device("virtio_net", "6.12.0");
    ASSERT_EQ(count(virtio), 1U);
    EXPECT_NE(faults_of(virtio)[0]->what.find("unplug"), std::string_view::npos);
    virtio.most_queues = 15;
    ASSERT_EQ(count(virtio), 1U);
    EXPECT_NE(faults_of(virtio)[0]->what.find("under a lock"), std::string_view::npos);
    EXPECT_TRUE(faults_of(virtio)[0]->note);
}

TEST(DriverFaults, OfQueuesOfAVirtioDeviceAreTheSameWithItsProgramOn) {
    DriverState virtio = device("virtio_net", "6.12.0");
    virtio.processors = 4;
    virtio.native = true;
    for (const auto& [in_use, shared] : {std::pair{4U, true}, {5U, false}, {8U, false}}) {
        virtio.queues = virtio.most_queues = in_use;
        ASSERT_EQ(count(virtio), 1U);
        EXPECT_EQ(faults_of(virtio)[0]->what.find("under a lock") != std::string_view::npos, shared)
            << in_use;
    }
}

TEST(DriverFaults, OfOtherDriversAreNone) {
    for (const char* driver : {"veth", "mlx5_core", ""}) {
        DriverState state = device(driver, "6.1.0");
        state.splits = true;
        state.queues = 1;
        EXPECT_EQ(count(state), 0U) << driver;
    }
}

TEST(DriverFaults, OfADeviceThatIsNotThereAreNone) {
    EXPECT_EQ(count(driver_state("no-such-device", true)), 0U);
}

}  // namespace
}  // namespace pktpit::router
