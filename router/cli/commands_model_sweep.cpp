// SPDX-License-Identifier: BSD-3-Clause
// `pktpit model sweep`, `merge` and `answer`.
#include <algorithm>
#include <ostream>
#include <thread>

#include "base/json/parse.h"
#include "config/read_file.h"
#include "offload/model/answer.h"
#include "offload/model/check.h"
#include "offload/model/lspci.h"
#include "router/cli/format.h"
#include "router/cli/model_sweep.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

int print_sweep(const Session& session, const ModelOptions& options, const json& document) {
    if (options.csv) {
        session.terminal.out << sweep_csv(document);
    } else if (session.json) {
        print_json(session, document);
    } else {
        for (const json& entry : document.at("results")) {
            std::string words;
            for (const json& parameter : document.at("sweep").at("parameters")) {
                const std::string name = parameter.at("name");
                words +=
                    (words.empty() ? "" : ", ") + name + " " + printable(entry.at(name).get<std::string>());
            }
            const json& result = entry.at("result");
            session.terminal.out << words << ": " << format_packet_rate(result.at("packets_per_second"))
                                 << ", " << format_bit_rate(result.at("bits_per_second"))
                                 << "; latency median "
                                 << model::fixed(result.at("latency_ns").at("median"), 0) << " ns, p99 "
                                 << model::fixed(result.at("latency_ns").at("p99"), 0) << " ns\n";
        }
    }
    return exit_ok;
}

std::string range(const model::AnswerRange& range, int digits) {
    const std::string least = model::fixed(range.least, digits), most = model::fixed(range.most, digits);
    return least == most ? least : least + " to " + most;
}

json to_json(const model::AnswerRange& range) {
    return {range.least, range.most};
}

json to_json(const model::Answer& answer) {
    json value = {{"simulated", true},         {"topology", answer.topology},
                  {"profile", answer.profile}, {"from", answer.from},
                  {"to", answer.to},           {"in_the_way", answer.path},
                  {"guesses", answer.guesses}, {"lines", json::array()}};
    for (const model::AnswerLine& line : answer.lines)
        value["lines"].push_back({{"size", line.size ? json(line.size) : json("imix")},
                                  {"l3fwd_mpps", to_json(line.l3fwd)},
                                  {"p2pnic_mpps", to_json(line.p2pnic)},
                                  {"pktpit_mpps", to_json(line.pktpit)},
                                  {"p2pnic_of_l3fwd", to_json(line.p2pnic_ratio)},
                                  {"pktpit_of_l3fwd", to_json(line.pktpit_ratio)},
                                  {"p2pnic_latency_of_l3fwd", to_json(line.p2pnic_latency)},
                                  {"pktpit_latency_of_l3fwd", to_json(line.pktpit_latency)},
                                  {"root_gbytes_spared", to_json(line.memory_gbytes)},
                                  {"l3fwd_limit", line.l3fwd_limit},
                                  {"pktpit_limit", line.pktpit_limit}});
    return value;
}

void print_answer(const Session& session, const model::Answer& answer, unsigned cores) {
    std::ostream& out = session.terminal.out;
    out << "What P2P would bring from " << printable(answer.from) << " to " << printable(answer.to)
        << ", by a model: nothing here is measured.\nTopology " << printable(answer.topology) << ", profile "
        << printable(answer.profile) << ", cores that forward: " << cores
        << ". Bands from least to most over what nobody knows of the machine:\n"
        << answer.guesses.front() << " … " << answer.guesses.back() << " (" << answer.guesses.size()
        << " guesses)\n";
    for (const std::string& way : answer.path)
        out << "In the way: " << printable(way) << '\n';
    for (const model::AnswerLine& line : answer.lines) {
        out << '\n'
            << session.terminal.paint(Colour::bold, line.size ? std::to_string(line.size) + " B" : "IMIX")
            << "\n  rate          l3fwd " << range(line.l3fwd, 1) << " Mpps (limit: " << line.l3fwd_limit
            << ")\n                P2PNIC " << range(line.p2pnic_ratio, 2) << " x of it; Pktpit "
            << range(line.pktpit_ratio, 2) << " x (" << range(line.pktpit, 1)
            << " Mpps, limit: " << line.pktpit_limit << ")\n  latency       at a tenth of line rate: P2PNIC "
            << range(line.p2pnic_latency, 2) << " x of l3fwd's, Pktpit " << range(line.pktpit_latency, 2)
            << " x\n  root complex  payload through it, both directions together, l3fwd's less Pktpit's: "
            << range(line.memory_gbytes, 1) << " GB/s\n";
    }
}

Result<model::Topology> topology_of(const ModelOptions& options) {
    if (!options.lspci.empty()) {
        const auto text = config::read_file(options.lspci);
        if (!text) return tl::unexpected(text.error());
        return model::import_lspci(*text, options.gbps);
    }
    const auto tree = read_tree(options);
    if (!tree) return tl::unexpected(tree.error());
    return model::import_topology(*tree, options.gbps);
}

}  // namespace

int model_sweep(const Session& session, const ModelOptions& options) {
    const auto experiment = read_experiment(options);
    if (!experiment) return print_errors(session, experiment.error());
    std::vector<SweepParameter> parameters = {{options.parameter, options.values}};
    if (!options.parameter2.empty()) parameters.push_back({options.parameter2, options.values2});
    if (parameters.size() > 1 && parameters[0].name == parameters[1].name)
        return print_failure(session, {"--parameter2", "is --parameter", "another one", ""}, exit_wrong);
    SweepPart part;
    if (!options.part.empty()) {
        const auto read = read_part(options.part);
        if (!read) return print_failure(session, read.error(), exit_wrong);
        part = *read;
    }
    const unsigned threads = options.jobs ? options.jobs : std::max(std::thread::hardware_concurrency(), 1U);
    const auto document = run_sweep(*experiment, parameters, part, threads, [&](size_t done, size_t all) {
        if (session.terminal.interactive)
            session.terminal.err << '\r' << done << " of " << all << (done == all ? "\r" : "") << std::flush;
    });
    if (!document) return print_failure(session, document.error(), exit_wrong);
    return print_sweep(session, options, *document);
}

int model_merge(const Session& session, const ModelOptions& options) {
    std::vector<json> documents;
    for (const std::string& path : options.files) {
        const auto text = config::read_file(path);
        if (!text) return print_failure(session, text.error(), exit_wrong);
        documents.push_back(parse_json(*text));
    }
    const auto merged = merge_sweeps(documents, options.files);
    if (!merged) return print_failure(session, merged.error(), exit_wrong);
    if (!options.csv && !session.json) {
        Session as_json = session;
        as_json.json = true;
        return print_sweep(as_json, options, *merged);
    }
    return print_sweep(session, options, *merged);
}

int model_allreduce(const Session& session, const ModelOptions& options) {
    model::AllreduceSettings settings = options.allreduce;
    if (options.store_and_forward) settings.buffering = model::Buffering::store_and_forward;
    settings.copy_latency = model::from_ns(options.copy_ns);
    const auto result = model::run_allreduce(settings);
    if (!result) return print_failure(session, result.error(), exit_wrong);
    if (session.json) {
        print_json(session, {{"simulated", true},
                             {"first_us", model::to_ns(result->first) / 1e3},
                             {"all_us", model::to_ns(result->all) / 1e3},
                             {"gbps", result->gbps},
                             {"frames", result->frames},
                             {"most_frames_held", result->most_held},
                             {"wrong_sums", result->wrong_sums},
                             {"events", result->events}});
        return result->wrong_sums == 0 ? exit_ok : exit_wrong;
    }
    session.terminal.out << settings.messages << (settings.messages == 1 ? " message" : " messages") << " of "
                         << format_bytes(settings.message_bytes) << ", " << settings.workers
                         << " workers, by a model: the first sum after "
                         << format_nanoseconds(result->first / model::nanosecond) << ", the last after "
                         << format_nanoseconds(result->all / model::nanosecond) << "; "
                         << model::fixed(result->gbps, 2) << " Gbit/s; the router took "
                         << format_count(result->frames) << " frames and held "
                         << format_count(result->most_held) << " of a worker at most; " << result->wrong_sums
                         << " wrong sums\n";
    return result->wrong_sums == 0 ? exit_ok : exit_wrong;
}

int model_answer(const Session& session, const ModelOptions& options) {
    const bool chosen = options.topology != ModelOptions{}.topology;
    model::Topology topology;
    if (chosen) {
        auto opened = model::Topology::open(options.topology);
        if (!opened) return print_errors(session, opened.error());
        topology = std::move(*opened);
    } else {
        auto imported = topology_of(options);
        if (!imported) return print_failure(session, imported.error(), exit_wrong);
        topology = std::move(*imported);
    }
    const auto profile = model::Profile::open(options.profile);
    if (!profile) return print_errors(session, profile.error());
    const auto answer = model::answer_for(topology, *profile, options.cores, [&](const std::string& what) {
        if (session.terminal.interactive) session.terminal.err << what << '\n';
    });
    if (!answer) return print_failure(session, answer.error(), exit_wrong);
    if (session.json)
        print_json(session, to_json(*answer));
    else
        print_answer(session, *answer, options.cores);
    return exit_ok;
}

}  // namespace pktpit::router::cli
