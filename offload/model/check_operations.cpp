// SPDX-License-Identifier: BSD-3-Clause
// Row 8: peer operations (PeerDirect Async).
#include "offload/model/check.h"

namespace pktpit::model {
namespace {

constexpr const char* slides = "PeerDirect Async slides: batch size 20, 128 B; charts without values";
constexpr unsigned batch = 20;

ExperimentResult run(const Topology& topology, const Profile& profile, const ExperimentSettings& settings) {
    auto result = run_experiment(topology, profile, settings);
    if (!result) throw std::runtime_error(result.error().to_string());
    return std::move(*result);
}

/// 20 packets of 128 B one behind the other, after the programs have been written.
ExperimentSettings one_batch() {
    ExperimentSettings settings;
    settings.operations = OperationsSettings{};
    settings.operations->batch = batch;
    settings.traffic.size = 128;
    settings.traffic.flows = {{0, 0, 1, 0, 1}};
    settings.traffic.most = batch;
    settings.traffic.start = settings.warm_up;
    settings.duration = 100 * microsecond;
    return settings;
}

uint64_t root_crossings(const ExperimentResult& result) {
    return result.link("root", "switch")->counters.all_tlps() +
           result.link("switch", "root")->counters.all_tlps();
}

void check_batch(CheckRun& check, const Topology& topology, const Profile& profile) {
    auto settings = one_batch();
    const ExperimentResult once = run(topology, profile, settings);
    settings.operations->compile.doorbell_for_each = true;
    const ExperimentResult each = run(topology, profile, settings);
    const auto line = [&](const std::string& what, const std::string& expected, uint64_t got, bool holds) {
        check.line({.row = 8,
                    .what = what,
                    .expected = expected,
                    .got = std::to_string(got),
                    .origin = Origin::exact,
                    .verdict = met(holds),
                    .source = slides,
                    .follows_from = "the programs that the compiler makes",
                    .value = static_cast<double>(got)});
    };
    line("a batch of 20 x 128 B: packets delivered", "20", once.traffic.delivered,
         once.traffic.delivered == batch && once.traffic.damaged == 0);
    line("the same: doorbells, one for each commit", "1", once.operations.engine.doorbells,
         once.operations.engine.doorbells == 1);
    line("the same with a doorbell for each packet", "20", each.operations.engine.doorbells,
         each.operations.engine.doorbells == batch && each.traffic.delivered == batch);
    line("the same: TLPs on the root port, both ways", "0", root_crossings(once), root_crossings(once) == 0);
}

/// The egress NIC's link is slow, so that the switch's buffer is full; packet after packet.
ExperimentResult congested(const Topology& topology, const Profile& profile, bool fence, bool relaxed) {
    Topology slow = topology;
    slow.root_ports[0].below[1].link = {2.5, 4};
    Profile few = profile;
    (void)few.set("link.posted_data", 256, "row 8: a full buffer");
    auto settings = one_batch();
    settings.traffic.most = ~uint64_t{0};
    settings.traffic.stop = settings.warm_up + 200 * microsecond;
    settings.operations->compile.fence = fence;
    settings.operations->compile.relaxed = relaxed;
    settings.drain = true;
    return run(slow, few, settings);
}

void check_fence(CheckRun& check, const Topology& topology, const Profile& profile) {
    for (const auto& [relaxed, fence] : {std::pair(true, false), {true, true}, {false, false}}) {
        const ExperimentResult result = congested(topology, profile, fence, relaxed);
        const uint64_t stale = result.nics[1].stale_descriptors;
        const TrafficCounters& traffic = result.after_draining;
        const uint64_t wrong = traffic.damaged + traffic.doubled;
        const bool seen = relaxed && !fence;
        check.line({.row = 8,
                    .what = std::string("slow egress link, ") +
                            (relaxed ? "relaxed ordering" : "no relaxed ordering") +
                            (fence ? ", fence" : ", no fence"),
                    .expected = seen ? "stale descriptors are seen, and caught" : "no stale descriptor",
                    .got = std::to_string(stale) + " stale of " + std::to_string(result.nics[1].sent) + "; " +
                           std::to_string(wrong) + " frames damaged or doubled",
                    // How many overtake comes out of a link and a buffer that were made scarce for it; that
                    // none does is the rule itself.
                    .origin = seen ? Origin::emergent : Origin::exact,
                    .verdict = met(seen ? stale > 0 && wrong > 0 : stale == 0 && wrong == 0),
                    .source = "PCIe Base 5.0, table 2-40",
                    .follows_from = seen ? "" : "ordering rules",
                    .value = static_cast<double>(stale)});
    }
}

void show_modes(CheckRun& check, const Topology& topology, const Profile& profile) {
    for (const OperationsMode mode : {OperationsMode::economy, OperationsMode::performance}) {
        auto settings = one_batch();
        settings.operations->mode = mode;
        settings.traffic.most = ~uint64_t{0};
        settings.traffic.poisson = true;
        settings.traffic.flows[0].load = 1.0 / 40;
        settings.duration = 1000 * microsecond;
        const ExperimentResult result = run(topology, profile, settings);
        check.inform(8, std::string("  ") + std::string(to_string(mode)) + " mode at 128 B and 1 Gbps",
                     fixed(static_cast<double>(result.operations.packets) /
                               static_cast<double>(std::max<uint64_t>(result.operations.engine.doorbells, 1)),
                           1) +
                         " packets a doorbell, median latency " + fixed(result.latency_median_ns, 0) +
                         " ns, control loop " + fixed(result.cpu_utilisation * 100, 0) + " % of a core",
                     slides);
    }
}

}  // namespace

void check_peer_operations(CheckRun& check) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = check.profile("kakenhi");
    check_batch(check, topology, profile);
    check_fence(check, topology, profile);
    show_modes(check, topology, profile);
}

}  // namespace pktpit::model
