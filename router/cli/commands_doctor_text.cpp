// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include "router/cli/commands_doctor.h"
#include "router/cli/format.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using offload::Finding;
using offload::PciAddress;
using offload::PciFunction;
using offload::PciTree;
using offload::Severity;

Cell verdict_cell(const DoctorPair& pair) {
    switch (pair.verdict) {
        case DoctorVerdict::direct:
            return {"direct", Colour::green};
        case DoctorVerdict::hindered:
            return {pair.path.direct() ? "direct, hindered" : "not direct", Colour::yellow};
        case DoctorVerdict::impossible:
            break;
    }
    return {"no", Colour::red};
}

std::string rate_text(const std::optional<offload::PathRate>& rate, bool write) {
    if (!rate) return "-";
    return format_bit_rate(8 * (write ? rate->write_bytes_per_second : rate->read_bytes_per_second));
}

std::string pairs_text(const DoctorReport& report, const Terminal& terminal) {
    Table table(
        {{"NIC"}, {"MEMORY"}, {"P2P"}, {"WAY"}, {"WRITE UP TO", Align::right}, {"READ UP TO", Align::right}});
    for (const DoctorPair& pair : report.pairs) {
        const std::string bar = pair.memory.bar ? " BAR " + std::to_string(*pair.memory.bar) : "";
        table.add_row({pair.path.from.to_string(), pair.path.to.to_string() + bar, verdict_cell(pair),
                       std::string(to_string(pair.path.way)), rate_text(pair.rate, true),
                       rate_text(pair.rate, false)});
    }
    std::string text = table.render(terminal);
    std::vector<std::string> told;
    for (const DoctorPair& pair : report.pairs) {
        const std::string why = std::string(to_string(pair.path.way)) + ": " + pair.path.why;
        if (std::find(told.begin(), told.end(), why) != told.end()) continue;
        text += (told.empty() ? "\n" : "") + printable(why) + "\n";
        told.push_back(why);
    }
    return text;
}

/// The outermost switch above a function; where there is none its root port, or its host bridge.
std::string switch_of(const PciTree& tree, const PciFunction& function) {
    std::string found;
    for (const PciFunction* bridge : tree.ancestors(function))
        if (bridge->is_type(offload::PcieType::upstream_port))
            found = "switch " + bridge->address.to_string();
    if (!found.empty()) return found;
    const auto above = tree.ancestors(function);
    return above.empty() ? "root bus " + function.host_bridge
                         : above.back()->kind() + " " + above.back()->address.to_string();
}

std::string switches_text(const PciTree& tree, const DoctorReport& report, const Terminal& terminal) {
    std::map<std::string, std::pair<std::string, std::string>> below;
    const auto add = [&](PciAddress address, bool nic) {
        const PciFunction* function = tree.find(address);
        if (!function) return;
        auto& [nics, memories] = below[switch_of(tree, *function)];
        std::string& list = nic ? nics : memories;
        list.append(list.empty() ? "" : " ").append(address.to_string());
    };
    for (const PciAddress nic : report.question.nics)
        add(nic, true);
    for (const DoctorMemory& memory : report.question.memories)
        add(memory.address, false);
    Table table({{"BELOW"}, {"NICS", Align::left, true}, {"MEMORIES", Align::left, true}});
    for (const auto& [place, lists] : below)
        table.add_row(
            {place, lists.first.empty() ? "-" : lists.first, lists.second.empty() ? "-" : lists.second});
    return table.empty() ? "" : table.render(terminal);
}

/// Where there is no memory to talk about: how the NICs lie to each other.
std::string neighbours_text(const DoctorReport& report, const Terminal& terminal) {
    Table table({{"NIC"}, {"NIC"}, {"WAY"}});
    for (const DoctorNeighbours& two : report.neighbours)
        table.add_row({two.one.to_string(), two.other.to_string(), std::string(to_string(two.way))});
    return table.empty() ? "" : "\n" + table.render(terminal);
}

}  // namespace

std::string finding_text(const Finding& finding, const Terminal& terminal) {
    const Colour colour = finding.severity == Severity::blocker     ? Colour::red
                          : finding.severity == Severity::hindrance ? Colour::yellow
                                                                    : Colour::dim;
    std::string text = terminal.paint(colour, to_string(finding.severity)) + ": ";
    if (!finding.where.empty()) text += printable(finding.where) + ": ";
    text += printable(finding.what) + "\n";
    if (finding.severity != Severity::note && !finding.expected.empty())
        text += "  expected: " + printable(finding.expected) + "\n";
    if (!finding.remedy.empty()) text += "  to do: " + printable(finding.remedy) + "\n";
    return text;
}

std::string doctor_text(const PciTree& tree, const DoctorReport& report, const Terminal& terminal) {
    std::string text = doctor_tree(tree, report, terminal);
    if (report.question.whole_machine) {
        const std::string switches = switches_text(tree, report, terminal);
        if (!switches.empty()) text += "\n" + switches;
    }
    text += report.pairs.empty() ? neighbours_text(report, terminal) : "\n" + pairs_text(report, terminal);
    if (!report.findings.empty()) text += "\n";
    for (const Finding& finding : report.findings)
        text += finding_text(finding, terminal);
    const Colour colour = report.verdict == DoctorVerdict::direct     ? Colour::green
                          : report.verdict == DoctorVerdict::hindered ? Colour::yellow
                                                                      : Colour::red;
    return text + (text.empty() ? "" : "\n") + terminal.paint(colour, report.summary) + "\n";
}

}  // namespace pktpit::router::cli
