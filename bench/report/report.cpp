// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace pktpit::bench::report {
namespace {

const char* name_of(Family family) {
    return family == Family::ipv4 ? "IPv4" : "IPv6";
}

std::string percent(double share) {
    return fmt::format("{:.0f} %{}", share * 100, share > harness::tolerated_spread ? " !" : "");
}

std::string loss_of(const Series& series) {
    uint64_t sent = 0, arrived = 0;
    for (const harness::Sample& sample : series.samples) {
        sent += sample.sent;
        arrived += sample.arrived;
    }
    return arrived >= sent ? "0" : std::to_string(sent - arrived);
}

std::string cost_above_bound(const Report& report, const Panel& panel, const Series& series) {
    const auto costs = costs_above_bound(report, panel, series);
    return costs.empty() ? "-" : fmt::format("{:+.1f} ns", harness::summarize(costs).median);
}

/// A missed target may be beyond what redirecting alone reaches on this machine.
std::string reachable(const Report& report, const Panel& panel, const Target& target) {
    const Series* bound = panel.find(report.bound);
    const Series* peer = panel.find(target.peer);
    if (!bound || !peer || bound == peer) return {};
    return fmt::format("; the upper bound is at {:.2f} x",
                       harness::summarize_ratio(bound->rates(), peer->rates()).median);
}

}  // namespace

std::vector<double> Series::rates() const {
    std::vector<double> rates;
    for (const harness::Sample& sample : samples)
        rates.push_back(sample.mpps);
    return rates;
}

const Series* Panel::find(const std::string& forwarder) const {
    const auto found = std::find_if(series.begin(), series.end(),
                                    [&](const Series& one) { return one.forwarder == forwarder; });
    return found == series.end() ? nullptr : &*found;
}

const Series* Panel::subject() const {
    for (const char* name :
         {"pktpit", "pktpit split", "pktpit auto", "pktpit dpdk", "pktpit dpdk, net_af_xdp", "port stage"})
        if (const Series* found = find(name)) return found;
    return nullptr;
}

std::vector<double> costs_above_bound(const Report& report, const Panel& panel, const Series& series) {
    const Series* bound = panel.find(report.bound);
    if (!bound || bound == &series) return {};
    std::vector<double> costs;
    for (size_t i = 0; i < std::min(series.samples.size(), bound->samples.size()); i++)
        if (series.samples[i].mpps > 0 && bound->samples[i].mpps > 0)
            costs.push_back(1e3 / series.samples[i].mpps - 1e3 / bound->samples[i].mpps);
    return costs;
}

namespace {

/// Nothing if the bound, the subject or every peer is missing.
std::optional<Verdict> judge_cost(const Report& report, const Panel& panel, Target target) {
    const Series* subject = panel.find(target.subject);
    if (!subject) return std::nullopt;
    const auto own = costs_above_bound(report, panel, *subject);
    std::vector<double> best;
    for (const Series& series : panel.series) {
        if (!series.forwarder.starts_with(target.peer)) continue;
        const auto costs = costs_above_bound(report, panel, series);
        if (costs.empty() ||
            (!best.empty() && harness::summarize(costs).median >= harness::summarize(best).median))
            continue;
        best = costs;
        target.peer = series.forwarder;
    }
    std::vector<double> ratios;
    for (size_t i = 0; i < std::min(own.size(), best.size()); i++)
        if (best[i] > 0) ratios.push_back(own[i] / best[i]);
    if (ratios.empty()) return std::nullopt;
    return Verdict{target, harness::summarize(ratios)};
}

}  // namespace

std::vector<Verdict> judge(const Report& report, const Panel& panel) {
    std::vector<Verdict> verdicts;
    for (const Target& target : report.targets) {
        if (panel.routes < target.from_routes || panel.routes > target.to_routes) continue;
        if (target.of_cost) {
            if (const auto verdict = judge_cost(report, panel, target)) verdicts.push_back(*verdict);
            continue;
        }
        const Series* subject = panel.find(target.subject);
        const Series* peer = panel.find(target.peer);
        if (subject && peer)
            verdicts.push_back({target, harness::summarize_ratio(subject->rates(), peer->rates())});
    }
    return verdicts;
}

void print_head(FILE* out, const Report& report) {
    for (const auto& [name, value] : report.machine)
        fmt::print(out, "{:12} {}\n", name, value);
    fmt::print(out, "{:12} {}\n\n", "command", report.command);
    for (const auto& [name, description] : report.forwarders)
        fmt::print(out, "{:30} {}\n", name, description);
    std::fflush(out);
}

void print_panel(FILE* out, const Report& report, const Panel& panel) {
    const Series* subject = panel.subject();
    const size_t rounds = panel.series.empty() ? 0 : panel.series.front().samples.size();
    fmt::print(out, "\n{}, {}-byte frames, {}; {} rounds\n{}: {}\n", name_of(panel.family), panel.frame_bytes,
               panel.workload, rounds, harness::name_of(panel.cores), harness::explain(panel.cores));
    fmt::print(out, "{:30} {:>8} {:>8} {:>10} {:>12} {:>7} {:>22}\n", "forwarder", "Mpps", "spread",
               "ns/frame", "above bound", "lost", subject ? subject->forwarder + " is" : "");
    for (const Series& series : panel.series) {
        const harness::Summary rate = harness::summarize(series.rates());
        std::string ratio = "-";
        if (subject && subject != &series) {
            const harness::Summary summary = harness::summarize_ratio(subject->rates(), series.rates());
            ratio = fmt::format("{:.2f} x ({:.2f}-{:.2f})", summary.median, summary.lowest, summary.highest);
        }
        fmt::print(out, "{:30} {:8.3f} {:>8} {:10.1f} {:>12} {:>7} {:>22}\n", series.forwarder, rate.median,
                   percent(rate.spread()), rate.median > 0 ? 1e3 / rate.median : 0.0,
                   cost_above_bound(report, panel, series), loss_of(series), ratio);
    }
    for (const Series& series : panel.series)
        for (const harness::Sample& sample : series.samples)
            if (!sample.faults.empty())
                fmt::print(out, "WRONG FRAMES: {}: {}\n", series.forwarder, sample.faults);
    for (const Series& series : panel.series)
        if (const double spread = harness::summarize(series.rates()).spread();
            spread > harness::tolerated_spread)
            fmt::print(out,
                       "! {}: rates spread over {:.0f} % of their median: trust the ratios, not the rate\n",
                       series.forwarder, spread * 100);
    for (const Verdict& verdict : judge(report, panel)) {
        if (verdict.target.of_cost) {
            fmt::print(
                out,
                "target {}: above the bound a frame costs {} {:.2f} x what it costs {}, at most {:.1f} "
                "wanted ({:.2f}-{:.2f})\n",
                verdict.met() ? "met" : "MISSED", verdict.target.subject, verdict.ratio.median,
                verdict.target.peer, verdict.target.factor, verdict.ratio.lowest, verdict.ratio.highest);
            continue;
        }
        fmt::print(out, "target {}: {} is {:.2f} x {}, at least {:.1f} wanted{}\n",
                   verdict.met() ? "met" : "MISSED", verdict.target.subject, verdict.ratio.median,
                   verdict.target.peer, verdict.target.factor,
                   verdict.met() ? "" : reachable(report, panel, verdict.target));
    }
}

void print_appendix(FILE* out, const Report& report) {
    if (!report.idle.empty())
        fmt::print(out, "\nan idle router, ports split: share of one CPU that the whole daemon takes\n");
    for (const IdleUse& use : report.idle)
        fmt::print(out, "  polling {:10} {:6.2f} %\n", use.polling, use.share * 100);
    if (!report.commands.empty()) fmt::print(out, "\nstarted as\n");
    for (const auto& [name, command] : report.commands)
        fmt::print(out, "  {}\n    {}\n", name, command);
    for (const auto& [name, complaint] : report.refusals)
        fmt::print(out, "\n{} does not run here: {}\n", name, complaint);
    if (!report.patch.empty()) fmt::print(out, "\nl3fwd's patch\n{}", report.patch);
}

}  // namespace pktpit::bench::report
