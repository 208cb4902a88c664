// SPDX-License-Identifier: BSD-3-Clause
// sysfs, as folders and links made by the test and as this machine has it; recordings as JSON.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "offload/pci/path.h"
#include "tests/unit/pci/pci_machine.h"

namespace pktpit::offload::test {
namespace {

namespace fs = std::filesystem;

class SysfsTest : public ::testing::Test {
  protected:
    SysfsTest() { fs::create_directories(root_ / "bus/pci/devices"); }
    ~SysfsTest() override { fs::remove_all(root_); }

    void write(const std::string& path, std::string_view text) {
        fs::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path, std::ios::binary) << text;
    }
    void link(const std::string& path, const std::string& target) {
        fs::create_directories((root_ / path).parent_path());
        fs::create_symlink(target, root_ / path);
    }
    /// A function as the kernel shows it.
    std::string add(const std::string& path, const std::string& config) {
        write("devices/" + path + "/config", config);
        link("bus/pci/devices/" + fs::path(path).filename().string(), "../../../devices/" + path);
        return "devices/" + path + "/";
    }

    fs::path root_ = fs::path(::testing::TempDir()) / ("pktpit-sysfs-" + std::to_string(getpid()));
};

TEST_F(SysfsTest, ReadsFunctionsAndWhereTheyHang) {
    add("pci0000:00/0000:00:01.0", function("", {.type = PcieType::root_port}).config);
    const std::string nic = add("pci0000:00/0000:00:01.0/0000:01:00.0", function("", {}).config);
    write(nic + "vendor", "0x8086\n");
    write(nic + "class", "0x020000\n");
    write(nic + "resource", "0x1 0x2 0x200\n0x0 0x0 0x0\n");
    write(nic + "p2pmem/size", "1048576\n");
    write(nic + "net/eth1/mtu", "1500\n");
    write(nic + "net/eth0/mtu", "1500\n");
    link(nic + "driver", "../../../../bus/pci/drivers/e1000e");
    link(nic + "iommu_group", "../../../../kernel/iommu_groups/14");
    const auto snapshot = read_snapshot(root_);
    ASSERT_TRUE(snapshot);
    ASSERT_EQ(snapshot->functions.size(), 2U);
    const SnapshotFunction& read = snapshot->functions[1];
    EXPECT_EQ(read.path, "pci0000:00/0000:00:01.0/0000:01:00.0");
    EXPECT_EQ(read.config.size(), 4096U);
    EXPECT_EQ(read.attributes.at("vendor"), "0x8086");
    EXPECT_EQ(read.attributes.at("driver"), "e1000e");
    EXPECT_EQ(read.attributes.at("iommu_group"), "14");
    EXPECT_EQ(read.attributes.at("net"), "eth0 eth1");
    EXPECT_EQ(read.attributes.at("resource"), "0x1 0x2 0x200\n0x0 0x0 0x0");
    EXPECT_FALSE(read.attributes.contains("numa_node"));
    const PciTree tree(*snapshot);
    EXPECT_EQ(tree.find(at("01:00.0"))->parent, at("00:01.0"));
    EXPECT_EQ(tree.find(at("01:00.0"))->p2pmem->bytes, 1048576U);
}

TEST_F(SysfsTest, OddEntriesAreLeftOut) {
    write("bus/pci/devices/plain-file", "x");
    link("bus/pci/devices/0000:02:00.0", "../../../devices/pci0000:00/0000:02:00.0");  // gone meanwhile
    link("bus/pci/devices/0000:03:00.0", "elsewhere");
    const auto snapshot = read_snapshot(root_);
    ASSERT_TRUE(snapshot);
    EXPECT_TRUE(snapshot->functions.empty());
}

TEST_F(SysfsTest, AMachineWithoutPci) {
    fs::remove_all(root_ / "bus");
    const auto snapshot = read_snapshot(root_);
    ASSERT_TRUE(snapshot);
    EXPECT_TRUE(snapshot->functions.empty());
    const auto absent = read_snapshot(root_ / "nothing");
    ASSERT_FALSE(absent);
    EXPECT_FALSE(absent.error().hint.empty());
}

TEST(LiveMachine, IsUnderstood) {
    const auto snapshot = read_snapshot();
    ASSERT_TRUE(snapshot) << snapshot.error().to_string();
    const PciTree tree(*snapshot);
    EXPECT_EQ(tree.size() + tree.left_out(), snapshot->functions.size());
    for (const PciFunction* function : tree.functions()) {
        EXPECT_NE(function->vendor, 0) << function->address.to_string();
        EXPECT_TRUE(function->host_bridge.starts_with("pci")) << function->host_bridge;
        const PciPath itself = find_path(tree, function->address, function->address);
        EXPECT_EQ(itself.way, P2pWay::same_device);
        for (const PciFunction* other : tree.functions()) {
            const PciPath path = find_path(tree, function->address, other->address);
            EXPECT_NE(path.way, P2pWay::none);
            EXPECT_EQ(path.hops.front(), function->address);
            EXPECT_EQ(path.hops.back(), other->address);
        }
    }
    EXPECT_EQ(parse_snapshot(to_json_text(*snapshot)).value(), *snapshot);
}

TEST(Recording, SurvivesWritingAndReading) {
    PciSnapshot snapshot{"a machine",
                         {function("pci0000:00/0000:00:01.0", {.type = PcieType::root_port}),
                          function("pci0000:00/0000:00:01.0/0000:01:00.0", {.bar = 1 << 20})}};
    snapshot.functions[1].config.resize(64);
    snapshot.functions[0].config[4095] = '\xff';
    EXPECT_EQ(parse_snapshot(to_json_text(snapshot)).value(), snapshot);
    EXPECT_EQ(parse_snapshot(to_json_text({})).value(), PciSnapshot{});
}

TEST(Recording, WhatIsNoneIsRefused) {
    const std::string head = R"({"form": "pktpit PCI tree 1", "functions": )";
    const auto where = [](const std::string& text) {
        const auto parsed = parse_snapshot(text);
        return parsed ? "accepted" : parsed.error().where + ": " + parsed.error().message;
    };
    EXPECT_EQ(where(""), ": is no JSON object");
    EXPECT_EQ(where("[]"), ": is no JSON object");
    EXPECT_EQ(where("{}"), "/form: is not \"pktpit PCI tree 1\"");
    EXPECT_EQ(where(head + "7}"), "/functions: no functions");
    EXPECT_EQ(where(head + "[7]}"), "/functions/0: is no object");
    EXPECT_EQ(where(head + R"([{"path": ""}]})"), "/functions/0/path: no path");
    const std::string item = head + R"([{"path": "pci0000:00/0000:00:01.0", "attributes": {}, )";
    EXPECT_EQ(where(item + R"("config_bytes": 4, "config": "8680"}]})"), "accepted");
    for (const char* bad :
         {R"("config_bytes": 4, "config": "868"}]})", R"("config_bytes": 1, "config": "8680"}]})",
          R"("config_bytes": 4097, "config": ""}]})", R"("config_bytes": -1, "config": ""}]})",
          R"("config": "8680"}]})", R"("config_bytes": 4, "config": "86zz"}]})"})
        EXPECT_TRUE(where(item + bad).starts_with("/functions/0/config")) << bad;
    EXPECT_EQ(where(head + R"([{"path": "x", "config_bytes": 0}]})"),
              "/functions/0/attributes: no attributes");
}

}  // namespace
}  // namespace pktpit::offload::test
