// SPDX-License-Identifier: BSD-3-Clause
// Row 7: SmartIO's switch chips, and what redirection through the root complex costs.
#include <cmath>

#include "offload/model/check.h"
#include "offload/model/dma_pattern.h"

namespace pktpit::model {
namespace {

constexpr double pex8733 = 132, pex8796 = 150, pm8536 = 170;
constexpr const char* source = "SmartIO (TOCS 2021), section 7";

TopologyDevice endpoint(const std::string& name) {
    TopologyDevice device;
    device.name = name;
    device.kind = TopologyDevice::Kind::memory;
    device.link = {8, 16};
    return device;
}

TopologyDevice chip(const std::string& name, double latency_ns, std::vector<TopologyDevice> below) {
    TopologyDevice device;
    device.name = name;
    device.kind = TopologyDevice::Kind::switch_chip;
    device.link = {8, 16};
    device.latency_ns = latency_ns;
    device.below = std::move(below);
    return device;
}

/// One device below chips of these latencies, the nearest to the root first.
TopologyDevice chain(const std::string& name, std::vector<double> chips) {
    TopologyDevice device = endpoint(name);
    for (size_t i = chips.size(); i-- > 0;)
        device = chip(name + "-chip" + std::to_string(i), chips[i], {device});
    return device;
}

struct Landing : Device {
    explicit Landing(Fabric& of) : fabric(of) {}
    void memory_written(uint64_t, uint32_t, uint64_t) override { at = fabric.events().now(); }
    void dma_done(uint64_t, DmaResult) override { at = fabric.events().now(); }
    Fabric& fabric;
    Time at = 0;
};

/// One way, 4 bytes, from the first of a topology's devices to the second.
double one_way_ns(const std::vector<TopologyDevice>& devices, const Profile& profile) {
    Topology topology = own_topology("two-nics");
    topology.root_ports = devices;
    Machine machine = build_machine(topology, profile);
    Landing landing(*machine.fabric);
    machine.memories[1]->attach(landing);
    const std::array<std::byte, 4> message{};
    machine.memories[0]->dma().write(machine.memories[1]->settings().bar, message.data(), 4, {});
    machine.fabric->events().run_until(10 * microsecond);
    return to_ns(landing.at);
}

double fetch_ns(std::vector<double> chips, const Profile& profile) {
    Topology topology = own_topology("two-nics");
    topology.root_ports = {chain("nvme", std::move(chips))};
    Machine machine = build_machine(topology, profile);
    Landing done(*machine.fabric);
    Endpoint& device = *machine.memories[0];
    device.attach(done);
    std::array<std::byte, 64> buffer{};
    device.dma().read(machine.fabric->root().memory().settings().base, buffer.data(), 64,
                      {1, 0, false, TlpType::memory_write});
    machine.fabric->events().run_until(10 * microsecond);
    return to_ns(done.at);
}

/// Bytes a second that one device reads from its peer, in requests of 256.
double read_rate(const Profile& profile, bool redirected) {
    Topology topology = own_topology("two-nics");
    topology.mrrs = 256;
    TopologyDevice chassis = chip("chassis", pex8796, {endpoint("gpu0"), endpoint("gpu1")});
    if (redirected) chassis.acs_redirect = TopologyDevice::Redirect::all;
    topology.iommu = redirected;
    topology.root_ports = {chip("adapter", pex8733, {chassis})};
    Profile large_pages = profile;
    (void)large_pages.set("iommu.page_bytes", 2 << 20, "row 7: hits alone");
    Machine machine = build_machine(topology, large_pages);
    DmaPattern pattern(*machine.fabric, *machine.memories[0],
                       {{true, machine.memories[1]->settings().bar, 4096, 1024, 4096}}, 16);
    return measure(*machine.fabric, pattern, 50 * microsecond, 500 * microsecond) * 4096;
}

void check_redirection(CheckReport& report, const Profile& profile) {
    const double direct = read_rate(profile, false) / 1e9;
    const double redirected = read_rate(profile, true) / 1e9;
    report.lines.push_back({7, "K40c reads its peer in the chassis", "10.2 GB/s", fixed(direct, 2) + " GB/s",
                            Origin::calibrated,
                            std::abs(direct - 10.2) < 0.2 ? Verdict::holds : Verdict::unmet, source});
    report.lines.push_back({7, "with the IOMMU, through the root complex in pieces of 64 B", "1.5 GB/s",
                            fixed(redirected, 2) + " GB/s", Origin::calibrated,
                            std::abs(redirected - 1.5) < 0.15 ? Verdict::holds : Verdict::unmet, source});
    for (const char* name :
         {"root.peer_reads", "root.peer_split_bytes", "root.latency_ns", "device.read_latency_ns"}) {
        std::string got;
        for (const double factor : {0.5, 2.0}) {
            Profile changed = profile;
            (void)changed.set(name, profile.value(name) * factor, "sensitivity");
            got +=
                (got.empty() ? "halved " : ", doubled ") + fixed(read_rate(changed, true) / 1e9, 2) + " GB/s";
        }
        report.lines.push_back({7, std::string("  sensitivity of that to ") + name, "", got, Origin::emergent,
                                Verdict::information, profile.constants().find(name)->second.source});
    }
}

}  // namespace

void check_chip_latencies(CheckReport& report, const Progress&) {
    const Profile profile = own_profile("smartio");
    const double same = one_way_ns({chip("chassis", pex8796, {endpoint("gpu0"), endpoint("gpu1")})}, profile);
    const auto lender = [](const std::string& gpu) {
        return chip(gpu + "-ntb", pex8733, {chip(gpu + "-chassis", pex8796, {endpoint(gpu)})});
    };
    const double different = one_way_ns({chip("cluster", pm8536, {lender("gpu0"), lender("gpu1")})}, profile);
    const double added = different - same;
    report.lines.push_back({7, "GPUs of different lenders, 4 more hops: added one way", "at most 584 ns",
                            fixed(added, 0) + " ns", Origin::emergent,
                            added > 0 && added <= 584.5 ? Verdict::holds : Verdict::unmet, source});
    report.lines.push_back({7, "the same, round trip of the ping-pong", "at most 1,168 ns",
                            fixed(2 * added, 0) + " ns", Origin::emergent,
                            2 * added <= 1169 ? Verdict::holds : Verdict::unmet, source});

    const std::array fetches = {fetch_ns({pex8796}, profile), fetch_ns({pex8733, pex8733, pex8796}, profile),
                                fetch_ns({pex8733, pm8536, pex8733, pex8796}, profile)};
    report.lines.push_back(
        {7, "NVMe fetches a command over 1, 3, 4 chips: order", "ascending",
         fixed(fetches[0], 0) + ", " + fixed(fetches[1], 0) + ", " + fixed(fetches[2], 0) + " ns",
         Origin::emergent,
         fetches[0] < fetches[1] && fetches[1] < fetches[2] ? Verdict::holds : Verdict::unmet, source});
    const double over_three = fetches[1] - fetches[0];
    const double over_four = fetches[2] - fetches[0];
    report.lines.push_back(
        {7, "the same: more than over 1 chip", "528 and 868 ns (chips alone)",
         fixed(over_three, 0) + " and " + fixed(over_four, 0) + " ns", Origin::emergent,
         std::abs(over_three - 528) < 10 && std::abs(over_four - 868) < 10 ? Verdict::holds : Verdict::unmet,
         source});
    check_redirection(report, profile);
}

}  // namespace pktpit::model
