// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/commands_bench.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <ostream>

#include "base/json/nearest.h"
#include "router/cli/commands.h"
#include "router/cli/format.h"

namespace pktpit::router::cli {
namespace {

struct Benchmark {
    const char* name;
    bool has_results;
    const char* description;
};

constexpr std::array benchmarks{
    Benchmark{"wire", true, "whole forwarders over veth (root)"},
    Benchmark{"cpu", true, "what a packet costs one core, against DPDK's l3fwd and testpmd (root)"},
    Benchmark{"fib", true, "lookups, updates and loading, against DPDK's tables"},
    Benchmark{"rfc2544", true, "throughput by search, latency, loss, back-to-back (root)"},
    Benchmark{"routes", true,
              "BIRD and FRR with full tables, over netlink and FPM, against the kernel (root)"},
    Benchmark{"allreduce", true, "sums of workers' vectors by the router, against OpenMPI and Gloo (root)"},
    Benchmark{"compare", false, "what changed between two reports: A.json B.json"}};

void print_usage(std::ostream& out) {
    out << "Measures Pktpit against its peers in one run. Usage: pktpit bench COMMAND [OPTIONS]\n\n";
    for (const Benchmark& one : benchmarks)
        out << "  " << one.name << std::string(10 - std::strlen(one.name), ' ') << one.description << '\n';
    out << "\n--quick ends within two minutes. COMMAND --help lists the options. Reports (text, JSON, plots) "
           "go\n"
           "below bench-results/. What is measured, and how to read it: docs/benchmarks.md.\n";
}

/// Beside this program, where the build has them, or where they are installed.
std::string program_of(const std::string& name) {
    std::error_code failed;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
    for (const std::filesystem::path& place :
         {self / name, self.parent_path() / "bench" / name, self.parent_path() / PKTPIT_LIBEXEC / name})
        if (::access(place.c_str(), X_OK) == 0) return place;
    return name;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> bench_commands() {
    std::vector<std::pair<std::string, std::string>> commands;
    commands.reserve(benchmarks.size());
    for (const Benchmark& one : benchmarks)
        commands.emplace_back(one.name, one.description);
    return commands;
}

int bench(const std::vector<std::string>& words, const Terminal& terminal) {
    if (words.empty() || words.front() == "--help" || words.front() == "-h") {
        print_usage(words.empty() ? terminal.err : terminal.out);
        return words.empty() ? exit_unusable : exit_ok;
    }
    std::vector<std::string> names;
    for (const Benchmark& one : benchmarks) {
        names.emplace_back(one.name);
        if (words.front() != one.name) continue;
        std::vector<std::string> arguments{program_of("bench_" + words.front())};
        const bool own_folder = std::any_of(words.begin(), words.end(), [](const std::string& word) {
            return word == "--results" || word.starts_with("--results=");
        });
        if (one.has_results && !own_folder) arguments.insert(arguments.end(), {"--results", "bench-results"});
        if (words.front() == "wire") arguments.emplace_back("--all");
        arguments.insert(arguments.end(), words.begin() + 1, words.end());
        std::vector<char*> raw;
        raw.reserve(arguments.size() + 1);
        for (std::string& argument : arguments)
            raw.push_back(argument.data());
        raw.push_back(nullptr);
        terminal.out.flush();
        ::execv(raw.front(), raw.data());
        terminal.print_error(
            {arguments.front(), std::string("cannot run the benchmark: ") + std::strerror(errno), "",
             "install the package pktpit-bench (in a build of the sources: -DPKTPIT_BENCH=ON)"});
        return exit_unusable;
    }
    std::string expected;
    for (const std::string& name : names)
        expected += (expected.empty() ? "" : ", ") + name;
    terminal.print_error(
        {"", "unknown benchmark \"" + words.front() + "\"", expected, did_you_mean(words.front(), names)});
    return exit_unusable;
}

}  // namespace pktpit::router::cli
