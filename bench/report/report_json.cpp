// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <fstream>

#include "bench/harness/failure.h"
#include "bench/report/report.h"

namespace pktpit::bench::report {
namespace {

using nlohmann::json;

json to_json(const harness::Summary& summary) {
    return {{"median", summary.median},
            {"lowest", summary.lowest},
            {"highest", summary.highest},
            {"spread", summary.spread()}};
}

json to_json(const harness::Sample& sample) {
    return {{"mpps", sample.mpps},
            {"sent", sample.sent},
            {"arrived", sample.arrived},
            {"refused_by_router", sample.refused_by_router},
            {"refused_by_sink", sample.refused_by_sink},
            {"faults", sample.faults}};
}

json to_json(const Series& series, const Series* subject, const std::vector<double>& costs) {
    json out{{"forwarder", series.forwarder},
             {"mpps", to_json(harness::summarize(series.rates()))},
             {"rounds", json::array()}};
    for (const harness::Sample& sample : series.samples)
        out["rounds"].push_back(to_json(sample));
    if (!costs.empty()) out["ns_above_bound"] = to_json(harness::summarize(costs));
    if (subject && subject != &series)
        out["subject_ratio"] = to_json(harness::summarize_ratio(subject->rates(), series.rates()));
    return out;
}

json to_json(const Verdict& verdict) {
    return {{"subject", verdict.target.subject},
            {"peer", verdict.target.peer},
            {verdict.target.of_cost ? "cost_at_most" : "at_least", verdict.target.factor},
            {"ratio", to_json(verdict.ratio)},
            {"met", verdict.met()}};
}

json to_json(const Report& report, const Panel& panel) {
    json out{{"family", panel.family == Family::ipv4 ? "ipv4" : "ipv6"},
             {"cores", harness::name_of(panel.cores)},
             {"workload", panel.workload},
             {"frame_bytes", panel.frame_bytes},
             {"routes", panel.routes},
             {"subject", panel.subject() ? panel.subject()->forwarder : ""},
             {"cores_explained", harness::explain(panel.cores)},
             {"series", json::array()},
             {"targets", json::array()}};
    for (const Series& series : panel.series)
        out["series"].push_back(to_json(series, panel.subject(), costs_above_bound(report, panel, series)));
    for (const Verdict& verdict : judge(report, panel))
        out["targets"].push_back(to_json(verdict));
    return out;
}

json to_json(const KillRestartResult& result) {
    return {{"family", result.family == Family::ipv4 ? "ipv4" : "ipv6"},
            {"cores", harness::name_of(result.cores)},
            {"workload", result.workload},
            {"full_mpps", result.full_mpps},
            {"offered_mpps", result.offered_mpps},
            {"kills", result.kills},
            {"without_daemon_ms", result.without_daemon.count()},
            {"slowest_restart_ms", result.longest_start.count()},
            {"sent", result.sent},
            {"arrived", result.arrived},
            {"lost", result.lost()},
            {"reordered", result.late},
            {"refused_by_router", result.refused_by_router},
            {"refused_by_sink", result.refused_by_sink},
            {"faults", result.faults},
            {"met", result.passed()}};
}

}  // namespace

void write_json(const std::string& path, const Report& report) {
    json out{{"benchmark", report.benchmark}, {"bound", report.bound},       {"format", 2},
             {"machine", json::object()},     {"command", report.command},   {"forwarders", json::object()},
             {"commands", json::object()},    {"l3fwd_patch", report.patch}, {"panels", json::array()}};
    for (const auto& [name, value] : report.machine)
        out["machine"][name] = value;
    for (const auto& [name, description] : report.forwarders)
        out["forwarders"][name] = description;
    for (const auto& [name, command] : report.commands)
        out["commands"][name] = command;
    for (const auto& [name, complaint] : report.refusals)
        out["refusals"][name] = complaint;
    for (const Panel& panel : report.panels)
        out["panels"].push_back(to_json(report, panel));
    for (const IdleUse& use : report.idle)
        out["idle_cpu_share"][use.polling] = use.share;
    for (const Profile& profile : report.profiles) {
        json steps = json::array();
        for (const ProfileStep& step : profile.steps)
            steps.push_back({{"step", step.name}, {"share", step.share}});
        out["profiles"].push_back({{"forwarder", profile.forwarder},
                                   {"conditions", profile.conditions},
                                   {"samples", profile.samples},
                                   {"steps", steps}});
    }
    out["kill_restart"] = json::array();
    for (const KillRestartResult& result : report.kill_restarts)
        out["kill_restart"].push_back(to_json(result));
    std::ofstream file(path);
    file << out.dump(2) << '\n';
    if (!file.flush()) harness::fail_errno("write " + path);
}

}  // namespace pktpit::bench::report
