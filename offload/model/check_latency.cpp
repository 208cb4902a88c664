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

constexpr const char* chips = "the chips' latencies";

/// What follows from latencies that were put in: their sum, and nothing else.
CheckLine sum_of_chips(std::string what, std::string expected, double got, bool good, double tolerance) {
    CheckLine line{.row = 7,
                   .what = std::move(what),
                   .expected = std::move(expected),
                   .got = fixed(got, 0) + " ns",
                   .origin = Origin::put_in,
                   .verdict = met(good),
                   .source = source};
    line.tolerance = Tolerance{tolerance, "ns"};
    line.follows_from = chips;
    line.value = got;
    return line;
}

void check_redirection(CheckRun& run, const Profile& profile) {
    const auto calibrated = [&](std::string what, double wanted, double tolerance, double got,
                                const char* constants) {
        CheckLine line{.row = 7,
                       .what = std::move(what),
                       .expected = fixed(wanted, 1) + " GB/s",
                       .got = fixed(got, 2) + " GB/s",
                       .origin = Origin::calibrated,
                       .verdict = met(std::abs(got - wanted) <= tolerance),
                       .source = source};
        line.tolerance = Tolerance{tolerance, "GB/s"};
        line.follows_from = constants;
        line.value = got;
        run.line(std::move(line));
    };
    calibrated("K40c reads its peer in the chassis", 10.2, 0.2, read_rate(profile, false) / 1e9,
               "device.read_latency_ns");
    calibrated("with the IOMMU, through the root complex in pieces of 64 B", 1.5, 0.15,
               read_rate(profile, true) / 1e9, "root.latency_ns");
    for (const char* name :
         {"root.peer_reads", "root.peer_split_bytes", "root.latency_ns", "device.read_latency_ns"}) {
        std::string got;
        for (const double factor : {0.5, 2.0}) {
            Profile changed = profile;
            (void)changed.set(name, profile.value(name) * factor, "sensitivity");
            got +=
                (got.empty() ? "halved " : ", doubled ") + fixed(read_rate(changed, true) / 1e9, 2) + " GB/s";
        }
        run.inform(7, std::string("  sensitivity of that to ") + name, got,
                   profile.constants().find(name)->second.source);
    }
}

}  // namespace

void check_chip_latencies(CheckRun& run) {
    const Profile profile = run.profile("smartio");
    const double same = one_way_ns({chip("chassis", pex8796, {endpoint("gpu0"), endpoint("gpu1")})}, profile);
    const auto lender = [](const std::string& gpu) {
        return chip(gpu + "-ntb", pex8733, {chip(gpu + "-chassis", pex8796, {endpoint(gpu)})});
    };
    const double different = one_way_ns({chip("cluster", pm8536, {lender("gpu0"), lender("gpu1")})}, profile);
    const double added = different - same;
    run.line(sum_of_chips("GPUs of different lenders, 4 more hops: added one way", "at most 584 ns", added,
                          added > 0 && added <= 584.5, 0.5));
    run.line(sum_of_chips("the same, round trip of the ping-pong", "at most 1,168 ns", 2 * added,
                          added > 0 && 2 * added <= 1169, 1));

    const std::array fetches = {fetch_ns({pex8796}, profile), fetch_ns({pex8733, pex8733, pex8796}, profile),
                                fetch_ns({pex8733, pm8536, pex8733, pex8796}, profile)};
    CheckLine order{
        .row = 7,
        .what = "NVMe fetches a command over 1, 3, 4 chips: order",
        .expected = "ascending",
        .got = fixed(fetches[0], 0) + ", " + fixed(fetches[1], 0) + ", " + fixed(fetches[2], 0) + " ns",
        .origin = Origin::put_in,
        .verdict = met(fetches[0] < fetches[1] && fetches[1] < fetches[2]),
        .source = source};
    order.follows_from = chips;
    run.line(std::move(order));
    for (const auto& [what, wanted, got] :
         {std::tuple("3", 528.0, fetches[1] - fetches[0]), {"4", 868.0, fetches[2] - fetches[0]}})
        run.line(sum_of_chips(std::string("the same over ") + what + " chips: more than over 1",
                              fixed(wanted, 0) + " ns (chips alone)", got, std::abs(got - wanted) <= 10, 10));
    check_redirection(run, profile);
}

}  // namespace pktpit::model
