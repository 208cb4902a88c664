// SPDX-License-Identifier: BSD-3-Clause
// Which rights a configuration asks for, and whose they become. That they are given up is seen end to end.
#include "router/daemon/privileges.h"

#include <gtest/gtest.h>
#include <linux/capability.h>

#include <algorithm>

namespace pktpit::router {
namespace {

bool needs(const config::Config& config, unsigned capability) {
    return std::ranges::count(needed_capabilities(config), capability) > 0;
}

TEST(Privileges, each_dataplane_has_what_it_works_with_and_no_more) {
    config::Config config;
    EXPECT_EQ(needed_capabilities(config).size(), 4U);
    for (const unsigned capability : {CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW, CAP_PERFMON})
        EXPECT_TRUE(needs(config, capability)) << capability;
    config.xdp_dispatcher = true;
    EXPECT_TRUE(needs(config, CAP_SYS_ADMIN));
    config.dataplane = "model";
    EXPECT_EQ(needed_capabilities(config).size(), 2U);
    config.dataplane = "vfio";
    EXPECT_FALSE(needs(config, CAP_BPF));
}

TEST(Privileges, devices_that_libxdp_loads_programs_for_need_one_more) {
    config::Config config;
    config.dataplane = "dpdk";
    config.interfaces["p1"].device = "net_af_packet,iface=eth0";
    EXPECT_FALSE(needs(config, CAP_SYS_ADMIN));
    config.interfaces["p2"].device = "net_af_xdp,iface=eth1";
    EXPECT_TRUE(needs(config, CAP_SYS_ADMIN));
    config.interfaces.erase("p2");
    config.dpdk.devices = {"net_af_xdp0,iface=eth1"};
    EXPECT_TRUE(needs(config, CAP_SYS_ADMIN));
}

TEST(Privileges, users_and_groups_are_those_of_the_machine) {
    EXPECT_EQ(find_account("root")->uid, 0U);
    EXPECT_EQ(find_group("root").value(), 0U);
    EXPECT_EQ(find_account("no such user").error().where, "/user");
    EXPECT_EQ(find_group("no such group").error().where, "/api/group");
}

}  // namespace
}  // namespace pktpit::router
