// SPDX-License-Identifier: BSD-3-Clause
#include "router/manual/completion.h"

namespace pktpit::router::manual {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words)
        text += (text.empty() ? "" : " ") + word;
    return text;
}

/// The first word says how it is completed, choices follow.
std::string offered(const Option& option) {
    switch (option.source) {
        case Source::choices:
            return "choices " + joined(option.choices);
        case Source::files:
            return "files";
        case Source::folders:
            return "folders";
        case Source::interfaces:
            return "interfaces";
        case Source::instances:
            return "instances";
        case Source::pci_devices:
            return "pci_devices";
        case Source::users:
            return "users";
        case Source::nothing:
            break;
    }
    return "nothing";
}

struct Tables {
    std::string commands, options, values, operands;
};

/// `path`: "/" or "/show/routes".
void fill(Tables& tables, const std::string& path, const Command& command) {
    std::vector<std::string> names, options;
    for (const Command& below : command.commands)
        names.push_back(below.name);
    const auto entry = [&](const std::string& value, const std::string& option = "") {
        return "        [\"" + path + (option.empty() ? "" : " ") + option + "\"]=\"" + value + "\"\n";
    };
    for (const Option& option : command.options)
        for (const std::string& name : option.names) {
            options.push_back(name);
            if (option.takes_value()) tables.values += entry(offered(option), name);
        }
    if (!names.empty()) tables.commands += entry(joined(names));
    if (!options.empty()) tables.options += entry(joined(options));
    if (!command.operands.empty()) tables.operands += entry(offered(command.operands.back()));
    for (const Command& below : command.commands) {
        fill(tables, (path == "/" ? "" : path) + "/" + below.name, below);
        for (const std::string& alias : below.aliases)
            fill(tables, (path == "/" ? "" : path) + "/" + alias, below);
    }
}

constexpr const char* code = R"bash(
    local current=${COMP_WORDS[COMP_CWORD]} path=/ before="" offer="" word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then
            continue
        elif [[ -n $offer ]]; then
            offer=""
        elif [[ $word == -* ]]; then
            offer=${values[$path $word]-${values[/ $word]-}}
        elif [[ -n ${options[${path%/}/$word]-} ]]; then
            path=${path%/}/$word
        fi
        before=$word
    done
    [[ $current == = ]] && current=""
    if [[ -z $offer ]]; then
        if [[ $current == -* ]]; then
            offer="choices ${options[$path]} ${options[/]}"
        elif [[ $before == dev ]]; then
            offer=interfaces
        elif [[ -n ${commands[$path]-} ]]; then
            offer="choices ${commands[$path]}"
        else
            offer=${operands[$path]-choices ${options[$path]}}
        fi
    fi
    case $offer in
        files) offer=$(compgen -f -- "$current") ;;
        folders) offer=$(compgen -d -- "$current") ;;
        users) offer=$(compgen -u -- "$current") ;;
        interfaces) offer=$(compgen -W "$(ls /sys/class/net)" -- "$current") ;;
        instances)
            offer=$(cd /run/pktpit 2>/dev/null && ls -- *.sock 2>/dev/null | sed 's/\.sock$//')
            offer=$(compgen -W "$offer" -- "$current") ;;
        pci_devices) offer=$(compgen -W "$(ls /sys/bus/pci/devices 2>/dev/null)" -- "$current") ;;
        choices\ *) offer=$(compgen -W "${offer#choices }" -- "$current") ;;
        *) offer="" ;;
    esac
    mapfile -t COMPREPLY < <([[ -z $offer ]] || printf '%s\n' "$offer")
}
)bash";

}  // namespace

std::string bash_completion(const Command& program) {
    Tables tables;
    fill(tables, "/", program);
    return "# Made by router/manual of what " + program.name + " understands.\n_" + program.name +
           "() {\n    local -A commands=(\n" + tables.commands + "    )\n    local -A options=(\n" +
           tables.options + "    )\n    local -A values=(\n" + tables.values +
           "    )\n    local -A operands=(\n" + tables.operands + "    )" + code + "complete -F _" +
           program.name + " " + program.name + "\n";
}

}  // namespace pktpit::router::manual
