// SPDX-License-Identifier: BSD-3-Clause
// `pktpit doctor` on recorded machines: exit status, what is told to people and to programs.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "router/cli/commands_doctor.h"
#include "tests/unit/cli/run_cli.h"
#include "tests/unit/pci/pci_machine.h"

namespace pktpit::router::cli::test {
namespace {

using namespace offload::test;  // NOLINT: the machine by hand
using nlohmann::json;

std::string recording(const std::string& name) {
    return PKTPIT_SOURCE_DIR "/tests/topologies/" + name + ".json";
}

Output doctor_of(const std::string& machine, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"doctor", "--tree", recording(machine)});
    return run_cli(more);
}

json json_of(const std::string& machine, std::vector<std::string> more = {}) {
    more.emplace_back("--json");
    return json::parse(doctor_of(machine, std::move(more)).out);
}

class DoctorFiles : public ::testing::Test {
  protected:
    DoctorFiles() { std::filesystem::create_directories(folder_); }
    ~DoctorFiles() override { std::filesystem::remove_all(folder_); }
    std::string write(const std::string& name, std::string_view text) {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path) << text;
        return path;
    }
    const std::string folder_ = ::testing::TempDir() + "pktpit-doctor-" + std::to_string(getpid());
};

TEST(Doctor, ExitStatus) {
    EXPECT_EQ(doctor_of("switch-iommu").status, 0);
    EXPECT_EQ(doctor_of("switch-vfio").status, 0);
    EXPECT_EQ(doctor_of("nested-switches").status, 0);
    EXPECT_EQ(doctor_of("root-ports-acs").status, 1);
    EXPECT_EQ(doctor_of("two-switches").status, 1);
    EXPECT_EQ(doctor_of("conventional-bridge").status, 1);
    EXPECT_EQ(doctor_of("root-ports-no-iommu").status, 2);
    EXPECT_EQ(doctor_of("two-host-bridges").status, 2);
}

TEST(Doctor, AsksOnlyAboutWhatWasNamed) {
    EXPECT_EQ(doctor_of("two-switches", {"--nic", "06:00.0"}).status, 0);
    EXPECT_EQ(doctor_of("two-switches", {"--nic", "03:00.0", "--memory", "07:00.0"}).status, 1);
    EXPECT_EQ(doctor_of("two-host-bridges", {"--nic", "81:00.0", "--memory", "82:00.0"}).status, 1);
    // The kernel's nvme driver may use the memory, too.
    EXPECT_EQ(doctor_of("switch-iommu", {"--memory", "0000:08:00.0"}).status, 1);
    const json both =
        json_of("switch-iommu", {"--nic", "03:00.0", "--nic", "05:00.0", "--memory", "07:00.0"});
    ASSERT_EQ(both["pairs"].size(), 2U);
    EXPECT_EQ(both["pairs"][1]["nic"], "0000:05:00.0");
    EXPECT_EQ(doctor_of("switch-iommu", {"--nic", "77:00.0"}).status, 2);
}

TEST(Doctor, ForPeople) {
    const std::string text = doctor_of("switch-iommu").out;
    for (const char* part :
         {"pci0000:00                host bridge\n", "      ├─ 0000:02:00.0     switch, downstream port",
          "      │  └─ 0000:03:00.0  Ethernet controller 8086:10d3  2.5 GT/s x1  4      NIC\n",
          "memory: BAR 2, 64 MiB\n",
          "switch 0000:01:00.0  0000:03:00.0 0000:04:00.0 0000:05:00.0 0000:06:00.0  0000:07",
          "0000:03:00.0  0000:07:00.0 BAR 2  direct            same switch  1.57 Gbit/s  1.61 Gbit/s\n",
          "hindrance: 0000:08:00.0: is bound to the kernel's nvme",
          "\n\nP2P is direct for 4 NICs with memory 0000:07:00.0\n"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    const std::string blocked = doctor_of("root-ports-no-iommu").out;
    EXPECT_NE(blocked.find("blocker: 0000:01:00.0, 0000:02:00.0: has no IOMMU group"), std::string::npos)
        << blocked;
    EXPECT_NE(blocked.find("  to do: "), std::string::npos);
}

TEST(Doctor, ForPrograms) {
    const json answer = json_of("root-ports-acs");
    EXPECT_EQ(answer["verdict"], "hindered");
    EXPECT_EQ(answer["best_memory"], "0000:03:00.0");
    ASSERT_EQ(answer["pairs"].size(), 2U);
    const json& pair = answer["pairs"][0];
    EXPECT_EQ(pair["nic"], "0000:01:00.0");
    EXPECT_EQ(pair["memory"], "0000:03:00.0");
    EXPECT_EQ(pair["bar"], 2);
    EXPECT_EQ(pair["way"], "root complex");
    EXPECT_EQ(pair["turn"], nullptr);
    EXPECT_EQ(pair["hops"], json({"0000:01:00.0", "0000:00:01.0", "0000:00:03.0", "0000:03:00.0"}));
    EXPECT_NEAR(pair["rate"]["write_bytes_per_second"].get<double>(), 196e6, 1e6);
    EXPECT_EQ(pair["rate"]["narrowest_link"]["link"]["lanes"], 1);
    EXPECT_EQ(pair["findings"][0]["code"], "not_in_switch");
    EXPECT_EQ(answer["nics"][0]["iommu_group"], 5);
    EXPECT_NE(answer["about"].get<std::string>().find("emulated machine"), std::string::npos);
}

TEST(Doctor, RedirectInTheSwitch) {
    SwitchMachine machine;
    machine.nic_port.acs = offload::AcsCapability::request_redirect;
    const auto tree = machine.tree();
    const DoctorReport report = examine(tree, whole_machine(tree));
    EXPECT_EQ(report.verdict, DoctorVerdict::hindered);
    std::ostringstream out;
    const std::string text = doctor_text(tree, report, Terminal{.out = out, .err = out});
    EXPECT_NE(text.find("not direct  root port   104 Gbit/s"), std::string::npos) << text;
    EXPECT_NE(text.find("pci=disable_acs_redir=0000:03:00.0"), std::string::npos) << text;
    EXPECT_NE(text.find("P2P is possible, but not direct, for 1 NIC with memory 0000:05:00.0"),
              std::string::npos);
}

TEST(Doctor, TheBestMemoryCounts) {
    SwitchMachine machine;
    auto tree = machine.tree();
    DoctorQuestion question = whole_machine(tree);
    question.memories.insert(question.memories.begin(), {offload::PciAddress::parse("77:00.0").value(), {}});
    const DoctorReport report = examine(tree, question);
    EXPECT_EQ(report.best_memory, machine.memory_at);
    EXPECT_EQ(report.verdict, DoctorVerdict::direct);
    question.whole_machine = false;
    EXPECT_EQ(examine(tree, question).verdict, DoctorVerdict::impossible);
}

TEST(Doctor, WithoutAMemoryTheNicsWaysToEachOther) {
    SwitchMachine machine;
    machine.memory = {};
    machine.memory_port.acs = offload::AcsCapability::request_redirect;
    const auto tree = machine.tree();
    const DoctorReport report = examine(tree, whole_machine(tree));
    ASSERT_EQ(report.neighbours.size(), 1U);
    EXPECT_EQ(report.neighbours[0].way, offload::P2pWay::root_port) << "in one of the directions";
    EXPECT_EQ(report.verdict, DoctorVerdict::impossible);
    std::ostringstream out;
    const std::string text = doctor_text(tree, report, Terminal{.out = out, .err = out});
    EXPECT_NE(text.find("0000:04:00.0  0000:05:00.0  root port\n"), std::string::npos) << text;
    EXPECT_NE(text.find("no device memory that payload could wait in"), std::string::npos);
    EXPECT_EQ(doctor_json(tree, report)["neighbours"][0]["way"], "root port");
}

TEST(Doctor, VirtualFunctionsAreLookedAtWhenNamed) {
    offload::PciSnapshot snapshot{
        "",
        {function("pci0000:00/0000:00:01.0", {.type = offload::PcieType::root_port}),
         function("pci0000:00/0000:00:01.0/0000:01:00.0", {}),
         function("pci0000:00/0000:00:01.0/0000:01:10.0", {})}};
    snapshot.functions[2].attributes["physfn"] = "0000:01:00.0";
    EXPECT_EQ(whole_machine(offload::PciTree(snapshot)).nics, std::vector{at("01:00.0")});
}

TEST(Doctor, NothingToLookAt) {
    const DoctorReport report = examine({}, whole_machine({}));
    EXPECT_EQ(report.verdict, DoctorVerdict::impossible);
    EXPECT_NE(report.summary.find("no Ethernet NIC"), std::string::npos);
}

TEST_F(DoctorFiles, Configuration) {
    const auto config = [&](const std::string& memory) {
        return write("config.json", R"({"dataplane": "vfio", "interfaces": {
            "p0": {"pci": "0000:03:00.0"}, "p1": {"pci": "0000:04:00.0"}, "p2": {"pci": "0000:05:00.0", "payload": "bounce"}},
            "vfio": {"payload_memory": )" +
                                        memory + "}}");
    };
    const std::string bar = R"({"kind": "pci_bar", "pci": "0000:07:00.0", "bar": 2})";
    const json good = json_of("switch-iommu", {config(bar)});
    EXPECT_EQ(good["verdict"], "direct") << good.dump(1);
    EXPECT_EQ(good["pairs"].size(), 2U);
    EXPECT_EQ(good["findings"][0]["code"], "bounce");
    const json wrong =
        json_of("switch-iommu", {config(R"({"kind": "pci_bar", "pci": "0000:07:00.0", "bar": 4})")});
    EXPECT_EQ(wrong["verdict"], "impossible");
    EXPECT_EQ(wrong["findings"][0]["code"], "no_bar");
    const json small = json_of(
        "switch-iommu", {config(R"({"kind": "pci_bar", "pci": "0000:07:00.0", "bar": 2, "size_mib": 128})")});
    EXPECT_EQ(small["findings"][0]["code"], "bar_small");
    const auto of_size = [&](const std::string& rest) {
        return json_of("switch-iommu", {write("sized.json", R"({"dataplane": "vfio", "interfaces": {
            "p0": {"pci": "0000:03:00.0"}, "p1": {"pci": "0000:04:00.0"}}, "vfio": {"slot_bytes": 9216,
            "payload_memory": {"kind": "pci_bar", "pci": "0000:07:00.0", "bar": 2)" +
                                                                rest + "}}}")});
    };
    const json few_slots = of_size(R"(, "size_mib": 1)");
    EXPECT_EQ(few_slots["verdict"], "impossible");
    EXPECT_EQ(few_slots["findings"][0]["code"], "memory_small");
    EXPECT_EQ(few_slots["findings"][0]["expected"], "at least 2 MiB for 2 ports, slots of 9216 bytes");
    const json short_rings = of_size(R"(, "size_mib": 4)");
    EXPECT_EQ(short_rings["verdict"], "hindered") << short_rings.dump(1);
    EXPECT_EQ(short_rings["findings"][0]["expected"], "5 MiB for 2 ports, slots of 9216 bytes");
    EXPECT_EQ(of_size(R"(, "size_mib": 5)")["verdict"], "direct");
    EXPECT_EQ(of_size("")["verdict"], "direct");
    const json ram = json_of("switch-iommu", {config(R"({"kind": "hugepages"})")});
    EXPECT_EQ(ram["verdict"], "impossible");
    EXPECT_EQ(ram["findings"][0]["code"], "hugepages");
    // Another memory may be tried.
    EXPECT_EQ(doctor_of("switch-iommu", {config(R"({"kind": "hugepages"})"), "--memory", "07:00.0"}).status,
              0);

    const std::string xdp = write("xdp.json", R"({"interfaces": {"lo": {}}})");
    EXPECT_EQ(doctor_of("switch-iommu", {xdp}).status, 2);
    EXPECT_NE(doctor_of("switch-iommu", {xdp}).err.find("\"xdp\""), std::string::npos);
    EXPECT_EQ(doctor_of("switch-iommu", {write("broken.json", "{")}).status, 2);
    EXPECT_EQ(doctor_of("switch-iommu", {folder_ + "/absent.json"}).status, 2);
}

TEST_F(DoctorFiles, AConfiguredPortNeedsADriver) {
    const std::string config = write("config.json", R"({"dataplane": "vfio",
        "interfaces": {"p0": {"pci": "0000:02:00.0"}},
        "vfio": {"payload_memory": {"kind": "pci_bar", "pci": "0000:02:01.0", "bar": 2}}})");
    const json answer = json_of("conventional-bridge", {config});
    EXPECT_EQ(answer["verdict"], "impossible");
    EXPECT_EQ(answer["findings"][0]["code"], "nic_unsupported");
    EXPECT_NE(answer["findings"][0]["what"].get<std::string>().find("8086:100e"), std::string::npos);
    EXPECT_EQ(doctor_of("conventional-bridge", {"--nic", "02:00.0"}).status, 1)
        << "the way is what was asked for";
}

TEST_F(DoctorFiles, AWayThatIsDirectIsNotEnough) {
    offload::test::SwitchMachine machine;
    offload::PciSnapshot snapshot = machine.snapshot();
    EXPECT_EQ(examine(offload::PciTree(snapshot), whole_machine(offload::PciTree(snapshot))).verdict,
              DoctorVerdict::direct);
    for (auto& function : snapshot.functions)
        if (function.attributes["class"] == "0x020000") function.attributes["device"] = "0x1572";
    const DoctorReport report =
        examine(offload::PciTree(snapshot), whole_machine(offload::PciTree(snapshot)));
    EXPECT_EQ(report.verdict, DoctorVerdict::hindered);
    EXPECT_NE(report.summary.find("does not drive"), std::string::npos) << report.summary;
}

TEST_F(DoctorFiles, RecordsAndExplainsARecording) {
    const std::string path = folder_ + "/tree.json";
    const Output live = run_cli({"doctor", "--record", path});
    EXPECT_LE(live.status, 2);
    EXPECT_EQ(live.err, "");
    const Output again = run_cli({"doctor", "--tree", path});
    EXPECT_EQ(again.status, live.status);
    EXPECT_TRUE(again.out.starts_with("Linux ")) << again.out;
    // The kernel is the machine's at hand: a recording says nothing of one.
    const auto of_kernel = live.out.find("\nfor the xdp dataplane:\n");
    EXPECT_EQ(again.out.substr(again.out.find("\n\n") + 2), live.out.substr(0, of_kernel));
    EXPECT_EQ(run_cli({"doctor", "--record", folder_ + "/no/such/folder"}).status, 2);
}

TEST_F(DoctorFiles, Mistakes) {
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"doctor", "--nic"},
                                               {"doctor", "--nic", "eth0"},
                                               {"doctor", "--memory", "0000:03:00"},
                                               {"doctor", "--tree", folder_ + "/absent"},
                                               {"doctor", "--tree", write("no-recording", "[]")},
                                               {"doctor", "--tree", folder_},
                                               {"doctor", "one.json", "two.json"}}) {
        const Output output = run_cli(arguments);
        EXPECT_EQ(output.status, 2) << arguments.back();
        EXPECT_FALSE(output.err.empty());
        EXPECT_EQ(output.out, "");
    }
    const Output refused = run_cli({"doctor", "--nic", "eth0", "--json"});
    EXPECT_EQ(json::parse(refused.out)["errors"][0]["where"], "--nic");
    EXPECT_NE(run_cli({"doctor", "--help"}).out.find("Exit status: 0 P2P is direct"), std::string::npos);
}

TEST(Doctor, ControlCharactersOfARecordingDoNotReachTheTerminal) {
    SwitchMachine machine;
    machine.nic.driver = "e1000e\x1b[2J";
    machine.nic.net = "eth\x1b]0;x";
    const auto tree = machine.tree();
    std::ostringstream out;
    const std::string text =
        doctor_text(tree, examine(tree, whole_machine(tree)), Terminal{.out = out, .err = out});
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
}

}  // namespace
}  // namespace pktpit::router::cli::test
