// SPDX-License-Identifier: BSD-3-Clause
// Addresses of interfaces across reloads, on a host that takes addresses away as Linux does.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/control/control_rig.h"

namespace pktpit::router {
namespace {

using Addresses = std::vector<std::string>;

class ConfiguredAddresses : public testing::Test, protected fake::ControlRig<> {
  protected:
    ConfiguredAddresses() : fake::ControlRig<>("addresses", {"eth0", "eth1"}) {
        spdlog::set_level(spdlog::level::off);
        EXPECT_TRUE(control->read_kernel());
    }
    ~ConfiguredAddresses() override { spdlog::set_level(spdlog::level::info); }

    static config::Config with(const Addresses& addresses) {
        config::Config config;
        config.interfaces["eth0"].name = "eth0";
        for (const auto& address : addresses)
            config.interfaces["eth0"].addresses.push_back(InterfaceAddress::parse(address).value());
        return config;
    }
    auto apply(const config::Config& config, bool first = false) {
        auto done = control->apply(config, first);
        EXPECT_TRUE(control->follow_kernel());
        return done;
    }
    void set_by_others(const std::string& address) {
        host.set_address(host.device("eth0")->link.ifindex, InterfaceAddress::parse(address).value(), false);
        EXPECT_TRUE(control->follow_kernel());
    }
    Addresses in_kernel() { return words(host.device("eth0")->order); }
    Addresses in_routing() { return words(control->routing().interfaces().by_name("eth0")->addresses); }
    static Addresses words(const std::vector<InterfaceAddress>& addresses) {
        Addresses words;
        for (const auto& address : addresses)
            words.push_back(address.to_string());
        std::ranges::sort(words);
        return words;
    }
};

TEST_F(ConfiguredAddresses, another_one_of_the_same_net_leaves_itself_and_those_of_others) {
    ASSERT_TRUE(apply(with({"192.0.2.1/24"}), true));
    set_by_others("192.0.2.100/24");
    const auto done = apply(with({"192.0.2.7/24"}));
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->empty());
    EXPECT_EQ(in_kernel(), (Addresses{"192.0.2.100/24", "192.0.2.7/24"}));
    EXPECT_EQ(in_routing(), in_kernel());
}

TEST_F(ConfiguredAddresses, with_the_interface_those_of_others_stay) {
    ASSERT_TRUE(apply(with({"192.0.2.1/24"}), true));
    set_by_others("192.0.2.100/24");
    ASSERT_TRUE(apply(config::Config()));
    EXPECT_EQ(in_kernel(), Addresses{"192.0.2.100/24"});
    EXPECT_EQ(host.sysctls.at("ipv4/conf/eth0/promote_secondaries"), "0") << "put back";
}

TEST_F(ConfiguredAddresses, what_the_kernel_takes_away_nevertheless_is_added_again) {
    faults.disarm();
    host.sysctls.erase("ipv4/conf/eth0/promote_secondaries");  // as where it is out of reach
    ASSERT_TRUE(apply(with({"192.0.2.1/24"}), true));
    host.sysctls["ipv4/conf/eth0/promote_secondaries"] = "0";
    const auto done = apply(with({"192.0.2.7/24"}));
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->empty());
    EXPECT_EQ(in_kernel(), Addresses{"192.0.2.7/24"});
    EXPECT_EQ(in_routing(), in_kernel());
}

TEST_F(ConfiguredAddresses, another_prefix_length_by_one_reload) {
    ASSERT_TRUE(apply(with({"192.0.2.1/24", "2001:db8::1/64"}), true));
    ASSERT_TRUE(apply(with({"192.0.2.1/25", "2001:db8::1/56"})));
    EXPECT_EQ(in_kernel(), (Addresses{"192.0.2.1/25", "2001:db8::1/56"}));
    EXPECT_EQ(in_routing(), in_kernel());
}

TEST_F(ConfiguredAddresses, another_prefix_length_that_is_refused_leaves_the_former) {
    ASSERT_TRUE(apply(with({"2001:db8::1/64"}), true));
    for (size_t n = 1;; n++) {
        faults.arm({n}, fake::Faults::Kind::error);
        const auto done = apply(with({"2001:db8::1/56"}));
        const bool hit = !faults.hits().empty();
        faults.disarm();
        if (done) {
            EXPECT_EQ(in_kernel(), Addresses{"2001:db8::1/56"});
            break;
        }
        ASSERT_TRUE(hit);
        ASSERT_EQ(in_kernel(), Addresses{"2001:db8::1/64"}) << "call " << n;
        ASSERT_EQ(in_routing(), in_kernel()) << "call " << n;
    }
}

TEST_F(ConfiguredAddresses, that_of_others_with_another_prefix_length_is_theirs) {
    set_by_others("2001:db8::1/64");
    const auto done = apply(with({"2001:db8::1/56"}), true);
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().errors.front().to_string().find("it is there as 2001:db8::1/64"),
              std::string::npos);
    EXPECT_EQ(in_kernel(), Addresses{"2001:db8::1/64"});
}

}  // namespace
}  // namespace pktpit::router
