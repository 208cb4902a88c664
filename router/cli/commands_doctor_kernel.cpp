// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/commands_doctor_kernel.h"

#include <nlohmann/json.hpp>

#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;
using offload::Finding;
using offload::Severity;

constexpr const char* kernel_place = "kernel";

std::string code_of(const KernelPart& part) {
    if (part.name == "redirect_targets") return "redirects_unknown";
    return "no_" + std::string(part.name);
}

std::string what_of(const KernelPart& part, const ProbeResult& result) {
    std::string text = "no " + std::string(part.what);
    if (!result.detail.empty()) text += " (" + result.detail + ")";
    return part.instead.empty() ? text : text + ": " + std::string(part.instead);
}

std::string expected_of(const KernelPart& part) {
    return part.since.empty() ? "" : "Linux " + std::string(part.since);
}

Severity severity_of(const KernelPart& part) {
    if (part.kind == PartKind::need) return Severity::blocker;
    return part.warns ? Severity::hindrance : Severity::note;
}

bool is_asked_for(const KernelPart& part, const config::Config* config) {
    return config ? asks_for(*config, part) : part.demand == Demand::all;
}

Cell cell_of(const KernelPart& part, Presence presence) {
    const std::string text(to_string(presence));
    if (presence == Presence::there) return {text, Colour::green};
    if (presence == Presence::unknown) return {text, Colour::dim};
    const Severity severity = severity_of(part);
    return {text, severity == Severity::blocker     ? Colour::red
                  : severity == Severity::hindrance ? Colour::yellow
                                                    : Colour::none};
}

json here_of(Presence presence) {
    return presence == Presence::unknown ? json() : json(presence == Presence::there);
}

json text_or_null(std::string_view text) {
    return text.empty() ? json() : json(text);
}

}  // namespace

offload::Findings kernel_findings(const KernelSupport& support, const config::Config* config) {
    offload::Findings findings;
    std::string unknown;
    std::string rights;
    for (const auto& [part, result] : support.parts) {
        if (result.presence == Presence::missing && is_asked_for(*part, config))
            findings.push_back({code_of(*part), severity_of(*part), kernel_place, what_of(*part, result),
                                expected_of(*part), std::string(part->remedy)});
        if (result.presence != Presence::unknown || part->kind != PartKind::need) continue;
        unknown += (unknown.empty() ? "" : ", ") + std::string(part->name);
        if (part->name == "capabilities") rights = " (" + result.detail + ")";
    }
    if (!unknown.empty())
        findings.push_back({"kernel_unknown", Severity::note, kernel_place, "not known: " + unknown + rights,
                            "", "run it as root"});
    return findings;
}

std::string kernel_text(const KernelSupport& support, const Terminal& terminal) {
    Table table({{"LINUX " + support.release}, {"HERE"}, {"SINCE"}, {"WHAT", Align::left, true}});
    for (const auto& [part, result] : support.parts)
        table.add_row({std::string(part->name), cell_of(*part, result.presence),
                       part->since.empty() ? "-" : std::string(part->since), std::string(part->what)});
    return table.render(terminal);
}

json kernel_json(const KernelSupport& support) {
    json parts = json::array();
    for (const auto& [part, result] : support.parts)
        parts.push_back({{"name", part->name},
                         {"here", here_of(result.presence)},
                         {"needed", part->kind == PartKind::need},
                         {"for", to_string(part->demand)},
                         {"since", text_or_null(part->since)},
                         {"what", part->what},
                         {"instead", text_or_null(part->instead)},
                         {"detail", text_or_null(result.detail)}});
    return {{"release", support.release}, {"parts", std::move(parts)}};
}

offload::Findings driver_findings(const std::string& port, const DriverState& state) {
    offload::Findings findings;
    for (const DriverFault* fault : faults_of(state))
        findings.push_back({"driver_fault", fault->note ? Severity::note : Severity::hindrance, port,
                            fault_text(*fault), "", std::string(fault->remedy)});
    return findings;
}

}  // namespace pktpit::router::cli
