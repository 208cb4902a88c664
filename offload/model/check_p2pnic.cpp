// SPDX-License-Identifier: BSD-3-Clause
// Row 5: P2PNIC and the CPU-driven router under traffic.
#include <cmath>

#include "offload/model/check_programs.h"

namespace pktpit::model {
namespace {

constexpr std::array<uint32_t, 6> sizes = {64, 128, 256, 512, 1024, 1518};

constexpr std::array contenders = {
    l3fwd_contender,
    Contender{"write", Program::p2pnic, Transfer::write},
    Contender{"read", Program::p2pnic, Transfer::read},
    Contender{"bounce", Program::p2pnic, Transfer::bounce},
};

void check_ports(CheckReport& report, const Topology& topology, const Profile& profile, unsigned ports) {
    const std::string plot = "row5-" + std::to_string(ports) + "-ports";
    report.plots[plot] = {"P2PNIC and l3fwd, " + std::to_string(ports) + " → " + std::to_string(ports) +
                              " ports of 40 GbE (simulated)",
                          "frame, bytes", "million packets/s"};
    std::array<std::array<double, sizes.size()>, contenders.size()> rates{};
    for (size_t c = 0; c < contenders.size(); c++) {
        CheckPlotSeries series{plot, contenders[c].name, {}};
        for (size_t s = 0; s < sizes.size(); s++) {
            const auto settings = settings_for(contenders[c], sizes[s], ports, 1);
            rates[c][s] = mpps(run_checked(topology, profile, settings));
            series.points.emplace_back(sizes[s], rates[c][s]);
        }
        report.series.push_back(std::move(series));
    }
    const std::string arrow = std::to_string(ports) + " → " + std::to_string(ports) + " ports, ";
    for (size_t s = 0; s < sizes.size(); s++) {
        // Line rate is the most that any can do: there they meet.
        bool above = true, highest = true;
        std::string got;
        for (size_t c = 0; c < contenders.size(); c++) {
            got += std::string(c ? ", " : "") + contenders[c].name + " " + fixed(rates[c][s], 2);
            if (c > 0) above &= rates[c][s] >= rates[0][s] * 0.998;
            highest &= rates[1][s] >= rates[c][s] * 0.998;
        }
        report.lines.push_back({5, arrow + std::to_string(sizes[s]) + " B, Mpps",
                                "all above l3fwd or at line rate, write highest", got, Origin::emergent,
                                above && highest ? Verdict::holds : Verdict::unmet,
                                "KAKENHI report, figure 6"});
    }
    if (ports != 1) return;
    const double ratio = rates[1][0] / rates[0][0];
    report.lines.push_back(
        {5, "P2PNIC at 64 B", "40.37 Mpps", fixed(rates[1][0], 2) + " Mpps", Origin::calibrated,
         std::abs(rates[1][0] - 40.37) < 0.4 ? Verdict::holds : Verdict::unmet, "P2PNIC, abstract"});
    report.lines.push_back({5, "P2PNIC at 64 B, against the CPU-driven forwarder", "1.45 x",
                            fixed(ratio, 2) + " x", Origin::calibrated,
                            std::abs(ratio - 1.45) < 0.03 ? Verdict::holds : Verdict::unmet,
                            "P2PNIC, abstract"});
}

double latency(const Topology& topology, const Profile& profile, const Contender& contender) {
    return background_latency(topology, profile, settings_for(contender, 64, 1, 1.0 / 40));
}

/// How much less P2PNIC's is than l3fwd's.
double latency_gain(const Topology& topology, const Profile& profile) {
    return 1 - latency(topology, profile, contenders[1]) / latency(topology, profile, contenders[0]);
}

/// P2PNIC with the Internet's table: what the NIC's memory holds of it, and who decides the rest.
void show_limited_fib(CheckReport& report, const Topology& topology, const Profile& profile,
                      const std::shared_ptr<const RouteTable>& table) {
    for (const double zipf : {1.0, 0.0}) {
        const auto where = std::make_shared<const Destinations>(*table, 65536, zipf, 1);
        for (const double kib : {256, 1024, 4096}) {
            Profile changed = profile;
            (void)changed.set("nic.fib_kib", kib, "row 5: a FIB of limited size");
            ExperimentSettings settings = settings_for(contenders[1], 64, 1, 1);
            settings.table = table;
            settings.destinations = where;
            const ExperimentResult result = run_checked(topology, changed, settings);
            const NicCounters& nic = result.nics[0];
            const double held = static_cast<double>(nic.fib_hits) /
                                static_cast<double>(std::max<uint64_t>(nic.fib_hits + nic.fib_misses, 1));
            report.lines.push_back({5,
                                    "  " + std::to_string(table->prefixes().size()) + " routes, " +
                                        fixed(kib, 0) + " KiB of FIB on the NIC, 65,536 destinations " +
                                        (zipf > 0 ? "by Zipf's law" : "all alike"),
                                    "",
                                    fixed(held * 100, 1) + " % decided on the NIC (" +
                                        std::to_string(result.nic_fib_blocks) +
                                        " blocks), the rest by the CPU; " + fixed(mpps(result), 2) +
                                        " Mpps at 64 B, limit: " + what_limits(result),
                                    Origin::emergent, Verdict::information, table->origin()});
        }
    }
}

}  // namespace

void check_p2pnic(CheckReport& report, const std::shared_ptr<const RouteTable>& table,
                  const Progress& progress) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = own_profile("kakenhi");
    for (const unsigned ports : {1U, 2U}) {
        if (progress) progress("row 5: " + std::to_string(ports) + " → " + std::to_string(ports) + " ports");
        check_ports(report, topology, profile, ports);
    }
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, double>>{{"dma.tags", 16},
                                                               {"dma.tags", 8},
                                                               {"device.read_latency_ns", 1000},
                                                               {"link.non_posted_headers", 8}}) {
        Profile changed = profile;
        (void)changed.set(name, value, "sensitivity");
        std::string got;
        for (size_t c = 1; c < contenders.size(); c++)
            got += std::string(c > 1 ? ", " : "") + contenders[c].name + " " +
                   fixed(mpps(run_checked(topology, changed, settings_for(contenders[c], 512, 2, 1))), 2);
        report.lines.push_back({5, std::string("  2 → 2 ports at 512 B with ") + name + " " + fixed(value, 0),
                                "", got, Origin::emergent, Verdict::information,
                                profile.constants().find(name)->second.source});
    }
    Topology short_headers = topology;
    short_headers.memory_below_4g = true;
    std::string got_short;
    for (size_t c = 1; c < contenders.size(); c++)
        got_short +=
            std::string(c > 1 ? ", " : "") + contenders[c].name + " " +
            fixed(mpps(run_checked(short_headers, profile, settings_for(contenders[c], 512, 2, 1))), 2);
    report.lines.push_back({5, "  2 → 2 ports at 512 B with addresses below 4 GiB (3-DW headers)", "",
                            got_short, Origin::emergent, Verdict::information, "assumption about headers"});
    const double cpu = latency(topology, profile, contenders[0]);
    const double nic = latency(topology, profile, contenders[1]);
    const double less = 1 - nic / cpu;
    report.lines.push_back({5, "median latency at 64 B and 1 Gbps, P2PNIC less than l3fwd", "36 %",
                            fixed(less * 100, 1) + " % (" + fixed(nic, 0) + " of " + fixed(cpu, 0) + " ns)",
                            Origin::emergent, std::abs(less - 0.36) < 0.05 ? Verdict::holds : Verdict::unmet,
                            "P2PNIC, abstract"});
    // What nobody has measured: how far each unknown constant moves it.
    for (const char* name :
         {"root.latency_ns", "memory.read_latency_ns", "nic.receive_latency_ns", "cpu.poll_ns"}) {
        std::string got;
        for (const double factor : {0.5, 2.0}) {
            Profile changed = profile;
            (void)changed.set(name, profile.value(name) * factor, "sensitivity");
            const double other = latency_gain(topology, changed);
            got += (got.empty() ? "halved " : ", doubled ") + fixed(other * 100, 1) + " %";
        }
        report.lines.push_back({5, std::string("  sensitivity of that to ") + name, "", got, Origin::emergent,
                                Verdict::information, profile.constants().find(name)->second.source});
    }
    for (const char* name : {"root.latency_ns", "memory.read_latency_ns"}) {
        const auto value = value_that_meets(
            profile, name, 0.36, [&](const Profile& changed) { return latency_gain(topology, changed); });
        report.lines.push_back({5, std::string("  36 % would need, of ") + name + " alone", "",
                                value ? fixed(*value, 0) + " ns, not adopted: no source says so"
                                      : "no value from an eighth to eight times",
                                Origin::emergent, Verdict::information,
                                profile.constants().find(name)->second.source});
    }
    if (progress) progress("row 5: a FIB of limited size on the NIC");
    show_limited_fib(report, topology, profile, table);
}

}  // namespace pktpit::model
