// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/result_json.h"

#include <nlohmann/json.hpp>

namespace pktpit::model {
namespace {

using nlohmann::json;

json to_json(const LinkResult& link) {
    json types = json::object();
    const LinkCounters& counters = link.counters;
    for (size_t i = 0; i < tlp_types; i++) {
        if (counters.tlps[i] == 0) continue;
        types[std::string(to_string(static_cast<TlpType>(i)))] = {
            {"tlps", counters.tlps[i]},
            {"wire_bytes", counters.wire_bytes[i]},
            {"payload_bytes", counters.payload_bytes[i]}};
    }
    return {{"from", link.from},
            {"to", link.to},
            {"utilisation", link.utilisation},
            {"types", std::move(types)},
            {"dllp_bytes", counters.dllp_bytes},
            {"discarded", counters.discarded}};
}

json to_json(const TraceEntry& entry) {
    json value = {{"begin_ns", to_ns(entry.begin)}, {"end_ns", to_ns(entry.end)}, {"what", entry.what}};
    if (!entry.is_tlp) {
        value["where"] = entry.from;
        return value;
    }
    value["from"] = entry.from;
    value["to"] = entry.to;
    value["wire_bytes"] = entry.wire_bytes;
    value["payload_bytes"] = entry.payload;
    return value;
}

json to_json(const OperationsResult& operations) {
    const PeerEngineCounters& engine = operations.engine;
    return {{"packets", operations.packets},
            {"launches", engine.launches},
            {"operations", engine.operations},
            {"copies", engine.copies},
            {"stores", engine.stores},
            {"fences", engine.fences},
            {"flushes", engine.flushes},
            {"doorbells", engine.doorbells},
            {"polls_waited", engine.polls},
            {"stale", engine.stale},
            {"refused", engine.refused},
            {"failed", engine.failed},
            {"interrupts", operations.interrupts},
            {"programs", operations.control.programs},
            {"generations", operations.control.generations}};
}

json to_json(const CheckLine& line) {
    json value = {{"row", line.row},
                  {"what", line.what},
                  {"expected", line.expected},
                  {"got", line.got},
                  {"origin", to_string(line.origin)},
                  {"verdict", to_string(line.verdict)},
                  {"source", line.source},
                  {"tolerance", nullptr}};
    if (line.tolerance)
        value["tolerance"] = {{"value", line.tolerance->value}, {"unit", line.tolerance->unit}};
    if (!line.follows_from.empty()) value["follows_from"] = line.follows_from;
    if (line.value) value["value"] = *line.value;
    if (line.band) value["band"] = {line.band->first, line.band->second};
    return value;
}

}  // namespace

json to_json(const ExperimentResult& result) {
    json value = {{"measured_ns", to_ns(result.measured)},
                  {"packets_per_second", result.packets_per_second},
                  {"bits_per_second", result.bits_per_second},
                  {"latency_ns",
                   {{"median", result.latency_median_ns},
                    {"mean", result.latency_mean_ns},
                    {"p99", result.latency_p99_ns}}},
                  {"traffic",
                   {{"offered", result.traffic.offered},
                    {"accepted", result.traffic.accepted},
                    {"delivered", result.traffic.delivered},
                    {"damaged", result.traffic.damaged},
                    {"doubled", result.traffic.doubled},
                    {"reordered", result.traffic.reordered}}},
                  {"cpu",
                   {{"utilisation", result.cpu_utilisation},
                    {"busiest_core", result.busiest_core},
                    {"bursts", result.cpu.bursts},
                    {"packets", result.cpu.packets},
                    {"doorbells", result.cpu.doorbells},
                    {"tx_full", result.cpu.tx_full}}},
                  {"events", result.events},
                  {"links", json::array()},
                  {"nics", json::array()}};
    for (const LinkResult& link : result.links)
        value["links"].push_back(to_json(link));
    for (const NicCounters& nic : result.nics)
        value["nics"].push_back({{"received", nic.received},
                                 {"sent", nic.sent},
                                 {"no_slot", nic.no_slot},
                                 {"no_route", nic.no_route},
                                 {"dma_errors", nic.dma_errors},
                                 {"fib_hits", nic.fib_hits},
                                 {"fib_misses", nic.fib_misses},
                                 {"stale_descriptors", nic.stale_descriptors}});
    if (const LlcCounters& llc = result.llc; llc.write_hits + llc.write_misses + llc.read_misses > 0)
        value["llc"] = {{"write_hits", llc.write_hits},    {"write_misses", llc.write_misses},
                        {"read_hits", llc.read_hits},      {"read_misses", llc.read_misses},
                        {"cpu_hits", llc.cpu_hits},        {"cpu_misses", llc.cpu_misses},
                        {"written_back", llc.written_back}};
    value["flows"] = json::array();
    for (const FlowCounters& flow : result.flows)
        value["flows"].push_back(
            {{"offered", flow.offered}, {"accepted", flow.accepted}, {"delivered", flow.delivered}});
    value["nic_loads"] = json::array();
    for (const NicLoad& load : result.nic_loads)
        value["nic_loads"].push_back({{"name", load.name},
                                      {"firmware", load.firmware},
                                      {"read_tags", load.tags},
                                      {"dma_writes", load.writes},
                                      {"dma_reads", load.reads}});
    if (result.operations.engine.launches > 0 || result.operations.engine.refused > 0)
        value["peer_operations"] = to_json(result.operations);
    if (!result.trace.empty()) {
        value["journey"] = json::array();
        for (const TraceEntry& entry : result.trace)
            value["journey"].push_back(to_json(entry));
    }
    return value;
}

json to_json(const CheckReport& report) {
    json value = {{"lines", json::array()}, {"series", json::array()}};
    for (const CheckLine& line : report.lines)
        value["lines"].push_back(to_json(line));
    for (const auto& [name, text] : report.plots)
        value["plots"][name] = {{"title", text.title}, {"x", text.x}, {"y", text.y}};
    for (const CheckPlotSeries& series : report.series)
        value["series"].push_back({{"plot", series.plot},
                                   {"series", series.series},
                                   {"points", series.points},
                                   {"measured", series.measured}});
    return value;
}

json to_json(const Profile& profile) {
    json value = {{"name", profile.name()}, {"about", profile.about()}, {"constants", json::object()}};
    for (const ConstantRule& rule : constant_rules()) {
        const Constant& constant = profile.constants().find(rule.name)->second;
        value["constants"][std::string(rule.name)] = {{"value", constant.value},
                                                      {"source", constant.source},
                                                      {"calibrated", constant.calibrated},
                                                      {"meaning", rule.meaning}};
    }
    return value;
}

}  // namespace pktpit::model
