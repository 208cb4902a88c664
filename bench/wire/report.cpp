#include "bench/wire/report.h"

#include <fmt/format.h>

#include <algorithm>

namespace pktpit::bench {
namespace {

const char* name_of(Family family) {
    return family == Family::ipv4 ? "IPv4" : "IPv6";
}

std::string percent(double share) {
    return fmt::format("{:.0f} %{}", share * 100, share > tolerated_spread ? " !" : "");
}

std::string loss_of(const Series& series) {
    uint64_t sent = 0, arrived = 0;
    for (const Sample& sample : series.samples) {
        sent += sample.sent;
        arrived += sample.arrived;
    }
    return arrived >= sent ? "0" : std::to_string(sent - arrived);
}

/// What a frame costs beyond generator, veth and sink, which all rows pay alike: ns, median over rounds.
std::string cost_above_bound(const Panel& panel, const Series& series) {
    const Series* bound = panel.find(upper_bound_name);
    if (!bound || bound == &series) return "-";
    std::vector<double> costs;
    for (size_t i = 0; i < std::min(series.samples.size(), bound->samples.size()); i++)
        if (series.samples[i].mpps > 0 && bound->samples[i].mpps > 0)
            costs.push_back(1e3 / series.samples[i].mpps - 1e3 / bound->samples[i].mpps);
    return fmt::format("{:+.1f} ns", summarize(costs).median);
}

/// A missed target may be beyond what redirecting alone reaches on this machine.
std::string reachable(const Panel& panel, const Target& target) {
    const Series* bound = panel.find(upper_bound_name);
    const Series* peer = panel.find(target.peer);
    if (!bound || !peer || bound == peer) return {};
    return fmt::format("; the upper bound is at {:.2f} x",
                       summarize_ratio(bound->rates(), peer->rates()).median);
}

}  // namespace

std::vector<double> Series::rates() const {
    std::vector<double> rates;
    for (const Sample& sample : samples)
        rates.push_back(sample.mpps);
    return rates;
}

const Series* Panel::find(const std::string& forwarder) const {
    const auto found = std::find_if(series.begin(), series.end(),
                                    [&](const Series& one) { return one.forwarder == forwarder; });
    return found == series.end() ? nullptr : &*found;
}

std::vector<Verdict> judge(const Report& report, const Panel& panel) {
    std::vector<Verdict> verdicts;
    const Series* subject = panel.find(report.subject);
    for (const Target& target : report.targets) {
        const Series* peer = panel.find(target.peer);
        if (subject && peer) verdicts.push_back({target, summarize_ratio(subject->rates(), peer->rates())});
    }
    return verdicts;
}

void print_head(FILE* out, const Report& report) {
    for (const auto& [name, value] : report.machine)
        fmt::print(out, "{:12} {}\n", name, value);
    fmt::print(out, "{:12} {}\n\n", "command", report.command);
    for (const auto& [name, description] : report.forwarders)
        fmt::print(out, "{:22} {}\n", name, description);
    std::fflush(out);
}

void print_panel(FILE* out, const Report& report, const Panel& panel) {
    const size_t rounds = panel.series.empty() ? 0 : panel.series.front().samples.size();
    fmt::print(out, "\n{}, 64-byte frames, {}; {} rounds\n{}: {}\n", name_of(panel.family), panel.workload,
               rounds, bench::name_of(panel.cores), explain(panel.cores));
    fmt::print(out, "{:22} {:>8} {:>8} {:>10} {:>12} {:>7} {:>22}\n", "forwarder", "Mpps", "spread",
               "ns/frame", "above bound", "lost", report.subject + " is");
    const Series* subject = panel.find(report.subject);
    for (const Series& series : panel.series) {
        const Summary rate = summarize(series.rates());
        std::string ratio = "-";
        if (subject && subject != &series) {
            const Summary summary = summarize_ratio(subject->rates(), series.rates());
            ratio = fmt::format("{:.2f} x ({:.2f}-{:.2f})", summary.median, summary.lowest, summary.highest);
        }
        fmt::print(out, "{:22} {:8.3f} {:>8} {:10.1f} {:>12} {:>7} {:>22}\n", series.forwarder, rate.median,
                   percent(rate.spread()), rate.median > 0 ? 1e3 / rate.median : 0.0,
                   cost_above_bound(panel, series), loss_of(series), ratio);
    }
    for (const Series& series : panel.series)
        for (const Sample& sample : series.samples)
            if (!sample.faults.empty())
                fmt::print(out, "WRONG FRAMES: {}: {}\n", series.forwarder, sample.faults);
    for (const Series& series : panel.series)
        if (const double spread = summarize(series.rates()).spread(); spread > tolerated_spread)
            fmt::print(out,
                       "! {}: rates spread over {:.0f} % of their median: trust the ratios, not the rate\n",
                       series.forwarder, spread * 100);
    for (const Verdict& verdict : judge(report, panel))
        fmt::print(out, "target {}: {:.2f} x {}, at least {:.1f} wanted{}\n",
                   verdict.met() ? "met" : "MISSED", verdict.ratio.median, verdict.target.peer,
                   verdict.target.factor, verdict.met() ? "" : reachable(panel, verdict.target));
}

}  // namespace pktpit::bench
