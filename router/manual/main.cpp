// SPDX-License-Identifier: BSD-3-Clause
// pktpit_manual FOLDER: writes man pages and completion of pktpit and pktpitd there. Run by the build, not
// installed.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "config/config.h"
#include "router/cli/application.h"
#include "router/daemon/options.h"
#include "router/manual/completion.h"
#include "router/manual/pages.h"

namespace {

using namespace pktpit::router;
using namespace pktpit::router::manual;

void write(const std::filesystem::path& file, const std::string& text) {
    std::ofstream out(file);
    out << text;
    if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

constexpr const char* more_of_pktpit =
    ".SH FILES\n.TP\n\\fI/run/pktpit/NAME.sock\\fR\nthe API of the daemon of instance NAME.\n"
    ".SH SEE ALSO\n\\fBpktpitd\\fR(8), \\fBpktpit.json\\fR(5), \\fI/usr/share/doc/pktpit\\fR\n";
constexpr const char* more_of_pktpitd =
    ".SH FILES\n.TP\n\\fI/etc/pktpit/pktpit.json\\fR\nthe configuration that pktpitd.service runs.\n"
    ".TP\n\\fI/run/pktpit\\fR\nsocket, lock and state of each instance; or \\fBRUNTIME_DIRECTORY\\fR.\n"
    ".TP\n\\fI/sys/fs/bpf/pktpit/NAME\\fR\nwhat forwards without the daemon: programs, links and maps of "
    "instance NAME.\n"
    ".SH SEE ALSO\n\\fBpktpit\\fR(1), \\fBpktpit.json\\fR(5), \\fI/usr/share/doc/pktpit\\fR\n";

void write_all(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    Command tool;
    cli::describe([&](const CLI::App& app) { tool = read_command(app); });
    DaemonOptions unused;
    const Command daemon = read_command(*daemon_options(unused));
    for (const Command& program : {tool, daemon}) {
        write(folder / (program.name + ".bash"), bash_completion(program));
        write(folder / ("_" + program.name), zsh_completion(program));
        write(folder / (program.name + ".fish"), fish_completion(program));
    }
    write(folder / "pktpit.1", program_page(tool, 1, PKTPIT_VERSION, more_of_pktpit));
    write(folder / "pktpitd.8", program_page(daemon, 8, PKTPIT_VERSION, more_of_pktpitd));
    write(folder / "pktpit.json.5",
          schema_page(nlohmann::json::parse(pktpit::config::schema_text()), PKTPIT_VERSION));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    try {
        write_all(argv[1]);
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "pktpit_manual: %s\n", error.what());
        return 1;
    }
}
