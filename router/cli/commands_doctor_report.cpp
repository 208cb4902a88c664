// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <tuple>

#include "offload/nic/nic.h"
#include "router/cli/commands_doctor.h"

namespace pktpit::router::cli {
namespace {

using offload::Finding;
using offload::Findings;
using offload::PciAddress;
using offload::PciFunction;
using offload::PciTree;
using offload::Severity;

void append(Findings& findings, const Findings& more) {
    findings.insert(findings.end(), more.begin(), more.end());
}

DoctorVerdict verdict_of(const DoctorPair& pair) {
    if (!pair.path.possible || offload::any_of(pair.findings, Severity::blocker))
        return DoctorVerdict::impossible;
    const bool clean = pair.path.direct() && !offload::any_of(pair.findings, Severity::hindrance);
    return clean ? DoctorVerdict::direct : DoctorVerdict::hindered;
}

/// Does the vfio dataplane drive NICs of this kind? The way of its requests is the same either way.
void add_driver_finding(Findings& findings, const PciFunction& nic, bool configured) {
    std::string known;
    for (const std::string_view name : offload::supported_nics()) {
        if (name.find("(" + nic.ids() + ")") != std::string_view::npos) return;
        known.append(known.empty() ? "" : ", ").append(name);
    }
    findings.push_back({"nic_unsupported", configured ? Severity::blocker : Severity::hindrance,
                        nic.address.to_string(), "the vfio dataplane has no driver for " + nic.ids(), known,
                        "another NIC, or the dpdk dataplane (docs/dpdk.md)"});
}

DoctorPair examine_pair(const PciTree& tree, PciAddress nic, const DoctorMemory& memory,
                        const Findings& of_groups, bool configured) {
    DoctorPair pair;
    pair.memory = memory;
    pair.path = offload::find_path(tree, nic, memory.address);
    pair.rate = offload::expected_rate(tree, pair.path);
    pair.findings = pair.path.findings;
    if (const PciFunction* function = tree.find(nic)) {
        append(pair.findings, offload::examine_nic(*function));
        add_driver_finding(pair.findings, *function, configured);
        for (const Finding& finding : of_groups)
            if (function->iommu_group &&
                finding.where == "IOMMU group " + std::to_string(*function->iommu_group))
                pair.findings.push_back(finding);
    }
    if (const PciFunction* function = tree.find(memory.address)) {
        append(pair.findings, offload::examine_memory(tree, *function, memory.bar, memory.bytes_needed));
        if (const offload::PciBar* bar = function->payload_bar(); bar && !memory.bar)
            pair.memory.bar = bar->index;
    }
    pair.verdict = verdict_of(pair);
    return pair;
}

/// The worst first; one with the same words about several places becomes one with all of them.
Findings merged(const std::vector<DoctorPair>& pairs, const Findings& before) {
    Findings merged = before;
    std::map<std::tuple<std::string, std::string, std::string, std::string>, size_t> known;
    for (const DoctorPair& pair : pairs) {
        for (const Finding& finding : pair.findings) {
            const auto [place, is_new] = known.emplace(
                std::tuple(finding.code, finding.what, finding.expected, finding.remedy), merged.size());
            if (is_new) {
                merged.push_back(finding);
                continue;
            }
            std::string& where = merged[place->second].where;
            if (where.find(finding.where) == std::string::npos) where.append(", ").append(finding.where);
        }
    }
    std::stable_sort(merged.begin(), merged.end(),
                     [](const Finding& a, const Finding& b) { return a.severity > b.severity; });
    return merged;
}

/// The dataplane has one payload memory for all its ports: the one whose worst port is best, then the one
/// that most ports reach directly.
std::optional<PciAddress> best_memory(const std::vector<DoctorPair>& pairs) {
    struct Score {
        DoctorVerdict worst = DoctorVerdict::direct;
        size_t direct = 0;
    };
    std::map<PciAddress, Score> scores;
    for (const DoctorPair& pair : pairs) {
        Score& score = scores[pair.memory.address];
        score.worst = std::max(score.worst, pair.verdict);
        score.direct += pair.verdict == DoctorVerdict::direct;
    }
    const auto best = std::min_element(scores.begin(), scores.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second.worst, b.second.direct) < std::pair(b.second.worst, a.second.direct);
    });
    return best == scores.end() ? std::nullopt : std::optional(best->first);
}

std::vector<DoctorNeighbours> neighbours_of(const PciTree& tree, const std::vector<PciAddress>& nics) {
    std::vector<DoctorNeighbours> all;
    for (size_t i = 0; i < nics.size(); i++)
        for (size_t j = i + 1; j < nics.size(); j++)
            all.push_back({nics[i], nics[j],
                           std::min(offload::find_path(tree, nics[i], nics[j]).way,
                                    offload::find_path(tree, nics[j], nics[i]).way)});
    return all;
}

std::string counted(size_t count, const char* noun) {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string summary_of(const DoctorReport& report) {
    const DoctorQuestion& question = report.question;
    if (question.nics.empty()) return "no Ethernet NIC: there is nothing to route between";
    if (question.memories.empty())
        return "no device memory that payload could wait in: payload goes through main memory";
    size_t direct = 0;
    size_t possible = 0;
    size_t pairs = 0;
    for (const DoctorPair& pair : report.pairs) {
        if (report.best_memory && pair.memory.address != *report.best_memory) continue;
        pairs++;
        direct += pair.path.direct() && pair.verdict != DoctorVerdict::impossible;
        possible += pair.verdict != DoctorVerdict::impossible;
    }
    const std::string all = counted(pairs, report.best_memory ? "NIC" : "pair") +
                            (report.best_memory ? " with memory " + report.best_memory->to_string() : "");
    std::string hindered = report.verdict == DoctorVerdict::hindered ? ", with hindrances" : "";
    const auto undriven = std::ranges::count_if(
        report.findings, [](const Finding& finding) { return finding.code == "nic_unsupported"; });
    if (undriven != 0 && !question.configured)
        hindered = "; the vfio dataplane does not drive all of these NICs (nic_unsupported)";
    if (possible == 0) return "P2P is not possible for any of " + all;
    if (direct == pairs) return "P2P is direct for " + all + hindered;
    if (direct == 0)
        return "P2P is possible, but not direct, for " +
               (possible == pairs ? "" : std::to_string(possible) + " of ") + all;
    return "P2P is direct for " + std::to_string(direct) + " and possible for " + std::to_string(possible) +
           " of " + all + hindered;
}

}  // namespace

DoctorQuestion whole_machine(const PciTree& tree) {
    DoctorQuestion question;
    question.whole_machine = true;
    for (const PciFunction* function : tree.functions()) {
        if (function->is_ethernet() && !function->physical) question.nics.push_back(function->address);
        if (function->is_memory_candidate()) question.memories.push_back({function->address, {}});
    }
    return question;
}

DoctorReport examine(const PciTree& tree, DoctorQuestion question) {
    DoctorReport report;
    report.question = std::move(question);
    const Findings of_groups = offload::examine_groups(tree, report.question.nics);
    for (const DoctorMemory& memory : report.question.memories)
        for (const PciAddress nic : report.question.nics)
            report.pairs.push_back(examine_pair(tree, nic, memory, of_groups, report.question.configured));
    report.neighbours = neighbours_of(tree, report.question.nics);
    report.findings = merged(report.pairs, report.question.findings);
    if (report.question.whole_machine) report.best_memory = best_memory(report.pairs);
    if (report.pairs.empty() || offload::any_of(report.question.findings, Severity::blocker))
        report.verdict = DoctorVerdict::impossible;
    if (offload::any_of(report.question.findings, Severity::hindrance))
        report.verdict = std::max(report.verdict, DoctorVerdict::hindered);
    for (const DoctorPair& pair : report.pairs)
        if (!report.best_memory || pair.memory.address == *report.best_memory)
            report.verdict = std::max(report.verdict, pair.verdict);
    report.summary = summary_of(report);
    return report;
}

}  // namespace pktpit::router::cli
