// SPDX-License-Identifier: BSD-3-Clause
#include "router/manual/completion.h"

namespace pktpit::router::manual {
namespace {

/// Inside single quotes, in a specification of _arguments or _describe.
std::string quoted(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\'') out += "'\\'";
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string action(const Option& option, const std::string& program) {
    switch (option.source) {
        case Source::choices: {
            std::string text;
            for (const std::string& choice : option.choices)
                text += (text.empty() ? "(" : " ") + choice;
            return text + ")";
        }
        case Source::files:
            return "_files";
        case Source::folders:
            return "_files -/";
        case Source::interfaces:
            return "_" + program + "_interfaces";
        case Source::instances:
            return "_" + program + "_instances";
        case Source::pci_devices:
            return "_" + program + "_pci_devices";
        case Source::users:
            return "_users";
        case Source::nothing:
            break;
    }
    return " ";
}

std::string specification(const Option& option, const std::string& program) {
    std::string value =
        option.takes_value() ? ":" + quoted(option.value) + ":" + action(option, program) : "";
    std::string text;
    for (const std::string& name : option.names)
        text.append("        '*")
            .append(name)
            .append("[")
            .append(quoted(option.description))
            .append("]")
            .append(value)
            .append("'\n");
    return text;
}

class Functions {
  public:
    explicit Functions(const Command& program) : program_(program) {}

    std::string text() && {
        print("_" + program_.name, program_);
        return std::move(text_);
    }

  private:
    void print(const std::string& name, const Command& command) {
        const bool top = &command == &program_;
        text_ += name +
                 "() {\n    local curcontext=\"$curcontext\" state line\n    typeset -A opt_args\n    "
                 "_arguments -C -s \\\n";
        std::string specifications;
        for (const Option& option : command.options)
            specifications += specification(option, program_.name);
        if (!top)
            for (const Option& option : program_.options)
                if (option.names.back() != "--help") specifications += specification(option, program_.name);
        for (const Option& operand : command.operands) {
            const bool grammar = operand.source == Source::choices;
            specifications += "        '*:" + quoted(operand.names.front()) + ":" +
                              (grammar ? name + "_words" : action(operand, program_.name)) + "'\n";
            if (grammar) print_words(name, operand);
        }
        if (!command.commands.empty()) specifications += "        '1: :->command'\n        '*:: :->rest'\n";
        std::string lines;
        for (const char c : specifications)
            lines += c == '\n' ? std::string(" \\\n") : std::string(1, c);
        text_ += lines.substr(0, lines.size() - 3) + "\n";
        if (!command.commands.empty()) print_choice(name, command);
        text_ += "}\n";
        for (const Command& below : command.commands)
            print(name + "_" + function_name(below.name), below);
        text_ += helpers_;
        helpers_.clear();
    }

    void print_choice(const std::string& name, const Command& command) {
        text_ += "    case $state in\n        command)\n            local -a commands=(\n";
        for (const Command& below : command.commands)
            text_ += "                '" + quoted(below.name) + ":" + quoted(below.description) + "'\n";
        text_ +=
            "            )\n            _describe command commands ;;\n        rest)\n            case "
            "$line[1] in\n";
        for (const Command& below : command.commands) {
            text_ += "                " + below.name;
            for (const std::string& alias : below.aliases)
                text_ += " | " + alias;
            text_ += ") " + name + "_" + function_name(below.name) + " ;;\n";
        }
        text_ += "            esac ;;\n    esac\n";
    }

    /// Of an operand whose words have a grammar: behind `dev` stands an interface.
    void print_words(const std::string& name, const Option& operand) {
        helpers_ += name + "_words() {\n    if [[ $words[CURRENT-1] == dev ]]; then\n        _" +
                    program_.name + "_interfaces\n    else\n        compadd --";
        for (const std::string& word : operand.choices)
            helpers_ += " " + word;
        helpers_ += "\n    fi\n}\n";
    }

    static std::string function_name(std::string name) {
        for (char& c : name)
            if (c == '-') c = '_';
        return name;
    }

    const Command& program_;
    std::string text_;
    std::string helpers_;
};

}  // namespace

std::string zsh_completion(const Command& program) {
    const std::string name = "_" + program.name;
    return "#compdef " + program.name + "\n# Made by router/manual of what " + program.name +
           " understands.\n" + name + "_interfaces() { compadd -- /sys/class/net/*(N:t) }\n" + name +
           "_instances() { compadd -- /run/pktpit/*.sock(N:t:r) }\n" + name +
           "_pci_devices() { compadd -- /sys/bus/pci/devices/*(N:t) }\n" + Functions(program).text() +
           "if [[ $funcstack[1] == " + name + " ]]; then\n    " + name + " \"$@\"\nelse\n    compdef " +
           name + " " + program.name + "\nfi\n";
}

}  // namespace pktpit::router::manual
