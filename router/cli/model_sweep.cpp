// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/model_sweep.h"

#include <atomic>
#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "base/quoted.h"
#include "offload/model/result_json.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

/// FNV-1a: parts of one sweep have the same.
std::string fingerprint(const ModelExperiment& experiment, const std::vector<SweepParameter>& parameters) {
    const model::ExperimentSettings& settings = experiment.settings;
    std::ostringstream text;
    text << experiment.topology.to_json_text() << to_json(experiment.profile).dump() << '/'
         << to_string(settings.program) << '/' << to_string(settings.transfer) << '/' << settings.slice << '/'
         << settings.traffic.size << '/' << settings.traffic.poisson << '/' << settings.traffic.seed << '/'
         << settings.traffic.burst << '/' << settings.duration << '/' << settings.warm_up << '/'
         << settings.relaxed_payload << '/' << settings.payload_memory << '/' << settings.build.write_load
         << '/' << settings.build.read_load << '/' << settings.operations.has_value() << '/'
         << settings.hot_add.has_value() << '/' << settings.traffic.recording_speed;
    if (settings.table) text << '/' << settings.table->origin() << settings.table->prefixes().size();
    if (settings.traffic.recording) text << '/' << settings.traffic.recording->frames().size();
    for (const model::Flow& flow : settings.traffic.flows)
        text << '/' << flow.from_nic << ' ' << flow.from_port << ' ' << flow.to_nic << ' ' << flow.to_port
             << ' ' << flow.load;
    for (const SweepParameter& parameter : parameters) {
        text << '/' << parameter.name;
        for (const std::string& value : parameter.values)
            text << ' ' << value;
    }
    uint64_t hash = 14695981039346656037U;
    for (const char c : text.str())
        hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
    std::ostringstream digits;
    digits << std::hex << hash;
    return digits.str();
}

std::vector<std::string> values_of(const std::vector<SweepParameter>& parameters, size_t point) {
    std::vector<std::string> values(parameters.size());
    for (size_t i = parameters.size(); i-- > 0;) {
        values[i] = parameters[i].values[point % parameters[i].values.size()];
        point /= parameters[i].values.size();
    }
    return values;
}

Result<json> run_point(ModelExperiment experiment, const std::vector<SweepParameter>& parameters,
                       size_t point) {
    const std::vector<std::string> values = values_of(parameters, point);
    json entry = {{"point", point}};
    for (size_t i = 0; i < parameters.size(); i++) {
        if (auto good = set_parameter(experiment, parameters[i].name, values[i]); !good)
            return tl::unexpected(good.error());
        entry[parameters[i].name] = values[i];
    }
    const auto result = run_experiment(experiment.topology, experiment.profile, experiment.settings);
    if (!result) return tl::unexpected(result.error());
    entry["result"] = to_json(*result);
    return entry;
}

/// A line for each value of the second parameter, over the first.
void add_plots(json& document) {
    const json& parameters = document.at("sweep").at("parameters");
    const std::string first = parameters.at(0).at("name");
    const std::string about = document.at("sweep").at("about");
    std::string name = "sweep-" + first;
    if (parameters.size() > 1) name += "-" + parameters.at(1).at("name").get<std::string>();
    for (char& c : name)
        if (c == '_') c = '-';
    document["plots"][name] = {{"title", about + " (simulated)"}, {"x", first}, {"y", "million packets/s"}};
    document["series"] = json::array();
    for (const json& entry : document.at("results")) {
        const std::string of = parameters.size() == 1
                                   ? about
                                   : parameters.at(1).at("name").get<std::string>() + " " +
                                         entry.at(parameters.at(1).at("name")).get<std::string>();
        json* series = nullptr;
        for (json& one : document["series"])
            if (one.at("series") == of) series = &one;
        if (!series)
            series = &document["series"].emplace_back(
                json{{"plot", name}, {"series", of}, {"points", json::array()}});
        double x = static_cast<double>((*series)["points"].size());
        std::istringstream(entry.at(first).get<std::string>()) >> x;
        (*series)["points"].push_back({x, entry.at("result").at("packets_per_second").get<double>() / 1e6});
    }
}

/// Throws where it is another kind of number: a conversion would make something of it.
size_t number_at(const json& object, const char* name) {
    return object.at(name).get_ref<const json::number_unsigned_t&>();
}

/// Null: nothing is there, or something else than an object on the way to it.
json value_at(const json& document, const char* pointer) {
    try {
        return document.at(json::json_pointer(pointer));
    } catch (const json::exception&) {
        return {};
    }
}

struct ResultColumn {
    const char* name;
    const char* pointer;
};
constexpr std::array result_columns = {ResultColumn{"packets_per_second", "/packets_per_second"},
                                       ResultColumn{"bits_per_second", "/bits_per_second"},
                                       ResultColumn{"latency_median_ns", "/latency_ns/median"},
                                       ResultColumn{"latency_mean_ns", "/latency_ns/mean"},
                                       ResultColumn{"latency_p99_ns", "/latency_ns/p99"},
                                       ResultColumn{"offered", "/traffic/offered"},
                                       ResultColumn{"delivered", "/traffic/delivered"},
                                       ResultColumn{"cpu_utilisation", "/cpu/utilisation"},
                                       ResultColumn{"busiest_core", "/cpu/busiest_core"},
                                       ResultColumn{"events", "/events"}};

}  // namespace

Result<SweepPart> read_part(const std::string& text) {
    SweepPart part;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, part.part);
    const bool slash = first.ec == std::errc{} && first.ptr != end && *first.ptr == '/';
    const auto second = slash ? std::from_chars(first.ptr + 1, end, part.parts) : first;
    if (!slash || second.ec != std::errc{} || second.ptr != end || part.part < 1 || part.part > part.parts)
        return fail("--part", pktpit::quoted(text) + " cannot be", "K/N, K from 1 to N");
    return part;
}

Result<json> run_sweep(const ModelExperiment& experiment, const std::vector<SweepParameter>& parameters,
                       const SweepPart& part, unsigned threads,
                       const std::function<void(size_t, size_t)>& progress) {
    size_t points = 1;
    json described = json::array();
    for (const SweepParameter& parameter : parameters) {
        points *= parameter.values.size();
        described.push_back({{"name", parameter.name}, {"values", parameter.values}});
    }
    std::vector<size_t> own;
    for (size_t point = part.part - 1; point < points; point += part.parts)
        own.push_back(point);
    std::vector<std::optional<Result<json>>> results(own.size());
    std::atomic<size_t> next = 0;
    std::mutex telling;
    size_t done = 0;
    const auto work = [&] {
        for (size_t i = next++; i < own.size(); i = next++) {
            results[i] = run_point(experiment, parameters, own[i]);
            const std::lock_guard lock(telling);
            if (progress) progress(++done, own.size());
        }
    };
    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < std::min<size_t>(threads, own.size()); i++)
        workers.emplace_back(work);
    work();
    workers.clear();

    const model::ExperimentSettings& settings = experiment.settings;
    const std::string program =
        std::string(to_string(settings.program)) +
        (settings.program == model::Program::l3fwd ? "" : " " + std::string(to_string(settings.transfer)));
    json document = {{"sweep",
                      {{"parameters", described},
                       {"points", points},
                       {"about", program + ", profile " + experiment.profile.name()},
                       {"fingerprint", fingerprint(experiment, parameters)}}},
                     {"results", json::array()}};
    for (auto& result : results) {
        if (!*result) return tl::unexpected(result->error());
        document["results"].push_back(std::move(**result));
    }
    add_plots(document);
    return document;
}

Result<json> merge_sweeps(const std::vector<json>& documents, const std::vector<std::string>& names) {
    json merged;
    size_t points = 0;
    std::map<size_t, std::pair<json, std::string>> by_point;  // the entry, and whose it is
    for (size_t i = 0; i < documents.size(); i++) {
        try {
            const json& sweep = documents[i].at("sweep");
            if (i == 0) {
                merged["sweep"] = sweep;
                points = number_at(sweep, "points");
            }
            if (sweep != merged["sweep"])
                return fail(names[i], "is of another sweep than " + names[0],
                            "the same words for all parts, but for --part");
            std::vector<std::string> parameters;
            for (const json& parameter : sweep.at("parameters"))
                parameters.push_back(parameter.at("name"));
            for (const json& entry : documents[i].at("results")) {
                const size_t point = number_at(entry, "point");
                if (point >= points) return fail(names[i], "has a point that the sweep has not");
                for (const std::string& parameter : parameters)
                    (void)entry.at(parameter).get_ref<const std::string&>();
                (void)entry.at("result").at("packets_per_second").get<double>();
                const auto [place, added] = by_point.emplace(point, std::pair{entry, names[i]});
                if (!added)
                    return fail(names[i],
                                "has point " + std::to_string(point) + ", as " + place->second.second);
            }
        } catch (const json::exception&) {
            return fail(names[i], "no results of a sweep", "what `pktpit model sweep --json` wrote");
        }
    }
    merged["results"] = json::array();
    for (size_t point = 0; point < points; point++) {
        const auto found = by_point.find(point);
        if (found == by_point.end())
            return fail("",
                        "point " + std::to_string(point) + " of " + std::to_string(points) +
                            " is in none of the files",
                        "all parts");
        merged["results"].push_back(std::move(found->second.first));
    }
    try {
        add_plots(merged);
    } catch (const json::exception&) {
        return fail(names[0], "no results of a sweep", "what `pktpit model sweep --json` wrote");
    }
    return merged;
}

std::string csv_field(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    std::string quoted = "\"";
    for (const char c : text)
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    return quoted + '"';
}

std::string result_csv_header() {
    std::string line;
    for (const ResultColumn& column : result_columns)
        line += (line.empty() ? "" : ",") + std::string(column.name);
    return line;
}

std::string result_csv(const json& result) {
    std::string line;
    for (const ResultColumn& column : result_columns) {
        const json value = value_at(result, column.pointer);
        line += (line.empty() ? "" : ",") + (value.is_null() ? std::string() : value.dump());
    }
    return line;
}

std::string sweep_csv(const json& document) {
    std::string text;
    const json& parameters = document.at("sweep").at("parameters");
    for (const json& parameter : parameters)
        text += csv_field(parameter.at("name")) + ",";
    text += result_csv_header() + "\r\n";
    for (const json& entry : document.at("results")) {
        for (const json& parameter : parameters)
            text += csv_field(entry.at(parameter.at("name").get<std::string>())) + ",";
        text += result_csv(entry.at("result")) + "\r\n";
    }
    return text;
}

}  // namespace pktpit::router::cli
