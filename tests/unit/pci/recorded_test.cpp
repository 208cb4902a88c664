// SPDX-License-Identifier: BSD-3-Clause
// The recorded machines of tests/topologies, which Linux itself laid out: who reaches what, and which way.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "offload/pci/path_links.h"
#include "tests/unit/pci/pci_machine.h"

namespace pktpit::offload::test {
namespace {

PciTree recorded(const std::string& name) {
    std::ifstream file(PKTPIT_SOURCE_DIR "/tests/topologies/" + name + ".json");
    std::ostringstream text;
    text << file.rdbuf();
    const auto snapshot = parse_snapshot(text.str());
    EXPECT_TRUE(snapshot) << name << ": " << snapshot.error().to_string();
    EXPECT_NE(snapshot->about.find("emulated machine"), std::string::npos);
    return PciTree(*snapshot);
}

struct Expected {
    const char* machine;
    const char* nic;
    const char* memory;
    P2pWay way;
    bool possible;
    const char* turn;                     ///< "": none
    std::vector<std::string> codes = {};  ///< hindrances and blockers of the path
};

std::ostream& operator<<(std::ostream& out, const Expected& expected) {
    return out << expected.machine << " " << expected.nic << " → " << expected.memory;
}

class RecordedTest : public ::testing::TestWithParam<Expected> {};

TEST_P(RecordedTest, Path) {
    const Expected& expected = GetParam();
    const PciTree tree = recorded(expected.machine);
    const PciPath path = find_path(tree, at(expected.nic), at(expected.memory));
    EXPECT_EQ(to_string(path.way), to_string(expected.way));
    EXPECT_EQ(path.possible, expected.possible);
    EXPECT_EQ(path.turn ? path.turn->to_string() : "", expected.turn);
    std::vector<std::string> codes;
    for (const Finding& finding : path.findings)
        if (finding.severity != Severity::note) codes.push_back(finding.code);
    EXPECT_EQ(codes, expected.codes);
    ASSERT_TRUE(tree.find(path.to));
    EXPECT_TRUE(tree.find(path.to)->is_memory_candidate());
    EXPECT_EQ(tree.find(path.to)->payload_bar()->bytes, 64U << 20);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, RecordedTest,
    ::testing::Values(
        Expected{"switch-iommu", "03:00.0", "07:00.0", P2pWay::same_switch, true, "0000:01:00.0"},
        Expected{"switch-iommu", "06:00.0", "08:00.0", P2pWay::same_switch, true, "0000:01:00.0"},
        Expected{"switch-vfio", "04:00.0", "07:00.0", P2pWay::same_switch, true, "0000:01:00.0"},
        Expected{"root-ports-acs", "01:00.0", "03:00.0", P2pWay::root_complex, true, "", {"not_in_switch"}},
        Expected{"root-ports-acs", "02:00.0", "03:00.0", P2pWay::root_complex, true, "", {"not_in_switch"}},
        Expected{"root-ports-no-iommu",
                 "01:00.0",
                 "03:00.0",
                 P2pWay::root_complex,
                 false,
                 "",
                 {"not_in_switch", "no_iommu"}},
        Expected{"nested-switches", "05:00.0", "0a:00.0", P2pWay::same_switch, true, "0000:01:00.0"},
        Expected{"nested-switches", "09:00.0", "0a:00.0", P2pWay::same_switch, true, "0000:07:00.0"},
        Expected{
            "two-switches", "03:00.0", "07:00.0", P2pWay::root_port, true, "0000:00:01.0", {"not_in_switch"}},
        Expected{"two-switches", "06:00.0", "07:00.0", P2pWay::same_switch, true, "0000:01:00.1"},
        Expected{"two-host-bridges", "81:00.0", "82:00.0", P2pWay::root_complex, true, "", {"not_in_switch"}},
        Expected{"two-host-bridges", "01:00.0", "82:00.0", P2pWay::host_bridges, false, "", {"host_bridges"}},
        Expected{"conventional-bridge",
                 "02:00.0",
                 "02:01.0",
                 P2pWay::same_bus,
                 true,
                 "0000:01:00.0",
                 {"conventional_pci", "conventional_pci", "conventional_pci"}},
        Expected{"conventional-bridge",
                 "03:00.0",
                 "02:01.0",
                 P2pWay::root_complex,
                 true,
                 "",
                 {"not_in_switch", "conventional_pci", "conventional_pci"}}));

TEST(Recorded, LinuxSwitchesRedirectOnForTheIommu) {
    const auto redirects = [](const char* name) {
        const PciTree tree = recorded(name);
        const PciFunction* port = tree.find(at("00:01.0"));
        return port->acs && port->acs->is_on(AcsCapability::request_redirect);
    };
    EXPECT_TRUE(redirects("root-ports-acs"));
    EXPECT_FALSE(redirects("root-ports-no-iommu"));
    EXPECT_TRUE(recorded("root-ports-acs").has_iommu());
    EXPECT_FALSE(recorded("root-ports-no-iommu").has_iommu());
}

TEST(Recorded, DriversAndGroups) {
    const PciTree bound = recorded("switch-vfio");
    const PciTree unbound = recorded("switch-iommu");
    EXPECT_EQ(bound.find(at("03:00.0"))->driver, "vfio-pci");
    EXPECT_EQ(unbound.find(at("03:00.0"))->driver, "");
    EXPECT_EQ(unbound.find(at("08:00.0"))->driver, "nvme");
    EXPECT_EQ(unbound.find(at("03:00.0"))->ids(), "8086:10d3");
    EXPECT_TRUE(examine_groups(unbound, {at("03:00.0"), at("04:00.0")}).empty());
    EXPECT_TRUE(find(examine_memory(unbound, *unbound.find(at("08:00.0"))), "memory_driver"));
}

TEST(Recorded, LinksAndRates) {
    const PciTree tree = recorded("switch-iommu");
    const PciPath path = find_path(tree, at("03:00.0"), at("08:00.0"));
    const auto links = links_of(tree, path);
    ASSERT_EQ(links.size(), 2U);
    EXPECT_EQ(links[0].above, at("02:00.0"));
    EXPECT_EQ(links[0].link, (PcieLink{2.5, 1}));
    const auto rate = expected_rate(tree, path);
    ASSERT_TRUE(rate);
    EXPECT_EQ(rate->write_mps, 128U);
    EXPECT_EQ(rate->write_bytes_per_second, write_rate({2.5, 1}, 128, 4096));
    EXPECT_FALSE(expected_rate(recorded("conventional-bridge"),
                               find_path(recorded("conventional-bridge"), at("02:00.0"), at("02:01.0"))));
}

}  // namespace
}  // namespace pktpit::offload::test
