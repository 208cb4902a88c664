// SPDX-License-Identifier: BSD-3-Clause
#include "router/manual/command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>

namespace pktpit::router::manual {
namespace {

/// CLI11's "TEXT:{a,b}": the type, and what IsMember says behind it.
std::vector<std::string> choices_of(const std::string& type) {
    const size_t begin = type.find('{'), end = type.rfind('}');
    if (begin == std::string::npos || end == std::string::npos) return {};
    return CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',');
}

Source source_of(const Option& option) {
    const auto has_name = [&](const char* name) {
        return std::ranges::find(option.names, name) != option.names.end();
    };
    if (!option.choices.empty()) return Source::choices;
    if (has_name("--instance")) return Source::instances;
    if (has_name("--nic") || has_name("--memory") || has_name("--device")) return Source::pci_devices;
    if (option.value == "PORT") return Source::interfaces;
    if (option.value == "FILE" || option.value == "PATH" || option.value == "CONFIG" ||
        option.value == "UPDATES")
        return Source::files;
    if (option.value == "DIR") return Source::folders;
    if (option.value == "USER") return Source::users;
    return Source::nothing;
}

Option read_option(const CLI::Option& from) {
    Option option;
    const std::string type = from.get_type_name();
    option.choices = choices_of(type);
    option.description = from.get_description();
    option.environment = from.get_envname();
    option.required = from.get_required();
    if (from.get_positional()) {
        option.names = {from.get_name(true)};
        option.value = option.names.front();
        const auto words = words_of_grammar(option.description);
        option.choices.insert(option.choices.end(), words.begin(), words.end());
    } else {
        for (const std::string& name : from.get_snames())
            option.names.push_back("-" + name);
        for (const std::string& name : from.get_lnames())
            option.names.push_back("--" + name);
        if (from.get_items_expected_max() > 0) {
            const std::string name = type.substr(0, type.find_first_of(":{ "));
            option.value = name.empty() || name == "TEXT"                       ? "VALUE"
                           : name == "UINT" || name == "INT" || name == "FLOAT" ? "N"
                                                                                : name;
        }
    }
    option.source = source_of(option);
    return option;
}

}  // namespace

std::vector<std::string> words_of_grammar(const std::string& text) {
    std::vector<std::string> words;
    for (size_t at = 0; at < text.size(); at++) {
        if (text[at] != '[' && text[at] != '|') continue;
        size_t end = at + 1;
        while (end < text.size() && std::islower(static_cast<unsigned char>(text[end])))
            end++;
        if (end > at + 1 && end < text.size() && (text[end] == ' ' || text[end] == '|' || text[end] == ']'))
            words.push_back(text.substr(at + 1, end - at - 1));
    }
    return words;
}

Command read_command(const CLI::App& app) {
    Command command{.name = app.get_name(),
                    .aliases = app.get_aliases(),
                    .description = app.get_description(),
                    .footer = app.get_footer(),
                    .options = {},
                    .operands = {},
                    .commands = {}};
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;  // hidden
        (option->get_positional() ? command.operands : command.options).push_back(read_option(*option));
    }
    for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
        command.commands.push_back(read_command(*one));
    return command;
}

}  // namespace pktpit::router::manual
