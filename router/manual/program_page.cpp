// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "router/manual/pages.h"

namespace pktpit::router::manual {
namespace {

std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(),
                           [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return text;
}

std::string bold(const std::string& text) {
    return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(const std::string& text) {
    return "\\fI" + escaped(text) + "\\fR";
}

void print_option(std::string& page, const Option& option) {
    page += ".TP\n";
    for (size_t i = 0; i < option.names.size(); i++)
        page += (i == 0 ? "" : ", ") + bold(option.names[i]);
    if (option.takes_value()) page += " " + italic(option.value);
    page += "\n" + escaped(option.description);
    if (!option.choices.empty()) {
        page += ": one of ";
        for (size_t i = 0; i < option.choices.size(); i++)
            page += (i == 0 ? "" : ", ") + bold(option.choices[i]);
    }
    if (!option.environment.empty()) page += ". Environment: " + bold(option.environment);
    if (option.required) page += ". Required";
    page += ".\n";
}

void print_operand(std::string& page, const Option& operand) {
    page += ".TP\n" + italic(operand.names.front()) + "\n" + escaped(operand.description) + ".\n";
}

std::string synopsis(const std::string& path, const Command& command) {
    std::string line = bold(path);
    if (!command.options.empty()) line += " [" + italic("OPTIONS") + "]";
    for (const Option& operand : command.operands)
        line += operand.required ? " " + italic(operand.names.front())
                                 : " [" + italic(operand.names.front()) + "]";
    if (!command.commands.empty()) line += " " + italic("COMMAND") + " \\&.\\|.\\|.";
    return line;
}

/// `said`: the program's own footer, which CLI11 gives to each of its commands.
void print_command(std::string& page, const std::string& path, const Command& command,
                   const std::string& said) {
    const bool group = !command.commands.empty() && command.operands.empty() && command.options.size() <= 1;
    if (!group) {
        page += ".SS " + synopsis(path, command) + "\n" + escaped(command.description) + ".\n";
        for (const std::string& alias : command.aliases)
            page += "Also " + bold(alias) + ".\n";
        for (const Option& operand : command.operands)
            print_operand(page, operand);
        for (const Option& option : command.options)
            if (option.names.back() != "--help") print_option(page, option);
        if (command.footer != said) page += ".PP\n" + escaped(command.footer) + "\n";
    }
    for (const Command& below : command.commands)
        print_command(page, path + " " + below.name, below, said);
}

}  // namespace

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else if (c == '\n') {
            out += "\n.br\n";
        } else if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) {
            out += std::string("\\&") + c;
        } else {
            out += c;
        }
    }
    return out;
}

std::string program_page(const Command& program, int section, const std::string& version,
                         const std::string& more) {
    std::string page = ".\\\" Made by router/manual of what the program understands.\n.TH " +
                       upper(program.name) + " " + std::to_string(section) + " \"\" \"Pktpit " + version +
                       "\" \"Pktpit\"\n";
    std::string what = program.description;
    while (what.ends_with('.'))
        what.pop_back();
    page += ".SH NAME\n" + program.name + " \\- " + escaped(what) + "\n";
    page += ".SH SYNOPSIS\n" + synopsis(program.name, program) + "\n";
    page += ".SH OPTIONS\n";
    for (const Option& option : program.options)
        print_option(page, option);
    if (!program.commands.empty()) {
        page += ".SH COMMANDS\nEach understands " + bold("--help") + ", and the options above.\n";
        for (const Command& command : program.commands)
            print_command(page, program.name + " " + command.name, command, program.footer);
    }
    if (!program.footer.empty()) {
        const size_t colon = program.footer.find(": ");
        page += ".SH " + upper(program.footer.substr(0, colon)) + "\n" +
                escaped(program.footer.substr(colon + 2)) + "\n";
    }
    return page + more;
}

}  // namespace pktpit::router::manual
