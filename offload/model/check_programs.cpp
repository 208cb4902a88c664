// Rows 5 and 6: whole programs under traffic.
#include <cmath>

#include "offload/model/check.h"

namespace pktpit::model {
namespace {

constexpr std::array<uint32_t, 6> sizes = {64, 128, 256, 512, 1024, 1518};

struct Contender {
    const char* name;
    Program program;
    Transfer transfer;
};

constexpr std::array contenders = {
    Contender{"l3fwd", Program::l3fwd, Transfer::write},
    Contender{"write", Program::p2pnic, Transfer::write},
    Contender{"read", Program::p2pnic, Transfer::read},
    Contender{"bounce", Program::p2pnic, Transfer::bounce},
};

ExperimentSettings settings_for(const Contender& contender, uint32_t size, unsigned ports, double load) {
    ExperimentSettings settings;
    settings.program = contender.program;
    settings.transfer = contender.transfer;
    settings.traffic.size = size;
    settings.traffic.check_bytes = true;
    for (unsigned port = 0; port < ports; port++)
        settings.traffic.flows.push_back({0, port, 1, port, load});
    settings.warm_up = 200 * microsecond;
    settings.duration = 500 * microsecond;
    return settings;
}

ExperimentResult run(const Topology& topology, const Profile& profile, const ExperimentSettings& settings) {
    auto result = run_experiment(topology, profile, settings);
    if (!result) throw std::runtime_error(result.error().to_string());
    return std::move(*result);
}

double mpps(const ExperimentResult& result) {
    return result.packets_per_second / 1e6;
}

void check_ports(CheckReport& report, const Topology& topology, const Profile& profile, unsigned ports) {
    std::array<std::array<double, sizes.size()>, contenders.size()> rates{};
    for (size_t c = 0; c < contenders.size(); c++) {
        CheckPlotSeries series{"row5-" + std::to_string(ports) + "-ports", contenders[c].name, {}};
        for (size_t s = 0; s < sizes.size(); s++) {
            const auto settings = settings_for(contenders[c], sizes[s], ports, 1);
            rates[c][s] = mpps(run(topology, profile, settings));
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
    auto settings = settings_for(contender, 64, 1, 1.0 / 40);
    settings.traffic.poisson = true;
    return run(topology, profile, settings).latency_median_ns;
}

std::string busiest(const ExperimentResult& result) {
    const LinkResult* most = &result.links.front();
    for (const LinkResult& link : result.links)
        if (link.utilisation > most->utilisation) most = &link;
    return most->from + " → " + most->to + " " + fixed(most->utilisation * 100, 0) + " % busy, CPU " +
           fixed(result.cpu_utilisation * 100, 0) + " % with bursts of " +
           fixed(static_cast<double>(result.cpu.packets) /
                     static_cast<double>(std::max<uint64_t>(result.cpu.bursts, 1)),
                 1);
}

void check_today(CheckReport& report, const char* topology_name, const Profile& profile,
                 const Contender& contender) {
    const Topology topology = own_topology(topology_name);
    for (const uint32_t size : {64U, 512U, 1518U}) {
        const ExperimentResult result = run(topology, profile, settings_for(contender, size, 1, 1));
        report.lines.push_back(
            {6, std::string(topology_name) + ", " + contender.name + ", " + std::to_string(size) + " B", "",
             fixed(mpps(result), 2) + " Mpps, " + fixed(result.bits_per_second / 1e9, 1) + " Gbps; " +
                 busiest(result),
             Origin::emergent, Verdict::information, "generic profile: one core, estimates"});
    }
}

}  // namespace

void check_p2pnic(CheckReport& report, const Progress& progress) {
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
                   fixed(mpps(run(topology, changed, settings_for(contenders[c], 512, 2, 1))), 2);
        report.lines.push_back({5, std::string("  2 → 2 ports at 512 B with ") + name + " " + fixed(value, 0),
                                "", got, Origin::emergent, Verdict::information,
                                profile.constants().find(name)->second.source});
    }
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
            const double other =
                1 - latency(topology, changed, contenders[1]) / latency(topology, changed, contenders[0]);
            got += (got.empty() ? "halved " : ", doubled ") + fixed(other * 100, 1) + " %";
        }
        report.lines.push_back({5, std::string("  sensitivity of that to ") + name, "", got, Origin::emergent,
                                Verdict::information, profile.constants().find(name)->second.source});
    }
}

void check_pktpit(CheckReport& report, const Progress& progress) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = own_profile("kakenhi");
    constexpr Contender pktpit{"pktpit write", Program::pktpit, Transfer::write};
    if (progress) progress("row 6: Pktpit against l3fwd");
    const ExperimentResult cpu = run(topology, profile, settings_for(contenders[0], 64, 1, 1));
    const ExperimentResult result = run(topology, profile, settings_for(pktpit, 64, 1, 1));
    const double more = result.packets_per_second / cpu.packets_per_second - 1;
    report.lines.push_back({6, "Pktpit at 64 B, more than the CPU-driven router", "59.08 %",
                            fixed(more * 100, 1) + " % (" + fixed(mpps(result), 2) + " of " +
                                fixed(mpps(cpu), 2) + " Mpps; " + busiest(result) + ")",
                            Origin::emergent,
                            std::abs(more - 0.5908) < 0.03 ? Verdict::holds : Verdict::unmet,
                            "Pktpit, abstract; its baseline's rate is not public"});
    const double cpu_latency = latency(topology, profile, contenders[0]);
    const double pktpit_latency = latency(topology, profile, pktpit);
    const double less = 1 - pktpit_latency / cpu_latency;
    report.lines.push_back(
        {6, "median latency at 64 B and 1 Gbps, Pktpit less than l3fwd", "2.76 %",
         fixed(less * 100, 1) + " % (" + fixed(pktpit_latency, 0) + " of " + fixed(cpu_latency, 0) + " ns)",
         Origin::emergent, std::abs(less - 0.0276) < 0.02 ? Verdict::holds : Verdict::unmet,
         "Pktpit, abstract; the load it was measured at is not public"});
    for (const char* name : {"cpu.packet_ns", "cpu.slice_packet_ns", "nic.slice_ns", "root.latency_ns"}) {
        std::string got;
        for (const double factor : {0.5, 2.0}) {
            Profile changed = profile;
            (void)changed.set(name, profile.value(name) * factor, "sensitivity");
            const double rate =
                run(topology, changed, settings_for(pktpit, 64, 1, 1)).packets_per_second /
                    run(topology, changed, settings_for(contenders[0], 64, 1, 1)).packets_per_second -
                1;
            const double other =
                1 - latency(topology, changed, pktpit) / latency(topology, changed, contenders[0]);
            got += (got.empty() ? "halved: rate " : "; doubled: rate ") + fixed(rate * 100, 1) +
                   " %, latency " + fixed(-other * 100, 1) + " %";
        }
        report.lines.push_back({6, std::string("  sensitivity of both to ") + name, "", got, Origin::emergent,
                                Verdict::information, profile.constants().find(name)->second.source});
    }
    if (progress) progress("row 6: Gen 4 and 5, 100 and 400 GbE");
    const Profile generic = own_profile("generic");
    for (const char* name : {"gen4-100g", "gen5-400g"}) {
        check_today(report, name, generic, contenders[0]);
        check_today(report, name, generic, pktpit);
    }
}

}  // namespace pktpit::model
