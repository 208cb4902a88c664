// SPDX-License-Identifier: BSD-3-Clause
// Paths and what stands in their way, on machines put together by hand: switches with ACS above all.
#include <gtest/gtest.h>

#include <algorithm>

#include "offload/pci/path_links.h"
#include "tests/unit/pci/pci_machine.h"

namespace pktpit::offload::test {
namespace {

constexpr uint16_t rr = AcsCapability::request_redirect;
constexpr uint16_t cr = AcsCapability::completion_redirect;
constexpr uint16_t ec = AcsCapability::egress_control;
constexpr uint16_t dt = AcsCapability::direct_translated;

PciPath path_of(const SwitchMachine& machine) {
    return find_path(machine.tree(), machine.nic_at, machine.memory_at);
}

std::vector<std::string> texts(const std::vector<PciAddress>& addresses) {
    std::vector<std::string> list;
    for (const PciAddress address : addresses)
        list.push_back(address.to_string().substr(5));
    return list;
}

TEST(Path, InOneSwitch) {
    const PciPath path = path_of({});
    EXPECT_EQ(path.way, P2pWay::same_switch);
    EXPECT_TRUE(path.possible);
    EXPECT_TRUE(path.direct());
    EXPECT_FALSE(path.redirected);
    EXPECT_EQ(texts(path.hops),
              (std::vector<std::string>{"04:00.0", "03:00.0", "02:00.0", "03:01.0", "05:00.0"}));
    EXPECT_EQ(path.turn, at("02:00.0"));
    EXPECT_NE(path.why.find("0000:02:00.0"), std::string::npos) << path.why;
    EXPECT_FALSE(any_of(path.findings, Severity::hindrance)) << path.findings.front().what;
    ASSERT_TRUE(find(path.findings, "identity_iova"));
}

TEST(Path, AcsRedirectSendsItToTheRootPort) {
    SwitchMachine machine;
    machine.nic_port.acs = rr | cr;
    const PciPath path = path_of(machine);
    EXPECT_EQ(path.way, P2pWay::root_port);
    EXPECT_TRUE(path.redirected);
    EXPECT_TRUE(path.possible) << "the IOMMU maps it";
    EXPECT_FALSE(path.direct());
    EXPECT_EQ(texts(path.hops), (std::vector<std::string>{"04:00.0", "03:00.0", "02:00.0", "01:00.0",
                                                          "02:00.0", "03:01.0", "05:00.0"}));
    EXPECT_EQ(path.turn, at("01:00.0"));
    const Finding* finding = find(path.findings, "acs_redirect");
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->where, "0000:03:00.0");
    EXPECT_EQ(finding->severity, Severity::hindrance);
    EXPECT_NE(finding->remedy.find("pci=disable_acs_redir=0000:03:00.0"), std::string::npos);
    EXPECT_FALSE(find(path.findings, "identity_iova")) << "through the IOMMU any IOVA will do";
}

TEST(Path, RedirectAtTheMemorysPortConcernsTheOtherDirection) {
    SwitchMachine machine;
    machine.memory_port.acs = rr;
    EXPECT_EQ(path_of(machine).way, P2pWay::same_switch);
    EXPECT_EQ(find_path(machine.tree(), machine.memory_at, machine.nic_at).way, P2pWay::root_port);
}

TEST(Path, CompletionRedirectSlowsReads) {
    SwitchMachine machine;
    machine.memory_port.acs = cr;
    const PciPath path = path_of(machine);
    EXPECT_EQ(path.way, P2pWay::same_switch);
    const Finding* finding = find(path.findings, "acs_completion_redirect");
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->where, "0000:03:01.0");
    machine.memory_port.acs = 0;
    machine.nic_port.acs = cr;
    EXPECT_FALSE(find(path_of(machine).findings, "acs_completion_redirect"));
}

TEST(Path, TranslatedRequestsMayPassARedirect) {
    SwitchMachine machine;
    machine.nic_port.acs = rr | dt;
    machine.nic.ats = true;
    const PciPath path = path_of(machine);
    EXPECT_EQ(path.way, P2pWay::same_switch);
    EXPECT_TRUE(find(path.findings, "ats"));
    machine.nic.ats = false;
    EXPECT_EQ(path_of(machine).way, P2pWay::root_port);
    machine.nic.ats = true;
    machine.nic_port.acs = rr;
    EXPECT_EQ(path_of(machine).way, P2pWay::root_port);
}

/// PCIe Base 5.0, section 6.12.3: request redirect and egress control together.
TEST(Path, EgressControl) {
    SwitchMachine machine;
    machine.nic_port.acs = ec;
    machine.nic_port.egress_vector = 1U << 2;  // the memory's port
    PciPath path = path_of(machine);
    EXPECT_FALSE(path.possible);
    EXPECT_TRUE(find(path.findings, "acs_egress_control"));
    machine.nic_port.acs = ec | rr;
    path = path_of(machine);
    EXPECT_EQ(path.way, P2pWay::root_port);
    EXPECT_TRUE(path.possible);
    machine.nic_port.egress_vector = 1U << 1;
    EXPECT_EQ(path_of(machine).way, P2pWay::same_switch);
    machine.nic_port.acs = ec;
    EXPECT_EQ(path_of(machine).way, P2pWay::same_switch);
}

TEST(Path, WithoutAnIommu) {
    SwitchMachine machine;
    machine.nic.group.clear();
    PciPath path = path_of(machine);
    EXPECT_EQ(path.way, P2pWay::same_switch);
    EXPECT_FALSE(path.possible);
    const Finding* finding = find(path.findings, "no_iommu");
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->where, "0000:04:00.0");
    machine.nic_port.acs = rr;
    path = path_of(machine);
    EXPECT_EQ(path.way, P2pWay::root_port);
    EXPECT_NE(path.why.find("not assumed"), std::string::npos);
}

TEST(Path, FunctionsOfOneDevice) {
    const std::string root = "pci0000:00/0000:00:01.0/";
    Part first;
    const auto tree_of = [&](const std::string& second) {
        return PciTree({"",
                        {function("pci0000:00/0000:00:01.0", {.type = PcieType::root_port}),
                         function(root + "0000:01:00.0", first), function(root + second, {})}});
    };
    const PciPath path = find_path(tree_of("0000:01:00.1"), at("01:00.0"), at("01:00.1"));
    EXPECT_EQ(path.way, P2pWay::same_device);
    EXPECT_EQ(path.hops.size(), 2U);
    EXPECT_TRUE(path.possible);
    // With ARI a device's functions have any device number.
    EXPECT_EQ(find_path(tree_of("0000:01:02.3"), at("01:00.0"), at("01:02.3")).way, P2pWay::same_device);
    EXPECT_EQ(find_path(tree_of("0000:01:00.1"), at("01:00.0"), at("01:00.0")).way, P2pWay::same_device);
    first.acs = rr;
    EXPECT_EQ(find_path(tree_of("0000:01:00.1"), at("01:00.0"), at("01:00.1")).way, P2pWay::root_port);
}

TEST(Path, VirtualFunctionsBelongToTheirDevice) {
    const std::string root = "pci0000:00/0000:00:01.0";
    SnapshotFunction virtual_function = function(root + "/0000:02:10.0", {});
    virtual_function.attributes["physfn"] = "0000:01:00.0";
    const PciTree tree({"",
                        {function(root, {.type = PcieType::root_port}), function(root + "/0000:01:00.0", {}),
                         virtual_function}});
    EXPECT_EQ(find_path(tree, at("01:00.0"), at("02:10.0")).way, P2pWay::same_device);
}

TEST(Path, BetweenHostBridges) {
    const PciTree tree({"",
                        {function("pci0000:00/0000:00:01.0", {.type = PcieType::root_port}),
                         function("pci0000:00/0000:00:01.0/0000:01:00.0", {}),
                         function("pci0000:80/0000:80:01.0", {.type = PcieType::root_port}),
                         function("pci0000:80/0000:80:01.0/0000:81:00.0", {})}});
    const PciPath path = find_path(tree, at("01:00.0"), at("81:00.0"));
    EXPECT_EQ(path.way, P2pWay::host_bridges);
    EXPECT_FALSE(path.possible);
    EXPECT_EQ(texts(path.hops), (std::vector<std::string>{"01:00.0", "00:01.0", "80:01.0", "81:00.0"}));
    EXPECT_FALSE(path.turn);
}

TEST(Path, ToNowhere) {
    const PciPath path = find_path(SwitchMachine().tree(), at("04:00.0"), at("77:00.0"));
    EXPECT_EQ(path.way, P2pWay::none);
    EXPECT_FALSE(path.possible);
    EXPECT_EQ(path.why, "there is no 0000:77:00.0");
    EXPECT_EQ(find_path({}, at("04:00.0"), at("77:00.0")).findings.size(), 2U);
}

TEST(Path, PayloadSizesThatDoNotFit) {
    SwitchMachine machine;
    machine.nic.mps = 2;
    machine.nic.mps_supported = 2;
    PciPath path = path_of(machine);
    const Finding* finding = find(path.findings, "mps_mismatch");
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->severity, Severity::blocker);
    EXPECT_EQ(finding->where, "0000:04:00.0");
    EXPECT_NE(finding->what.find("512 B"), std::string::npos) << finding->what;
    EXPECT_FALSE(path.possible);
    machine.nic.mps = 0;  // smaller is slow, not wrong; but now completions of the memory do not fit
    path = path_of(machine);
    finding = find(path.findings, "mps_mismatch");
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->where, "0000:05:00.0");
    EXPECT_NE(finding->what.find("completions"), std::string::npos);
}

TEST(Path, PayloadSizeBelowWhatAllCan) {
    SwitchMachine machine;
    for (Part* part : {&machine.root, &machine.upstream, &machine.nic_port, &machine.memory_port,
                       &machine.nic, &machine.memory})
        part->mps_supported = 2;
    const PciPath path = path_of(machine);
    const Finding* finding = find(path.findings, "mps_low");
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->expected, "512 B");
    EXPECT_NE(finding->what.find("104 instead of 109 Gbit/s"), std::string::npos) << finding->what;
    EXPECT_TRUE(path.possible);
}

TEST(Path, SmallReadRequests) {
    SwitchMachine machine;
    machine.nic.mrrs = 0;
    const PciPath path = path_of(machine);
    ASSERT_TRUE(find(path.findings, "mrrs_low"));
    EXPECT_EQ(find(path.findings, "mrrs_low")->where, "0000:04:00.0");
    machine.memory.mrrs = 0;
    machine.nic.mrrs = 2;
    EXPECT_FALSE(find(path_of(machine).findings, "mrrs_low")) << "a memory does not ask";
}

TEST(Path, DegradedLinks) {
    SwitchMachine machine;
    machine.nic.lanes = 8;
    machine.memory.max_lanes = 4;  // a narrow card in a wide slot is no fault
    machine.memory.lanes = 4;
    const PciPath path = path_of(machine);
    const Finding* finding = find(path.findings, "link_degraded");
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->where, "0000:04:00.0");
    EXPECT_NE(finding->what.find("8 GT/s x8"), std::string::npos) << finding->what;
    EXPECT_EQ(std::count_if(path.findings.begin(), path.findings.end(),
                            [](const Finding& f) { return f.code == "link_degraded"; }),
              1);
    const auto rate = expected_rate(machine.tree(), path);
    ASSERT_TRUE(rate);
    EXPECT_EQ(rate->narrowest.below, machine.memory_at);
    EXPECT_DOUBLE_EQ(rate->write_bytes_per_second, write_rate({8, 4}, 256, 4096));
    EXPECT_DOUBLE_EQ(rate->read_bytes_per_second, read_rate({8, 4}, 256, 512, 4096));
}

TEST(Path, ARedirectPassesTheSwitchesUpstreamLink) {
    SwitchMachine machine;
    machine.upstream.lanes = machine.upstream.max_lanes = 1;
    EXPECT_EQ(links_of(machine.tree(), path_of(machine)).size(), 2U);
    machine.nic_port.acs = rr;
    const PciPath path = path_of(machine);
    EXPECT_EQ(links_of(machine.tree(), path).size(), 3U);
    EXPECT_EQ(expected_rate(machine.tree(), path)->narrowest.below, at("02:00.0"));
}

TEST(Path, WhatWasNotReadByRootIsUnknown) {
    PciSnapshot snapshot{"",
                         {function("pci0000:00/0000:00:01.0", {.type = PcieType::root_port}),
                          function("pci0000:00/0000:00:01.0/0000:01:00.0", {})}};
    for (SnapshotFunction& item : snapshot.functions)
        item.config.resize(64);
    const PciPath path = find_path(PciTree(snapshot), at("01:00.0"), at("00:01.0"));
    EXPECT_TRUE(find(path.findings, "config_unreadable"));
    EXPECT_FALSE(find(path.findings, "conventional_pci"));
}

TEST(Memory, Bar) {
    SwitchMachine machine;
    const auto examined = [&](uint64_t bytes = 1 << 20) {
        const PciTree tree = machine.tree();
        return examine_memory(tree, *tree.find(machine.memory_at), {}, bytes);
    };
    EXPECT_TRUE(examined().empty());
    EXPECT_TRUE(find(examined(65 << 20), "bar_small"));
    machine.memory.bar_at = 0x5000000000;
    EXPECT_EQ(find(examined(), "bar_outside_window")->severity, Severity::blocker);
    machine.memory.bar_flags = "0x0000000000042200";
    EXPECT_TRUE(find(examined(), "bar_32bit"));
    machine.memory.bar_at = 0;
    EXPECT_TRUE(find(examined(), "bar_unassigned"));
    machine.memory.bar_flags = "0x0000000000040101";
    EXPECT_TRUE(find(examined(), "no_bar"));
    machine.memory.bar = 0;
    EXPECT_TRUE(find(examined(), "no_bar"));
    machine.memory.driver = "nvme";
    machine.memory.memory_on = false;
    EXPECT_TRUE(find(examined(), "memory_driver"));
}

TEST(Memory, WhatTheKernelsDriverLendsIsNoHindrance) {
    SwitchMachine machine;
    machine.memory.driver = "nvme";
    PciTree tree = machine.tree();
    EXPECT_EQ(find(examine_memory(tree, *tree.find(machine.memory_at)), "memory_driver")->severity,
              Severity::hindrance);
    PciFunction lending = *tree.find(machine.memory_at);
    lending.p2pmem = P2pMem{64 << 20, 64 << 20, true};
    const Findings findings = examine_memory(tree, lending);
    EXPECT_EQ(find(findings, "memory_driver")->severity, Severity::note);
    EXPECT_NE(find(findings, "memory_driver")->what.find("64 MiB"), std::string::npos);
}

TEST(Memory, VerdictNamesTheBlocker) {
    SwitchMachine machine;
    const P2pVerdict good = p2p_verdict(machine.tree(), machine.nic_at, machine.memory_at, 2);
    EXPECT_TRUE(good.possible && good.direct);
    EXPECT_EQ(good.way, P2pWay::same_switch);
    const P2pVerdict absent = p2p_verdict(machine.tree(), machine.nic_at, machine.memory_at, 4);
    EXPECT_FALSE(absent.possible);
    EXPECT_EQ(absent.why, "0000:05:00.0: has no BAR 4");
    machine.nic_port.acs = rr;
    const P2pVerdict redirected = p2p_verdict(machine.tree(), machine.nic_at, machine.memory_at, 2);
    EXPECT_TRUE(redirected.possible);
    EXPECT_FALSE(redirected.direct);
}

TEST(Nic, DriverAndBusMaster) {
    SwitchMachine machine;
    machine.nic.driver = "e1000e";
    machine.nic.net = "eth0";
    machine.nic.bus_master = false;
    const PciTree tree = machine.tree();
    const Findings findings = examine_nic(*tree.find(machine.nic_at));
    ASSERT_TRUE(find(findings, "kernel_driver"));
    EXPECT_NE(find(findings, "kernel_driver")->what.find("e1000e (eth0)"), std::string::npos);
    EXPECT_TRUE(find(findings, "bus_master"));
    EXPECT_FALSE(any_of(findings, Severity::hindrance));
}

TEST(Groups, OthersOfTheGroupMustBeFree) {
    SwitchMachine machine;
    machine.memory.driver = "nvme";
    machine.upstream.driver = machine.nic_port.driver = "pcieport";
    const Findings findings = examine_groups(machine.tree(), {machine.nic_at});
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].where, "IOMMU group 1");
    EXPECT_NE(findings[0].what.find("0000:05:00.0"), std::string::npos);
    EXPECT_TRUE(examine_groups(machine.tree(), {machine.nic_at, machine.memory_at}).empty());
    machine.memory.driver = "vfio-pci";
    EXPECT_TRUE(examine_groups(machine.tree(), {machine.nic_at}).empty());
    machine.memory.driver = "nvme";
    machine.memory.group = "2";
    EXPECT_TRUE(examine_groups(machine.tree(), {machine.nic_at}).empty());
}

// What to do depends on whose IOMMU it is.
TEST(Path, HowToHaveAnIommu) {
    const auto remedy = [](std::vector<std::array<std::string, 3>> beside) {
        SwitchMachine machine;
        machine.nic.group = "";
        machine.beside = std::move(beside);
        const PciPath path = path_of(machine);
        const Finding* finding = find(path.findings, "no_iommu");
        return finding ? finding->remedy : "";
    };
    const std::array<std::string, 3> virtio{"0x1af4", "0x1057", "0x080600"},
        amd{"0x1022", "0x1451", "0x080600"}, intel_bridge{"0x8086", "0x29c0", "0x060000"},
        amd_bridge{"0x1022", "0x1450", "0x060000"};
    EXPECT_NE(remedy({intel_bridge}).find("intel_iommu=on"), std::string::npos);
    EXPECT_EQ(remedy({intel_bridge}).find("AMD"), std::string::npos);
    for (const auto& beside : {std::vector{amd}, std::vector{amd_bridge}, std::vector{intel_bridge, amd}}) {
        EXPECT_NE(remedy(beside).find("AMD-Vi"), std::string::npos);
        EXPECT_EQ(remedy(beside).find("intel_iommu"), std::string::npos);
    }
    EXPECT_NE(remedy({intel_bridge, virtio}).find("modprobe virtio_iommu"), std::string::npos);
    EXPECT_NE(remedy({}).find("VT-d or AMD-Vi"), std::string::npos);
}

TEST(Path, AVirtioIommuRemapsNoInterrupts) {
    SwitchMachine machine;
    machine.beside = {{"0x1af4", "0x1057", "0x080600"}};
    const PciPath path = path_of(machine);
    const Finding* finding = find(path.findings, "no_interrupt_remapping");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->severity, Severity::hindrance);
    EXPECT_NE(finding->remedy.find("allow_unsafe_interrupts"), std::string::npos);
    machine.beside.clear();
    EXPECT_EQ(find(path_of(machine).findings, "no_interrupt_remapping"), nullptr);
}

}  // namespace
}  // namespace pktpit::offload::test
