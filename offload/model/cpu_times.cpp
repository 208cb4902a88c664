// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/cpu_times.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/json/parse.h"

namespace pktpit::model {
namespace {

using nlohmann::json;

/// The fastest of the rows of these names; 0: none.
double fastest(const json& panel, std::initializer_list<std::string_view> names) {
    double most = 0;
    for (const json& series : panel.at("series"))
        if (std::ranges::find(names, series.at("forwarder").get_ref<const std::string&>()) != names.end())
            most = std::max(most, series.at("mpps").at("median").get<double>());
    return most;
}

const json* largest_panel(const json& document) {
    const json* largest = nullptr;
    for (const json& panel : document.at("panels")) {
        if (panel.at("family") != "ipv4" || panel.at("cores") != "cpu") continue;
        if (!largest || panel.at("routes").get<uint64_t>() > largest->at("routes").get<uint64_t>())
            largest = &panel;
    }
    return largest;
}

}  // namespace

Result<void> take_cpu_times(Profile& profile, std::string_view json_text, const std::string& name) {
    constexpr const char* expected = "what `bench_cpu --json` wrote, with rows l3fwd and pktpit dpdk";
    double l3fwd = 0, pktpit = 0;
    uint64_t routes = 0;
    try {
        const json document = parse_json(json_text);
        const json* panel = largest_panel(document);
        if (!panel) return fail(name, "has no IPv4 panel of one core", expected);
        routes = panel->at("routes").get<uint64_t>();
        l3fwd = fastest(*panel, {"l3fwd lpm", "l3fwd fib"});
        pktpit = fastest(*panel, {"pktpit dpdk"});
    } catch (const json::exception&) {
        return fail(name, "is no report", expected);
    }
    if (!(l3fwd > 0) || !(pktpit > 0)) return fail(name, "lacks a row", expected);
    const std::string source = "bench_cpu on a machine of the user's (" + name + ", " +
                               std::to_string(routes) + " routes): 1 / rate of one core, ";
    Profile changed = profile;
    for (const auto& [constant, value, row] : {std::tuple("cpu.packet_ns", 1000 / l3fwd, "l3fwd"),
                                               {"cpu.slice_packet_ns", 1000 / pktpit, "pktpit"},
                                               {"cpu.burst_ns", 0.0, "contained in the rates"}})
        if (auto good = changed.set(constant, value, source + row); !good) return good;
    profile = std::move(changed);
    return {};
}

}  // namespace pktpit::model
