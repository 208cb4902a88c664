// SPDX-License-Identifier: BSD-3-Clause
#include "router/manual/completion.h"

namespace pktpit::router::manual {
namespace {

std::string quoted(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + "'";
}

std::string offered(const Option& option) {
    switch (option.source) {
        case Source::choices: {
            std::string text;
            for (const std::string& choice : option.choices)
                text += (text.empty() ? "" : " ") + choice;
            return " -x -a " + quoted(text);
        }
        case Source::files:
            return " -r -F";
        case Source::folders:
            return " -x -a '(__fish_complete_directories)'";
        case Source::interfaces:
            return " -x -a '(path basename /sys/class/net/*)'";
        case Source::instances:
            return " -x -a '(for one in /run/pktpit/*.sock; path basename $one | path change-extension \"\"; "
                   "end)'";
        case Source::pci_devices:
            return " -x -a '(for one in /sys/bus/pci/devices/*; path basename $one; end)'";
        case Source::users:
            return " -x -a '(__fish_complete_users)'";
        case Source::nothing:
            break;
    }
    return " -x";
}

struct Lines {
    std::string paths;      ///< quoted, of all commands
    std::string valued;     ///< options that take a value
    std::string completes;  ///< `complete` lines
};

/// `path`: "" or "show routes".
void fill(Lines& lines, const Command& program, const std::string& path, const Command& command) {
    const std::string at =
        "complete -c " + program.name + " -n " + quoted("__" + program.name + "_at " + path);
    for (const Option& option : command.options) {
        // Options of the program itself stand anywhere.
        std::string line = &command == &program ? "complete -c " + program.name : at;
        for (const std::string& name : option.names) {
            line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
            if (option.takes_value()) lines.valued += " " + name;
        }
        lines.completes +=
            line + (option.takes_value() ? offered(option) : "") + " -d " + quoted(option.description) + "\n";
    }
    for (const Option& operand : command.operands) {
        if (operand.source != Source::choices) {
            lines.completes += at + offered(operand) + "\n";
            continue;
        }
        const auto when = [&](const std::string& what) {
            std::string test = "__" + program.name + "_at ";
            test.append(path).append("; and ").append(what).append("__").append(program.name);
            return "complete -c " + program.name + " -n " + quoted(test.append("_behind_dev"));
        };
        lines.completes += when("").append(" -x -a '(path basename /sys/class/net/*)'\n");
        lines.completes += when("not ").append(offered(operand)).append("\n");
    }
    for (const Command& below : command.commands) {
        lines.completes += at + " -f -a " + quoted(below.name) + " -d " + quoted(below.description) + "\n";
        std::vector<std::string> names = below.aliases;
        names.insert(names.begin(), below.name);
        for (const std::string& name : names) {
            std::string deeper = path;
            deeper.append(path.empty() ? "" : " ").append(name);
            lines.paths += " " + quoted(deeper);
            fill(lines, program, deeper, below);
        }
    }
}

}  // namespace

std::string fish_completion(const Command& program) {
    Lines lines;
    fill(lines, program, "", program);
    const std::string prefix = "__" + program.name;
    return "# Made by router/manual of what " + program.name + " understands.\nset -g " + prefix +
           "_commands" + lines.paths + "\nset -g " + prefix + "_valued" + lines.valued + "\nfunction " +
           prefix + R"(_at
    set -l path
    set -l value no
    for word in (commandline -opc)[2..]
        if test $value = yes
            set value no
        else if string match -q -- '-*' $word
            contains -- $word $)" +
           prefix + R"(_valued; and set value yes
        else if contains -- (string join ' ' $path $word) $)" +
           prefix + R"(_commands
            set -a path $word
        end
    end
    test "$path" = "$argv"
end
function )" +
           prefix + R"(_behind_dev
    test (commandline -opc)[-1] = dev
end
complete -c )" +
           program.name + " -f\n" + lines.completes;
}

}  // namespace pktpit::router::manual
