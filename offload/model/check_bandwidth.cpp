// SPDX-License-Identifier: BSD-3-Clause
// Row 2: effective bandwidth of Gen 3 x8 over the size of transfers, P2P against bounce.
#include <cmath>

#include "offload/model/check.h"
#include "offload/model/dma_pattern.h"

namespace pktpit::model {
namespace {

using offload::Completions;
constexpr const char* figure2 = "KAKENHI report, figure 2: up to 12 Gbps";
constexpr double gbps_tolerance = 0.15;
constexpr double formula_tolerance = 2;  // per cent

struct Assumption {
    const char* name;
    bool below_4g;
    bool ecrc;
    Completions completions;
    DataLink data_link;
    double expected;  ///< largest difference, Gbps: worked out by hand from the formula
};

constexpr std::array assumptions = {
    Assumption{"4-DW headers, completions of MPS", false, false, Completions::as_large_as_payload,
               DataLink::share, 9.9},
    Assumption{"4-DW headers, completions of 64 B", false, false, Completions::at_boundary, DataLink::share,
               10.5},
    Assumption{"3-DW headers, completions of 64 B", true, false, Completions::at_boundary, DataLink::share,
               11.4},
    Assumption{"3-DW headers, completions of 64 B, no DLLPs", true, false, Completions::at_boundary,
               DataLink::none, 12.4},
    Assumption{"3-DW headers, completions of 64 B, ECRC", true, true, Completions::at_boundary,
               DataLink::share, 12.7},
};

Topology topology_of(const Assumption& assumption) {
    Topology topology = own_topology("two-nics");
    topology.memory_below_4g = assumption.below_4g;
    topology.ecrc = assumption.ecrc;
    topology.completions = assumption.completions;
    topology.data_link = assumption.data_link;
    return topology;
}

/// Payload bits a second of a device that writes to a peer, or writes and reads main memory.
double run(const Topology& topology, const Profile& profile, uint32_t size, bool bounce) {
    BuildOptions options;
    Machine machine = build_machine(topology, profile, options);
    Endpoint& device = *machine.nic_endpoints[0];
    const uint64_t memory = machine.fabric->root().memory().settings().base;
    std::vector<DmaStep> steps;
    if (bounce)
        steps = {{false, memory, 2048, 1024, size}, {true, memory + (4 << 20), 2048, 1024, size}};
    else
        steps = {{false, machine.nic_endpoints[1]->settings().bar, 2048, 512, size}};
    // What is in flight covers the round trip several times and fills within the warm-up. With 256 transfers
    // of any size reads ran ahead of writes all through the measurement, whose requests then counted against
    // transfers that had not ended: 3.7 % at 1,152 bytes.
    const auto window = std::clamp(32768 / size, 16U, 256U);
    DmaPattern pattern(*machine.fabric, device, steps, window);
    return measure(*machine.fabric, pattern, 10 * microsecond, 60 * microsecond) * size * 8;
}

double formula(const Topology& topology, uint32_t size, bool bounce) {
    offload::PcieAssumptions pcie;
    pcie.address_64bit = !topology.memory_below_4g;
    pcie.ecrc = topology.ecrc;
    pcie.completions = *topology.completions;
    pcie.data_link_overhead = topology.data_link == DataLink::share;
    const offload::PcieLink link{8, 8};
    return 8 * (bounce ? offload::write_and_read_rate(link, topology.mps, topology.mrrs, size, pcie)
                       : offload::write_rate(link, topology.mps, size, pcie));
}

/// The curve is the protocol's: neither tags, credits nor memory limit it, and no latency does.
Profile without_limits(Profile profile) {
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, double>>{{"dma.tags", 1024},
                                                               {"dma.write_issue_ns", 0},
                                                               {"dma.read_issue_ns", 0},
                                                               {"link.posted_headers", 4096},
                                                               {"link.posted_data", 65535},
                                                               {"link.non_posted_headers", 4096},
                                                               {"link.completion_headers", 4096},
                                                               {"link.completion_data", 65535},
                                                               {"memory.write_gbytes", 1000},
                                                               {"memory.read_gbytes", 1000}})
        (void)profile.set(name, value, "row 2: the protocol's bound");
    return profile;
}

struct Curves {
    CheckPlotSeries p2p, bounce;
    double largest = 0, largest_formula = 0;  ///< P2P less bounce, bits a second
    double worst = 0;                         ///< fabric against formula, a share
    uint32_t at = 0, worst_at = 0;
};

Curves measure_curves(const Assumption& assumption, const Profile& profile) {
    const Topology topology = topology_of(assumption);
    Curves curves{{"row2-bandwidth", std::string("P2P, ") + assumption.name, {}},
                  {"row2-bandwidth", std::string("bounce, ") + assumption.name, {}}};
    for (uint32_t size = 16; size <= 1536; size += size < 320 ? 4 : 64) {
        const double direct = run(topology, profile, size, false);
        const double through = run(topology, profile, size, true);
        const double direct_formula = formula(topology, size, false);
        const double through_formula = formula(topology, size, true);
        curves.p2p.points.emplace_back(size, direct / 1e9);
        curves.bounce.points.emplace_back(size, through / 1e9);
        const double apart =
            std::max(std::abs(direct / direct_formula - 1), std::abs(through / through_formula - 1));
        if (apart > curves.worst) {
            curves.worst = apart;
            curves.worst_at = size;
        }
        curves.largest_formula = std::max(curves.largest_formula, direct_formula - through_formula);
        if (direct - through > curves.largest) {
            curves.largest = direct - through;
            curves.at = size;
        }
    }
    return curves;
}

void show(CheckRun& check, const Assumption& assumption, const Curves& curves, bool own_rule) {
    const double largest = curves.largest / 1e9;
    CheckLine line{.row = 2,
                   .what = std::string("P2P less bounce, at most: ") + assumption.name,
                   .expected = fixed(assumption.expected, 1) + " Gbps by the formula",
                   .got = fixed(largest, 1) + " Gbps at " + std::to_string(curves.at) +
                          " B (formula: " + fixed(curves.largest_formula / 1e9, 1) + ")",
                   .origin = Origin::exact,
                   .verdict = met(std::abs(largest - assumption.expected) <= gbps_tolerance),
                   .source = figure2};
    line.tolerance = Tolerance{gbps_tolerance, "Gbps"};
    line.follows_from =
        "pcie-bench's formula, which the fabric meets; the figure's own assumptions are not public";
    line.value = largest;
    if (!own_rule) {
        line.what = "  with the other completion rule: " + line.what;
        line.verdict = Verdict::information;
    }
    check.line(std::move(line));
    check.line({.row = 2,
                .what = std::string("fabric against formula: ") + assumption.name,
                .expected = "the same",
                .got = "at most " + fixed(curves.worst * 100, 2) + " % apart, at " +
                       std::to_string(curves.worst_at) + " B",
                .origin = Origin::exact,
                .verdict = met(curves.worst * 100 <= formula_tolerance),
                .source = "pcie-bench (SIGCOMM 2018), section 3",
                .tolerance = Tolerance{formula_tolerance, "%"},
                .follows_from = "",
                .value = curves.worst * 100});
}

/// The two ways to charge the data link layer are not two figures of one thing.
void show_data_link(CheckRun& check, const Profile& profile) {
    std::string got;
    for (const auto& [name, data_link] :
         {std::pair("share", DataLink::share), {"dllps", DataLink::dllps}, {"none", DataLink::none}}) {
        Topology topology = own_topology("two-nics");
        topology.data_link = data_link;
        got += std::string(got.empty() ? "" : ", ") + name + " " +
               fixed(run(topology, profile, 256, false) / 1e9, 1);
    }
    check.inform(2, "  256-byte writes one way, by how the data link layer is charged (docs/model.md), Gbps",
                 got, "pcie-bench; PCIe Base 5.0, section 3.6.3.1", Origin::exact);
}

}  // namespace

void check_effective_bandwidth(CheckRun& check) {
    const Profile profile = without_limits(check.profile("kakenhi"));
    check.inform(
        2, "assumptions",
        "the report names none: these five were worked out from its 12 Gbps; sizes in steps of 4 B up "
        "to 320 B were chosen after seeing where the largest difference lies",
        "derived from the KAKENHI report, figure 2", Origin::exact);
    check.report.plots["row2-bandwidth"] = {"Effective bandwidth of Gen 3 x8 (simulated)", "packet, bytes",
                                            "Gbit/s"};
    const Completions own = completion_cut(own_topology("two-nics"), profile).cut;
    for (const Assumption& assumption : assumptions) {
        check.progress(std::string("row 2: ") + assumption.name);
        Curves curves = measure_curves(assumption, profile);
        show(check, assumption, curves, assumption.completions == own);
        check.report.series.push_back(std::move(curves.p2p));
        check.report.series.push_back(std::move(curves.bounce));
    }
    show_data_link(check, profile);
}

}  // namespace pktpit::model
