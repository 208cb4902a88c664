// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/check_programs.h"

#include <algorithm>
#include <stdexcept>

namespace pktpit::model {

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

ExperimentSettings routed(const std::shared_ptr<const RouteTable>& table,
                          const std::shared_ptr<const Destinations>& where, const Contender& contender,
                          uint32_t size, double load) {
    ExperimentSettings settings = settings_for(contender, size, 1, load);
    settings.table = table;
    settings.destinations = where;
    return settings;
}

std::shared_ptr<const Destinations> spread_over(const std::shared_ptr<const RouteTable>& table) {
    return std::make_shared<const Destinations>(*table, 65536, 0, 1);
}

ExperimentResult run_checked(const Topology& topology, const Profile& profile,
                             const ExperimentSettings& settings) {
    auto result = run_experiment(topology, profile, settings);
    if (!result) throw std::runtime_error(result.error().to_string());
    return std::move(*result);
}

double mpps(const ExperimentResult& result) {
    return result.packets_per_second / 1e6;
}

namespace {

constexpr double used_up = 0.97;
constexpr const char* line_rate = "nothing: line rate";
constexpr const char* the_cpu = "the CPU";

const LinkResult& busiest_link(const ExperimentResult& result) {
    return *std::ranges::max_element(result.links, {}, &LinkResult::utilisation);
}

/// Neither a link nor the CPU is used up: then it is a NIC's part that is, or is most.
std::string busiest_part(const ExperimentResult& result) {
    std::string name;
    double most = 0;
    for (const NicLoad& nic : result.nic_loads)
        for (const auto& [part, load] : {std::pair("firmware", nic.firmware),
                                         {"read tags", nic.tags},
                                         {"DMA writes", nic.writes},
                                         {"DMA reads", nic.reads}})
            if (load > most) {
                most = load;
                name = nic.name + "'s " + part;
            }
    const std::string part = name + ", " + fixed(most * 100, 0) + " % in use";
    return most >= used_up ? part : "that one waits for another; most in use: " + part;
}

}  // namespace

std::string busiest(const ExperimentResult& result) {
    const LinkResult& most = busiest_link(result);
    return most.from + " → " + most.to + " " + fixed(most.utilisation * 100, 0) + " % busy, CPU " +
           fixed(result.cpu_utilisation * 100, 0) + " % with bursts of " +
           fixed(static_cast<double>(result.cpu.packets) /
                     static_cast<double>(std::max<uint64_t>(result.cpu.bursts, 1)),
                 1);
}

std::string what_limits(const ExperimentResult& result) {
    const auto offered = static_cast<double>(result.traffic.offered);
    if (static_cast<double>(result.traffic.delivered) >= 0.995 * offered) return line_rate;
    if (const LinkResult& link = busiest_link(result); link.utilisation >= used_up)
        return "PCIe " + link.from + " → " + link.to;
    // Full bursts are a CPU that is behind; one that polls for single packets is busy and has time.
    const double burst = static_cast<double>(result.cpu.packets) /
                         static_cast<double>(std::max<uint64_t>(result.cpu.bursts, 1));
    if (result.busiest_core >= used_up && burst > 16) return the_cpu;
    return busiest_part(result);
}

Limit limit_of(const ExperimentResult& result, const Profile& profile, Program program) {
    const auto of_constant = [&](const char* name) {
        const bool calibrated = profile.constants().find(name)->second.calibrated;
        return Limit{calibrated ? Origin::calibrated : Origin::put_in, name};
    };
    const std::string limit = what_limits(result);
    if (limit == line_rate) return {Origin::exact, "line rate"};
    if (limit == the_cpu)
        return of_constant(program == Program::l3fwd ? "cpu.packet_ns" : "cpu.slice_packet_ns");
    if (limit.starts_with("nic0's firmware"))
        return of_constant(program == Program::p2pnic ? "nic.ingress_ns" : "nic.slice_ns");
    return {};
}

Limit limit_of_all(const std::vector<Limit>& limits) {
    Limit all{Origin::exact, ""};
    for (const Limit& limit : limits) {
        if (limit.origin == Origin::emergent) return {};
        if (limit.origin == Origin::put_in || all.origin == Origin::exact) all.origin = limit.origin;
        if (all.name.find(limit.name) == std::string::npos)
            all.name += (all.name.empty() ? "" : ", ") + limit.name;
    }
    return all;
}

std::vector<Sensitivity> sensitivity(const Profile& profile, std::initializer_list<const char*> constants,
                                     const std::function<double(const Profile&)>& measure) {
    std::vector<Sensitivity> all;
    for (const char* name : constants) {
        Sensitivity& one = all.emplace_back();
        one.constant = name;
        for (const auto& [factor, result] : {std::pair(0.5, &one.halved), {2.0, &one.doubled}}) {
            Profile changed = profile;
            (void)changed.set(name, profile.value(name) * factor, "sensitivity");
            *result = measure(changed);
        }
    }
    return all;
}

std::string turn_sign(const std::vector<Sensitivity>& all, double nominal) {
    std::string names;
    for (const Sensitivity& one : all)
        if ((one.halved < 0) != (nominal < 0) || (one.doubled < 0) != (nominal < 0))
            names += (names.empty() ? "" : ", ") + one.constant;
    return names;
}

double background_latency(const Topology& topology, const Profile& profile, ExperimentSettings settings) {
    settings.traffic.poisson = true;
    return run_checked(topology, profile, settings).latency_median_ns;
}

Profile with_habit(const Profile& profile, const DescriptorHabit& habit) {
    Profile changed = profile;
    (void)changed.set("nic.writeback_batch", habit.line, "band");
    (void)changed.set("nic.descriptor_batch", habit.batch, "band");
    return changed;
}

std::pair<double, double> band_of(std::span<const double> values) {
    const auto [least, most] = std::ranges::minmax(values);
    return {least, most};
}

std::optional<double> value_that_meets(const Profile& profile, const char* constant, double wanted,
                                       const std::function<double(const Profile&)>& measure) {
    const auto at = [&](double value) {
        Profile changed = profile;
        const auto good = changed.set(constant, value, "sensitivity");
        return good ? std::optional(measure(changed)) : std::nullopt;
    };
    double low = profile.value(constant) / 8, high = profile.value(constant) * 8;
    const auto first = at(low), last = at(high);
    if (!first || !last || (*first < wanted) == (*last < wanted)) return std::nullopt;
    const bool rises = *first < *last;
    for (int i = 0; i < 9; i++) {
        const double middle = (low + high) / 2;
        ((*at(middle) < wanted) == rises ? low : high) = middle;
    }
    return (low + high) / 2;
}

}  // namespace pktpit::model
