// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/common_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>

namespace pktpit::bench::harness {
namespace {

constexpr Timing quick_timing{.warm_up = std::chrono::milliseconds(50),
                              .window = std::chrono::milliseconds(100)};

template <typename Value>
struct Named {
    const char* name;
    Value value;
};

constexpr Named<Traffic> all_traffic[] = {
    {"uniform", Traffic::uniform}, {"zipf", Traffic::zipf}, {"one", Traffic::one_flow}};
/// Those that frames come over a wire in.
constexpr Named<Cores> all_cores[] = {
    {"two-core", Cores::two_core}, {"one-core", Cores::one_core}, {"free-receive", Cores::free_receive}};

template <typename Value, size_t count>
std::vector<std::string> names(const Named<Value> (&known)[count]) {
    std::vector<std::string> all;
    for (const auto& one : known)
        all.emplace_back(one.name);
    return all;
}

template <typename Value, size_t count>
std::string name_in(const Named<Value> (&known)[count], Value value) {
    return std::find_if(std::begin(known), std::end(known),
                        [&](const auto& one) { return one.value == value; })
        ->name;
}

/// CLI11 has checked that there is one of this name.
template <typename Value, size_t count>
Value named(const Named<Value> (&known)[count], const std::string& name) {
    return std::find_if(std::begin(known), std::end(known), [&](const auto& one) { return one.name == name; })
        ->value;
}

/// An option for any number of `known` by name.
template <typename Value, size_t count>
CLI::Option* add_named(CLI::App& app, const std::string& option, const Named<Value> (&known)[count],
                       std::vector<Value>& values, const std::string& help) {
    const auto take = [&known, &values](const std::vector<std::string>& words) {
        values.clear();
        for (const std::string& word : words)
            values.push_back(named(known, word));
    };
    return app.add_option_function<std::vector<std::string>>(option, take, help)
        ->delimiter(',')
        ->check(CLI::IsMember(names(known)));
}

CLI::Option* add_milliseconds(CLI::App& app, const std::string& option, std::chrono::milliseconds& value,
                              const std::string& help) {
    return app
        .add_option_function<unsigned>(
            option, [&value](unsigned count) { value = std::chrono::milliseconds(count); }, help)
        ->default_str(std::to_string(value.count()));
}

std::optional<int> guarded(CLI::App& app, const std::function<void()>& parse) {
    try {
        parse();
    } catch (const CLI::ParseError& error) {
        return app.exit(error);
    }
    return std::nullopt;
}

}  // namespace

void RoundOptions::shorten() {
    rounds = 5;
    timing.warm_up = quick_timing.warm_up;
    timing.window = quick_timing.window;
}

std::string command_of(int argc, char** argv) {
    std::string command;
    for (int i = 0; i < argc; i++)
        command += (i ? " " : "") + std::string(argv[i]);
    return command;
}

std::string built_daemon() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "router/pktpitd";
}

void add_data(CLI::App& app, CommonOptions& options, const std::string& what) {
    app.add_option("--data", options.data,
                   "folder of " + what + ", instead of the one that the variable PKTPIT_DATA names");
}

void add_results(CLI::App& app, CommonOptions& options) {
    app.add_option("--results", options.results, "folder for the report's files: text, JSON, plots");
}

void add_json(CLI::App& app, CommonOptions& options, const std::string& help) {
    app.add_option("--json", options.json, help);
}

void add_quick(CLI::App& app, CommonOptions& options, const std::string& help) {
    app.add_flag("--quick", options.quick, help);
}

void add_rounds(CLI::App& app, unsigned& rounds, const std::string& name, const std::string& help) {
    app.add_option(name, rounds, help)->check(CLI::Range(1, 1000))->capture_default_str();
}

void add_round_options(CLI::App& app, RoundOptions& options, const std::string& row,
                       const std::string& meanwhile) {
    add_rounds(app, options.rounds, "--rounds", "rounds of each panel");
    add_milliseconds(app, "--window", options.timing.window, "ms measured a " + row + " and round")
        ->check(CLI::Range(20, 600000));
    add_milliseconds(app, "--warm-up", options.timing.warm_up, meanwhile + " before it")
        ->check(CLI::Range(0, 60000));
}

void add_families(CLI::App& app, const std::string& name, std::vector<Family>& families) {
    const auto take = [&families](const std::vector<int>& versions) {
        families.clear();
        for (const int version : versions)
            families.push_back(version == 4 ? Family::ipv4 : Family::ipv6);
    };
    app.add_option_function<std::vector<int>>(name, take, "4 and 6, or one of them")
        ->delimiter(',')
        ->check(CLI::IsMember({4, 6}));
}

void add_family(CLI::App& app, Family& family) {
    const auto take = [&family](int version) { family = version == 4 ? Family::ipv4 : Family::ipv6; };
    app.add_option_function<int>("--family", take, "4 or 6")->check(CLI::IsMember({4, 6}));
}

void add_traffic(CLI::App& app, std::vector<Traffic>& traffic) {
    add_named(app, "--traffic", all_traffic, traffic,
              "destinations: uniform over the routes, Zipf(1.0) over them, or one")
        ->default_str("[" + name_in(all_traffic, traffic.front()) + "]");
}

void add_cores(CLI::App& app, std::vector<Cores>& cores, const std::string& help) {
    add_named(app, "--cores", all_cores, cores, help);
}

void add_cores(CLI::App& app, Cores& cores) {
    app.add_option_function<std::string>(
           "--cores", [&cores](const std::string& word) { cores = named(all_cores, word); },
           "which core pays for what (docs/benchmarks.md)")
        ->check(CLI::IsMember(names(all_cores)))
        ->default_str(name_in(all_cores, cores));
}

void add_forwarders(CLI::App& app, std::vector<std::string>& rows, const std::vector<std::string>& known,
                    const std::string& help) {
    app.add_option("--forwarders", rows, help)
        ->delimiter(',')
        ->check(CLI::IsMember(known))
        ->capture_default_str();
}

void add_routes(CLI::App& app, std::vector<size_t>& routes, const std::string& help) {
    app.add_option("--routes", routes, help)->delimiter(',')->capture_default_str();
}

void add_daemon(CLI::App& app, std::string& binary) {
    app.add_option("--pktpitd", binary, "the daemon to measure")->capture_default_str();
}

std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv) {
    return guarded(app, [&] { app.parse(argc, argv); });
}

std::optional<int> parse_arguments(CLI::App& app, std::vector<std::string> words) {
    std::reverse(words.begin(), words.end());  // as CLI11 takes a vector
    return guarded(app, [&] { app.parse(words); });
}

}  // namespace pktpit::bench::harness
