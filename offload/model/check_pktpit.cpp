// SPDX-License-Identifier: BSD-3-Clause
// Row 6: Pktpit and the CPU-driven router with the Internet's routes.
#include <cmath>

#include "offload/model/check_programs.h"

namespace pktpit::model {
namespace {

constexpr Contender pktpit{"pktpit write", Program::pktpit, Transfer::write};
constexpr size_t destinations = 65536;
constexpr double rate_gain = 0.5908;
constexpr double latency_gain = 0.0276;

/// The same experiment with real lookups.
ExperimentSettings routed(const std::shared_ptr<const RouteTable>& table,
                          const std::shared_ptr<const Destinations>& where, const Contender& contender,
                          uint32_t size, double load) {
    ExperimentSettings settings = settings_for(contender, size, 1, load);
    settings.table = table;
    settings.destinations = where;
    return settings;
}

class Row6 {
  public:
    Row6(CheckReport& report, std::shared_ptr<const RouteTable> table)
        : report_(report),
          table_(std::move(table)),
          where_(std::make_shared<const Destinations>(*table_, destinations, 0, 1)) {}

    /// How much more than l3fwd; and how much less latency.
    [[nodiscard]] double rate(const Topology& topology, const Profile& profile) const {
        return run(topology, profile, pktpit, 64).packets_per_second /
                   run(topology, profile, l3fwd_contender, 64).packets_per_second -
               1;
    }
    [[nodiscard]] double latency(const Topology& topology, const Profile& profile) const {
        return 1 - latency_of(topology, profile, pktpit) / latency_of(topology, profile, l3fwd_contender);
    }

    void check(const Topology& topology, const Profile& profile) {
        const ExperimentResult cpu = run(topology, profile, l3fwd_contender, 64);
        const ExperimentResult result = run(topology, profile, pktpit, 64);
        const double more = result.packets_per_second / cpu.packets_per_second - 1;
        report_.lines.push_back(
            {6,
             "Pktpit at 64 B with " + std::to_string(table_->prefixes().size()) +
                 " routes, more than the CPU-driven router",
             "59.08 %",
             fixed(more * 100, 1) + " % (" + fixed(mpps(result), 2) + " of " + fixed(mpps(cpu), 2) +
                 " Mpps; limit: " + what_limits(result) + "; " + busiest(result) + ")",
             Origin::emergent, std::abs(more - rate_gain) < 0.03 ? Verdict::holds : Verdict::unmet,
             "Pktpit, abstract; its baseline's rate is not public"});
        const double cpu_latency = latency_of(topology, profile, l3fwd_contender);
        const double pktpit_latency = latency_of(topology, profile, pktpit);
        const double less = 1 - pktpit_latency / cpu_latency;
        report_.lines.push_back({6, "median latency at 64 B and 1 Gbps, Pktpit less than l3fwd", "2.76 %",
                                 fixed(less * 100, 1) + " % (" + fixed(pktpit_latency, 0) + " of " +
                                     fixed(cpu_latency, 0) + " ns)",
                                 Origin::emergent,
                                 std::abs(less - latency_gain) < 0.02 ? Verdict::holds : Verdict::unmet,
                                 "Pktpit, abstract; the load it was measured at is not public"});
    }

    void sensitivity(const Topology& topology, const Profile& profile) {
        for (const char* name : {"cpu.packet_ns", "cpu.slice_packet_ns", "nic.slice_ns", "root.latency_ns"}) {
            std::string got;
            for (const double factor : {0.5, 2.0}) {
                Profile changed = profile;
                (void)changed.set(name, profile.value(name) * factor, "sensitivity");
                got += (got.empty() ? "halved: rate " : "; doubled: rate ") +
                       fixed(rate(topology, changed) * 100, 1) + " %, latency " +
                       fixed(-latency(topology, changed) * 100, 1) + " %";
            }
            inform(std::string("  sensitivity of both to ") + name, got,
                   profile.constants().find(name)->second.source);
        }
        Topology short_headers = topology;
        short_headers.memory_below_4g = true;
        inform("  with addresses below 4 GiB (3-DW headers), nothing else changed",
               "rate " + fixed(rate(short_headers, profile) * 100, 1) + " %", "assumption about headers");
        const auto value = value_that_meets(profile, "cpu.packet_ns", rate_gain,
                                            [&](const Profile& changed) { return rate(topology, changed); });
        inform("  59.08 % would need, of l3fwd's cpu.packet_ns alone",
               value ? fixed(*value, 1) + " ns, not adopted: row 5 puts it at " +
                           fixed(profile.value("cpu.packet_ns"), 1)
                     : "no value does it",
               "its baseline's rate is not public");
    }

    /// `more_cores`: the CPU's times divided, as if so many cores had a ring each.
    void today(const char* topology_name, const Profile& profile, unsigned cores) {
        const Topology topology = own_topology(topology_name);
        const std::string plot = "row6-" + std::string(topology_name);
        report_.plots[plot] = {
            "Pktpit and l3fwd, " + std::string(topology_name) + ", whole table (simulated)", "frame, bytes",
            "million packets/s"};
        Profile changed = profile;
        for (const char* name : {"cpu.packet_ns", "cpu.slice_packet_ns", "cpu.burst_ns"})
            (void)changed.set(name, profile.value(name) / cores, "row 6: so many cores");
        for (const Contender& contender : {l3fwd_contender, pktpit}) {
            CheckPlotSeries series{
                plot,
                std::string(contender.name) + ", " + std::to_string(cores) + (cores > 1 ? " cores" : " core"),
                {}};
            for (const uint32_t size : {64U, 128U, 256U, 512U, 1024U, 1518U}) {
                const ExperimentResult result = run(topology, changed, contender, size);
                series.points.emplace_back(size, mpps(result));
                if (size != 64 && size != 512 && size != 1518) continue;  // the plot has them all
                inform(std::string(topology_name) + ", " + contender.name + ", " + std::to_string(cores) +
                           (cores > 1 ? " cores, " : " core, ") + std::to_string(size) + " B, " +
                           std::to_string(table_->prefixes().size()) + " routes",
                       fixed(mpps(result), 2) + " Mpps, " + fixed(result.bits_per_second / 1e9, 1) +
                           " Gbps; limit: " + what_limits(result) + "; " + busiest(result),
                       "generic profile: estimates");
            }
            report_.series.push_back(std::move(series));
        }
    }

    void inform(std::string what, std::string got, std::string source) {
        report_.lines.push_back({6, std::move(what), "", std::move(got), Origin::emergent,
                                 Verdict::information, std::move(source)});
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

    CheckReport& report_;
    std::shared_ptr<const RouteTable> table_;
    std::shared_ptr<const Destinations> where_;
};

}  // namespace

void check_pktpit(CheckReport& report, const std::shared_ptr<const RouteTable>& table,
                  const std::shared_ptr<const RouteTable>& part, const Progress& progress) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = own_profile("kakenhi");
    if (progress) progress("row 6: Pktpit against l3fwd");
    Row6 then(report, part);
    then.inform("routing table", part->origin() + "; a lookup's CPU time is the profile's, whatever its size",
                "routes of the research are not public");
    then.check(topology, profile);
    then.sensitivity(topology, profile);
    if (progress) progress("row 6: Gen 4 and 5, 100 and 400 GbE");
    Row6 now(report, table);
    const Profile generic = own_profile("generic");
    for (const char* name : {"gen4-100g", "gen5-400g"})
        for (const unsigned cores : {1U, 8U})
            now.today(name, generic, cores);
}

}  // namespace pktpit::model
