// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/model_experiment.h"

#include <charconv>

#include "config/read_file.h"
#include "offload/model/cpu_times.h"
#include "offload/model/traffic_pattern.h"
#include "router/cli/model_recording.h"

namespace pktpit::router::cli {
namespace {

Result<double> number(const std::string& where, const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size())
        return fail(where, "\"" + printable(text) + "\" is no number");
    return value;
}

Result<void> set_size(model::ExperimentSettings& settings, const std::string& text) {
    if (text == "imix") {
        settings.traffic.size = 0;
        return {};
    }
    const auto value = number("--size", text);
    if (!value || *value < 64 || *value > model::largest_frame)
        return fail("--size", "\"" + printable(text) + "\" cannot be",
                    "64 to " + std::to_string(model::largest_frame) + ", or imix");
    settings.traffic.size = static_cast<uint32_t>(*value);
    return {};
}

Result<void> set_program(model::ExperimentSettings& settings, const std::string& text) {
    for (const auto program : {model::Program::l3fwd, model::Program::p2pnic, model::Program::pktpit}) {
        if (to_string(program) != text) continue;
        settings.program = program;
        return {};
    }
    return fail("program", "\"" + printable(text) + "\" cannot be", "l3fwd, p2pnic or pktpit");
}

Result<void> set_transfer(model::ExperimentSettings& settings, const std::string& text) {
    for (const auto transfer : {model::Transfer::write, model::Transfer::read, model::Transfer::bounce}) {
        if (to_string(transfer) != text) continue;
        settings.transfer = transfer;
        return {};
    }
    return fail("transfer", "\"" + printable(text) + "\" cannot be", "write, read or bounce");
}

Result<double> between(const std::string& name, double value, double least, double most) {
    if (value >= least && value <= most) return value;
    return fail(name, "out of range", std::to_string(least) + " to " + std::to_string(most));
}

Result<void> set_table(model::ExperimentSettings& settings, const ModelOptions& options) {
    const auto table = options.table == "generated" ? model::RouteTable::generate(options.routes)
                                                    : model::RouteTable::open(options.table, options.routes);
    if (!table) return tl::unexpected(table.error());
    settings.table = *table;
    settings.destinations = std::make_shared<const model::Destinations>(**table, options.destinations,
                                                                        options.zipf, options.seed);
    return {};
}

Result<void> set_cpu_times(model::Profile& profile, const std::string& path) {
    const auto text = config::read_file(path);
    if (!text) return tl::unexpected(text.error());
    return model::take_cpu_times(profile, *text, path);
}

Result<void> set_traffic(ModelExperiment& experiment, const ModelOptions& options) {
    model::TrafficSettings& traffic = experiment.settings.traffic;
    if (options.matrix.empty()) {
        auto flows = model::pattern_flows(options.traffic, experiment.topology, options.ports, options.load);
        if (!flows) return tl::unexpected(flows.error());
        traffic.flows = std::move(*flows);
    } else {
        const auto text = config::read_file(options.matrix);
        if (!text) return tl::unexpected(text.error());
        auto flows = model::read_matrix(*text, experiment.topology, options.matrix);
        if (!flows) return tl::unexpected(flows.error());
        traffic.flows = std::move(*flows);
    }
    if (options.pcap.empty()) return {};
    const auto recording = read_recording(options.pcap);
    if (!recording) return tl::unexpected(recording.error());
    traffic.recording = *recording;
    traffic.recording_speed = options.pcap_speed;
    return {};
}

}  // namespace

Result<std::pair<std::string, double>> read_constant(const std::string& setting) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos)
        return fail("--set", "\"" + printable(setting) + "\" has no value", "NAME=VALUE");
    const auto value = number(setting.substr(0, equals), setting.substr(equals + 1));
    if (!value) return tl::unexpected(value.error());
    return std::pair(setting.substr(0, equals), *value);
}

Result<void> set_parameter(ModelExperiment& experiment, const std::string& name, const std::string& text) {
    model::ExperimentSettings& settings = experiment.settings;
    if (name == "size") return set_size(settings, text);
    if (name == "program") return set_program(settings, text);
    if (name == "transfer") return set_transfer(settings, text);
    const auto value = number(name, text);
    if (!value) return tl::unexpected(value.error());
    const auto assign = [&](double least, double most, const auto& to) -> Result<void> {
        const auto good = between(name, *value, least, most);
        if (!good) return tl::unexpected(good.error());
        to(*good);
        return {};
    };
    if (name == "slice")
        return assign(0, 128, [&](double good) { settings.slice = static_cast<unsigned>(good); });
    if (name == "write-load") return assign(0, 1, [&](double good) { settings.build.write_load = good; });
    if (name == "read-load") return assign(0, 1, [&](double good) { settings.build.read_load = good; });
    if (name == "load")
        return assign(0.0001, 1, [&](double good) {
            for (model::Flow& flow : settings.traffic.flows)
                flow.load = std::min(1.0, flow.load * good / experiment.load);
            experiment.load = good;
        });
    if (name == "burst")
        return assign(1, 1e6, [&](double good) { settings.traffic.burst = static_cast<unsigned>(good); });
    return experiment.profile.set(name, *value, "set on the command line");
}

tl::expected<ModelExperiment, model::Errors> read_experiment(const ModelOptions& options) {
    auto topology = model::Topology::open(options.topology);
    if (!topology) return tl::unexpected(topology.error());
    auto profile = model::Profile::open(options.profile);
    if (!profile) return tl::unexpected(profile.error());
    ModelExperiment experiment{std::move(*topology), std::move(*profile), {}};
    model::ExperimentSettings& settings = experiment.settings;
    settings.slice = options.slice;
    settings.traffic.poisson = options.poisson;
    settings.traffic.seed = options.seed;
    settings.build.write_load = options.write_load;
    settings.build.read_load = options.read_load;
    settings.warm_up = model::from_ns(options.warm_up_microseconds * 1e3);
    settings.duration = model::from_ns(options.milliseconds * 1e6);
    experiment.load = options.matrix.empty() ? options.load : 1;
    settings.traffic.burst = options.burst;
    settings.relaxed_payload = options.relaxed && options.operations.empty();
    settings.payload_memory = options.payload_memory;
    if (options.hot_add_microseconds >= 0)
        settings.hot_add = {1, model::from_ns(options.hot_add_microseconds * 1e3)};
    if (!options.operations.empty()) {
        model::OperationsSettings& operations = settings.operations.emplace();
        operations.mode = options.operations == "economy" ? model::OperationsMode::economy
                                                          : model::OperationsMode::performance;
        operations.batch = options.batch;
        operations.compile.relaxed = options.relaxed;
        operations.compile.fence = !options.no_fence;
        operations.generation_every = model::from_ns(options.fib_changes_microseconds * 1e3);
    }
    model::Errors errors;
    const auto note = [&](const Result<void>& result) {
        if (!result) errors.push_back(result.error());
    };
    note(set_traffic(experiment, options));
    if (!options.table.empty()) note(set_table(settings, options));
    if (!options.cpu_times.empty()) note(set_cpu_times(experiment.profile, options.cpu_times));
    note(set_size(settings, options.size));
    note(set_program(settings, options.program));
    note(set_transfer(settings, options.transfer));
    for (const std::string& setting : options.set) {
        const size_t equals = setting.find('=');
        if (equals == std::string::npos)
            errors.push_back({"--set", "\"" + printable(setting) + "\" has no value", "NAME=VALUE", ""});
        else
            note(set_parameter(experiment, setting.substr(0, equals), setting.substr(equals + 1)));
    }
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    return experiment;
}

}  // namespace pktpit::router::cli
