// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "router/cli/commands_doctor.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;
using offload::PciAddress;
using offload::PciFunction;
using offload::PciTree;

json link_json(const offload::PcieLink& link) {
    if (!link.known()) return nullptr;
    return {{"gigatransfers", link.gigatransfers}, {"lanes", link.lanes}};
}

json function_json(const PciTree& tree, PciAddress address) {
    const PciFunction* function = tree.find(address);
    json value = {{"address", address.to_string()}};
    if (!function) return value;
    value["ids"] = function->ids();
    value["kind"] = function->kind();
    value["driver"] = function->driver.empty() ? json() : json(function->driver);
    value["interfaces"] = function->interfaces;
    value["iommu_group"] = function->iommu_group ? json(*function->iommu_group) : json();
    value["numa_node"] = function->numa_node < 0 ? json() : json(function->numa_node);
    value["link"] = function->pcie ? link_json(function->pcie->link) : json();
    value["max_payload_size"] = function->pcie ? json(function->pcie->mps) : json();
    value["max_read_request_size"] = function->pcie ? json(function->pcie->mrrs) : json();
    return value;
}

json rate_json(const std::optional<offload::PathRate>& rate) {
    if (!rate) return nullptr;
    return {{"write_bytes_per_second", rate->write_bytes_per_second},
            {"read_bytes_per_second", rate->read_bytes_per_second},
            {"narrowest_link",
             {{"above", rate->narrowest.above.to_string()},
              {"below", rate->narrowest.below.to_string()},
              {"link", link_json(rate->narrowest.link)},
              {"possible", link_json(rate->narrowest.possible)}}}};
}

const char* verdict_text(DoctorVerdict verdict) {
    switch (verdict) {
        case DoctorVerdict::direct:
            return "direct";
        case DoctorVerdict::hindered:
            return "hindered";
        case DoctorVerdict::impossible:
            break;
    }
    return "impossible";
}

json pair_json(const DoctorPair& pair) {
    json hops = json::array();
    for (const PciAddress hop : pair.path.hops)
        hops.push_back(hop.to_string());
    return {{"nic", pair.path.from.to_string()},
            {"memory", pair.path.to.to_string()},
            {"bar", pair.memory.bar ? json(*pair.memory.bar) : json()},
            {"verdict", verdict_text(pair.verdict)},
            {"way", to_string(pair.path.way)},
            {"redirected", pair.path.redirected},
            {"turn", pair.path.turn ? json(pair.path.turn->to_string()) : json()},
            {"hops", std::move(hops)},
            {"why", pair.path.why},
            {"rate", rate_json(pair.rate)},
            {"findings", findings_json(pair.findings)}};
}

}  // namespace

json findings_json(const offload::Findings& findings) {
    json list = json::array();
    for (const offload::Finding& finding : findings)
        list.push_back({{"code", finding.code},
                        {"severity", to_string(finding.severity)},
                        {"where", finding.where},
                        {"what", finding.what},
                        {"expected", finding.expected},
                        {"remedy", finding.remedy}});
    return list;
}

json doctor_json(const PciTree& tree, const DoctorReport& report) {
    json nics = json::array();
    for (const PciAddress nic : report.question.nics)
        nics.push_back(function_json(tree, nic));
    json memories = json::array();
    for (const DoctorMemory& memory : report.question.memories)
        memories.push_back(function_json(tree, memory.address));
    json pairs = json::array();
    for (const DoctorPair& pair : report.pairs)
        pairs.push_back(pair_json(pair));
    json neighbours = json::array();
    for (const DoctorNeighbours& two : report.neighbours)
        neighbours.push_back(
            {{"nics", {two.one.to_string(), two.other.to_string()}}, {"way", to_string(two.way)}});
    return {{"verdict", verdict_text(report.verdict)},
            {"summary", report.summary},
            {"best_memory", report.best_memory ? json(report.best_memory->to_string()) : json()},
            {"nics", std::move(nics)},
            {"memories", std::move(memories)},
            {"pairs", std::move(pairs)},
            {"neighbours", std::move(neighbours)},
            {"findings", findings_json(report.findings)}};
}

}  // namespace pktpit::router::cli
