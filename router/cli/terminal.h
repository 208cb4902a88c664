// SPDX-License-Identifier: BSD-3-Clause
/// Where a command's output goes, and what may be done to it there. One per run of the CLI; tests inject
/// strings.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "config/config.h"

namespace pktpit::router::cli {

enum class Colour { none, bold, dim, red, green, yellow };

struct Terminal {
    std::ostream& out;
    std::ostream& err;
    int input = 0;             ///< file descriptor of the standard input
    bool interactive = false;  ///< `out` is a terminal: tables may be redrawn and cut to its width
    bool colour_out = false;
    bool colour_err = false;
    unsigned columns = 0;  ///< of the terminal; 0: unlimited
    unsigned rows = 0;

    /// The process's own. Honours NO_COLOR (https://no-color.org) and TERM=dumb.
    static Terminal of_process(std::ostream& out, std::ostream& err);

    /// The text in colour, if `out` shows colours.
    [[nodiscard]] std::string paint(Colour colour, std::string_view text) const;
    /// "error: where: message", with what was expected and a hint below, to `err`.
    void print_error(const Error& error) const;
    void print_warning(const std::string& text) const;
};

std::string painted(Colour colour, std::string_view text);

/// Text from outside made safe to show: control characters, which could steer the terminal, become '?'.
std::string printable(std::string_view text);
/// " in VRF red"; nothing for the default one.
std::string in_vrf(std::string_view name);

}  // namespace pktpit::router::cli
