// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iomanip>
#include <map>
#include <ostream>

#include "config/read_file.h"
#include "offload/model/lspci.h"
#include "offload/model/result_json.h"
#include "offload/model/topology.h"
#include "router/cli/commands_model.h"
#include "router/cli/model_plots.h"

namespace pktpit::router::cli {
namespace {

Result<void> run_gnuplot(const std::string& commands) {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return fail("gnuplot", std::strerror(errno));
    const pid_t child = fork();
    if (child < 0) return fail("gnuplot", std::strerror(errno));
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execlp("gnuplot", "gnuplot", static_cast<char*>(nullptr));
        _exit(127);
    }
    close(ends[0]);
    bool written = true;
    for (size_t done = 0; done < commands.size();) {
        const ssize_t count = write(ends[1], commands.data() + done, commands.size() - done);
        if (count < 0 && errno == EINTR) continue;
        written = count > 0;
        if (!written) break;
        done += static_cast<size_t>(count);
    }
    close(ends[1]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        return fail("gnuplot", "is not installed", "", "apt-get install gnuplot-nox");
    if (!written || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fail("gnuplot", "could not draw it");
    return {};
}

}  // namespace

int model_plot(const Session& session, const ModelOptions& options) {
    const auto text = config::read_file(options.file);
    if (!text) return print_failure(session, text.error(), exit_wrong);
    const auto plots = parse_plots(*text, options.file);
    if (!plots) return print_failure(session, plots.error(), exit_wrong);
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    if (error) return print_failure(session, {options.out, error.message(), "a folder", ""}, exit_wrong);
    for (const auto& [name, plot] : *plots) {
        const std::string to = (std::filesystem::path(options.out) / (name + "." + options.format)).string();
        if (auto drawn = run_gnuplot(gnuplot_commands(plot, to, options.format == "svg")); !drawn)
            return print_failure(session, drawn.error(), exit_wrong);
        session.terminal.out << to << '\n';
    }
    return exit_ok;
}

Result<offload::PciTree> read_tree(const ModelOptions& options) {
    if (options.tree.empty()) return offload::PciTree::live();
    const auto text = config::read_file(options.tree);
    if (!text) return tl::unexpected(text.error());
    const auto snapshot = offload::parse_snapshot(*text);
    if (!snapshot) return tl::unexpected(snapshot.error());
    return offload::PciTree(*snapshot);
}

int model_import(const Session& session, const ModelOptions& options) {
    const auto topology = [&]() -> Result<model::Topology> {
        if (!options.lspci.empty()) {
            const auto text = config::read_file(options.lspci);
            if (!text) return tl::unexpected(text.error());
            return model::import_lspci(*text, options.gbps);
        }
        const auto tree = read_tree(options);
        if (!tree) return tl::unexpected(tree.error());
        return model::import_topology(*tree, options.gbps);
    }();
    if (!topology) return print_failure(session, topology.error(), exit_wrong);
    session.terminal.out << topology->to_json_text();
    return exit_ok;
}

int model_constants(const Session& session, const ModelOptions& options) {
    const auto profile = model::Profile::open(options.profile);
    if (!profile) {
        for (const Error& error : profile.error())
            session.terminal.print_error(error);
        return exit_wrong;
    }
    if (session.json) {
        print_json(session, to_json(*profile));
        return exit_ok;
    }
    session.terminal.out << profile->name() << ": " << printable(profile->about()) << '\n';
    for (const model::ConstantRule& rule : model::constant_rules()) {
        const model::Constant& constant = profile->constants().find(rule.name)->second;
        session.terminal.out << std::left << std::setw(28) << rule.name << std::right << std::setw(10)
                             << constant.value << (constant.calibrated ? "  calibrated  " : "              ")
                             << printable(constant.source) << '\n';
    }
    return exit_ok;
}

int model_list(const Session& session) {
    const std::map<std::string, std::vector<std::string>> all = {
        {"topologies", model::embedded_names("topologies")}, {"profiles", model::embedded_names("profiles")}};
    if (session.json) {
        print_json(session, all);
        return exit_ok;
    }
    for (const std::string& name : all.at("topologies"))
        session.terminal.out << "topology  " << std::left << std::setw(16) << name
                             << model::Topology::open(name)->about << '\n';
    for (const std::string& name : all.at("profiles"))
        session.terminal.out << "profile   " << std::left << std::setw(16) << name
                             << model::Profile::open(name)->about() << '\n';
    return exit_ok;
}

}  // namespace pktpit::router::cli
