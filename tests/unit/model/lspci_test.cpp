// SPDX-License-Identifier: BSD-3-Clause
// What lspci prints becomes the topology that it describes.
#include "offload/model/lspci.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace pktpit::model {
namespace {

std::string recorded() {
    std::ifstream file(PKTPIT_SOURCE_DIR "/tests/unit/model/two-nics.lspci.txt");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

TEST(Lspci, IsReadAsATree) {
    const auto topology = import_lspci(recorded(), 40);
    ASSERT_TRUE(topology) << topology.error().to_string();
    ASSERT_EQ(topology->root_ports.size(), 1U);
    const TopologyDevice& chip = topology->root_ports[0];
    EXPECT_EQ(chip.name, "3b:00.0");
    EXPECT_EQ(chip.kind, TopologyDevice::Kind::switch_chip);
    EXPECT_EQ(chip.acs_redirect, TopologyDevice::Redirect::all);
    EXPECT_EQ(chip.link.lanes, 16U);
    ASSERT_EQ(chip.below.size(), 3U);
    EXPECT_EQ(chip.below[0].name, "3d:00.0");
    EXPECT_EQ(chip.below[0].gbps, (std::vector<double>{40, 40}))
        << "two functions, and the virtual one is none";
    EXPECT_EQ(chip.below[0].link.lanes, 8U);
    EXPECT_EQ(chip.below[1].gbps, std::vector<double>{40});
    EXPECT_EQ(chip.below[2].kind, TopologyDevice::Kind::memory);
    EXPECT_EQ(chip.below[2].mib, 64U);
    EXPECT_EQ(chip.below[2].link.gigatransfers, 8);
    EXPECT_TRUE(topology->iommu);
    EXPECT_EQ(topology->mps, 256U);
    EXPECT_EQ(topology->mrrs, 512U);
    EXPECT_TRUE(Topology::parse(topology->to_json_text()));
}

TEST(Lspci, IsRefusedWithAReason) {
    EXPECT_EQ(import_lspci("", 10).error().message, "no device in it");
    EXPECT_EQ(import_lspci("hello\nworld\n", 10).error().message, "no device in it");
    // Not as root.
    const auto blind = import_lspci(
        "00:01.0 PCI bridge: x\n\tBus: primary=00, secondary=01\n\tCapabilities: <access denied>\n"
        "01:00.0 Ethernet controller: y\n\tCapabilities: <access denied>\n",
        10);
    ASSERT_FALSE(blind);
    EXPECT_NE(blind.error().hint.find("as root"), std::string::npos);
    // A bridge below itself.
    std::string loop = recorded();
    const size_t at = loop.find("secondary=3d");
    loop.replace(at, 12, "secondary=3c");
    EXPECT_TRUE(import_lspci(loop, 10));
}

}  // namespace
}  // namespace pktpit::model
