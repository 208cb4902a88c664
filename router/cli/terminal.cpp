// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <ostream>

namespace pktpit::router::cli {

Terminal Terminal::of_process(std::ostream& out, std::ostream& err) {
    Terminal terminal{.out = out, .err = err};
    const char* no_colour = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    const bool colours = (!no_colour || !*no_colour) && term && std::string_view(term) != "dumb";
    terminal.interactive = ::isatty(STDOUT_FILENO) == 1;
    terminal.colour_out = colours && terminal.interactive;
    terminal.colour_err = colours && ::isatty(STDERR_FILENO) == 1;
    winsize size{};
    if (terminal.interactive && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
        terminal.columns = size.ws_col;
        terminal.rows = size.ws_row;
    }
    return terminal;
}

std::string painted(Colour colour, std::string_view text) {
    const char* code = "";
    switch (colour) {
        case Colour::none:
            return std::string(text);
        case Colour::bold:
            code = "\x1b[1m";
            break;
        case Colour::dim:
            code = "\x1b[2m";
            break;
        case Colour::red:
            code = "\x1b[31m";
            break;
        case Colour::green:
            code = "\x1b[32m";
            break;
        case Colour::yellow:
            code = "\x1b[33m";
            break;
    }
    return std::string(code).append(text).append("\x1b[0m");
}

std::string Terminal::paint(Colour colour, std::string_view text) const {
    return colour_out ? painted(colour, text) : std::string(text);
}

void Terminal::print_error(const Error& error) const {
    err << (colour_err ? painted(Colour::red, "error:") : "error:");
    if (!error.where.empty()) err << ' ' << printable(error.where) << ':';
    err << ' ' << printable(error.message) << '\n';
    if (!error.expected.empty()) err << "  expected: " << printable(error.expected) << '\n';
    if (!error.hint.empty()) err << "  hint: " << printable(error.hint) << '\n';
}

void Terminal::print_warning(const std::string& text) const {
    err << (colour_err ? painted(Colour::yellow, "warning:") : "warning:") << ' ' << printable(text) << '\n';
}

std::string in_vrf(std::string_view name) {
    return name == "default" ? "" : " in VRF " + printable(name);
}

std::string printable(std::string_view text) {
    std::string safe(text);
    for (char& c : safe) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f) c = '?';
    }
    return safe;
}

}  // namespace pktpit::router::cli
