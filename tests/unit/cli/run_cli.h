// SPDX-License-Identifier: BSD-3-Clause
// Runs the CLI in this process and keeps what it printed.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "router/cli/application.h"

namespace pktpit::router::cli::test {

/// The words of a command line without quotes.
inline std::vector<std::string> split(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

struct Output {
    int status = -1;
    std::string out;
    std::string err;
};

struct Screen {
    bool colours = false;
    bool interactive = false;
    unsigned columns = 0;
    unsigned rows = 0;
};

inline Output run_cli(const std::vector<std::string>& arguments, int input = -1, const Screen& screen = {}) {
    std::ostringstream out;
    std::ostringstream err;
    Terminal terminal{.out = out, .err = err};
    terminal.input = input;
    terminal.interactive = screen.interactive;
    terminal.colour_out = screen.colours;
    terminal.colour_err = screen.colours;
    terminal.columns = screen.columns;
    terminal.rows = screen.rows;
    const int status = run(arguments, terminal);
    return {status, out.str(), err.str()};
}

}  // namespace pktpit::router::cli::test
