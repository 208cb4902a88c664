// SPDX-License-Identifier: BSD-3-Clause
// Row 6: Pktpit and the CPU-driven router with the Internet's routes.
#include <cmath>

#include "offload/model/check_programs.h"

namespace pktpit::model {
namespace {

constexpr double rate_gain = 0.5908;
constexpr double latency_gain = 0.0276;
constexpr Tolerance rate_tolerance{3, "points"};
constexpr Tolerance latency_tolerance{2, "points"};

class Row6 {
  public:
    Row6(CheckRun& check, std::shared_ptr<const RouteTable> table)
        : check_(check), table_(std::move(table)), where_(spread_over(table_)) {}

    /// How much more than l3fwd; and how much less latency.
    [[nodiscard]] double rate(const Topology& topology, const Profile& profile) const {
        return run(topology, profile, pktpit_contender, 64).packets_per_second /
                   run(topology, profile, l3fwd_contender, 64).packets_per_second -
               1;
    }
    [[nodiscard]] double latency(const Topology& topology, const Profile& profile) const {
        return 1 - latency_of(topology, profile, pktpit_contender) /
                       latency_of(topology, profile, l3fwd_contender);
    }

    void check_rate(const Topology& topology, const Profile& profile) {
        const ExperimentResult cpu = run(topology, profile, l3fwd_contender, 64);
        const ExperimentResult result = run(topology, profile, pktpit_contender, 64);
        const double more = result.packets_per_second / cpu.packets_per_second - 1;
        std::vector<double> gains;
        for (const bool short_headers : {false, true})
            for (const DescriptorHabit& habit : descriptor_habits) {
                Topology other = topology;
                other.memory_below_4g = short_headers;
                gains.push_back(rate(other, with_habit(profile, habit)) * 100);
            }
        const std::pair band = band_of(gains);
        check_.line({.row = 6,
                     .what = "Pktpit at 64 B with " + std::to_string(table_->prefixes().size()) +
                             " routes, more than the CPU-driven router",
                     .expected = "59.08 %",
                     .got = fixed(more * 100, 1) + " % (" + fixed(mpps(result), 2) + " of " +
                            fixed(mpps(cpu), 2) + " Mpps; limit: " + what_limits(result) + "; " +
                            busiest(result) + "); over headers of 3 or 4 DW and " + habits_source + ": " +
                            fixed(band.first, 1) + " to " + fixed(band.second, 1) + " %",
                     .origin = Origin::emergent,
                     .verdict = within(more * 100, rate_gain * 100, rate_tolerance.value, band),
                     .source = "Pktpit, abstract; its baseline's rate is not public",
                     .tolerance = rate_tolerance,
                     .follows_from = "",
                     .value = more * 100,
                     .band = band});
    }

    void check_latency(const Topology& topology, const Profile& profile) {
        const double cpu = latency_of(topology, profile, l3fwd_contender);
        const double own = latency_of(topology, profile, pktpit_contender);
        const double less = 1 - own / cpu;
        const auto moved =
            sensitivity(profile, {"cpu.packet_ns", "cpu.slice_packet_ns", "nic.slice_ns", "root.latency_ns"},
                        [&](const Profile& changed) { return latency(topology, changed); });
        const std::string turning = turn_sign(moved, less);
        CheckLine line{.row = 6,
                       .what = "median latency at 64 B and 1 Gbps, Pktpit less than l3fwd",
                       .expected = "2.76 %",
                       .got = fixed(less * 100, 1) + " % (" + fixed(own, 0) + " of " + fixed(cpu, 0) + " ns)",
                       .origin = Origin::emergent,
                       .verdict = met(std::abs(less - latency_gain) * 100 <= latency_tolerance.value),
                       .source = "Pktpit, abstract; the load it was measured at is not public"};
        line.tolerance = latency_tolerance;
        line.value = less * 100;
        if (!turning.empty()) {
            line.got += "; halved or doubled alone, each of these turns its sign: " + turning;
            if (line.verdict == Verdict::holds) line.verdict = Verdict::depends;
        }
        check_.line(std::move(line));
        check_.inform(
            6, "  that, if the baseline's NIC wrote descriptors back in lines of 4, as row 5's band has it",
            fixed(latency(topology, with_habit(profile, {4, 1})) * 100, 1) +
                " %: the two latencies that were measured do not have one such baseline",
            "DPDK commit a08f9cb698c3");
        for (const Sensitivity& one : moved)
            check_.inform(
                6, "  sensitivity of that to " + one.constant,
                "halved " + fixed(one.halved * 100, 1) + " %, doubled " + fixed(one.doubled * 100, 1) + " %",
                profile.constants().find(one.constant)->second.source);
    }

    void show_what_moves_rate(const Topology& topology, const Profile& profile) {
        for (const Sensitivity& one : sensitivity(
                 profile,
                 {"cpu.packet_ns", "cpu.slice_packet_ns", "nic.slice_ns", "root.latency_ns", "dma.tags"},
                 [&](const Profile& changed) { return rate(topology, changed); }))
            check_.inform(
                6, "  sensitivity of that rate to " + one.constant,
                "halved " + fixed(one.halved * 100, 1) + " %, doubled " + fixed(one.doubled * 100, 1) + " %",
                profile.constants().find(one.constant)->second.source);
        Profile other = profile;
        (void)other.set("completion.at_boundary", profile.count("completion.at_boundary") != 0 ? 0 : 1,
                        "the other rule");
        check_.inform(6, "  with the other completion rule, nothing else changed",
                      "rate " + fixed(rate(topology, other) * 100, 1) + " %",
                      profile.constants().find("completion.at_boundary")->second.source);
        Topology short_headers = topology;
        short_headers.memory_below_4g = true;
        check_.inform(6, "  with addresses below 4 GiB (3-DW headers), nothing else changed",
                      "rate " + fixed(rate(short_headers, profile) * 100, 1) + " %",
                      "assumption about headers");
        const auto value = value_that_meets(profile, "cpu.packet_ns", rate_gain,
                                            [&](const Profile& changed) { return rate(topology, changed); });
        check_.inform(6, "  59.08 % would need, of l3fwd's cpu.packet_ns alone",
                      value ? fixed(*value, 1) + " ns, not adopted: row 5 puts it at " +
                                  fixed(profile.value("cpu.packet_ns"), 1)
                            : "no value does it",
                      "its baseline's rate is not public");
    }

  private:
    [[nodiscard]] ExperimentResult run(const Topology& topology, const Profile& profile,
                                       const Contender& contender, uint32_t size) const {
        return run_checked(topology, profile, routed(table_, where_, contender, size, 1));
    }
    [[nodiscard]] double latency_of(const Topology& topology, const Profile& profile,
                                    const Contender& contender) const {
        return background_latency(topology, profile, routed(table_, where_, contender, 64, 1.0 / 40));
    }

    CheckRun& check_;
    std::shared_ptr<const RouteTable> table_;
    std::shared_ptr<const Destinations> where_;
};

}  // namespace

void check_pktpit(CheckRun& run, const std::shared_ptr<const RouteTable>& part) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = run.profile("kakenhi");
    run.progress("row 6: Pktpit against l3fwd");
    Row6 row(run, part);
    run.inform(6, "routing table",
               part->origin() + "; a lookup's CPU time is the profile's, whatever its size",
               "routes of the research are not public");
    row.check_rate(topology, profile);
    row.show_what_moves_rate(topology, profile);
    row.check_latency(topology, profile);
}

}  // namespace pktpit::model
