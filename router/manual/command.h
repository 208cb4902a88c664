// SPDX-License-Identifier: BSD-3-Clause
/// What a program understands, as plain values: read from its CLI11 application, so that man pages and
/// completion say what the program does and cannot fall behind it. Build time only.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pktpit::router::manual {

/// What a shell offers for an option's value, or for a command's operand.
enum class Source { nothing, choices, files, folders, interfaces, instances, pci_devices, users };

struct Option {
    std::vector<std::string> names;  ///< "-w", "--write"; for an operand its one name, "FILE"
    std::string value;               ///< what its value is called, "FILE"; empty for a flag
    std::vector<std::string> choices;
    std::string description;
    std::string environment;  ///< variable that it is taken from
    bool required = false;
    Source source = Source::nothing;

    [[nodiscard]] bool takes_value() const { return !value.empty(); }
};

struct Command {
    std::string name;
    std::vector<std::string> aliases;
    std::string description;
    std::string footer;
    std::vector<Option> options;
    std::vector<Option> operands;
    std::vector<Command> commands;
};

Command read_command(const CLI::App& app);

/// Words that stand in an operand's description as iproute2 writes its grammar: "[via ADDRESS] [a|b]" has
/// via, a, b.
std::vector<std::string> words_of_grammar(const std::string& text);

}  // namespace pktpit::router::manual
