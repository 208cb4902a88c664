// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <set>

#include "router/manual/pages.h"

namespace pktpit::router::manual {
namespace {

using nlohmann::json;

class SchemaPage {
  public:
    explicit SchemaPage(const json& schema) : schema_(schema) {}

    /// The keys of an object, and those below them; a definition's own are told where it first stands.
    void print_keys(const std::string& path, const json& rule) {
        if (!rule.contains("properties")) return;
        for (const auto& [key, below] : rule["properties"].items())
            print(inside(path, key), below);
    }
    [[nodiscard]] std::string text() && { return std::move(page_); }

  private:
    static std::string inside(std::string path, const std::string& key) {
        return path.append(path.empty() ? "" : ".").append(key);
    }

    [[nodiscard]] const json& followed(const json& rule) const {
        return rule.contains("$ref")
                   ? schema_.at(json::json_pointer(rule["$ref"].get<std::string>().substr(1)))
                   : rule;
    }

    static std::string words(const json& values) {
        std::string text;
        for (const json& value : values)
            text +=
                (text.empty() ? "" : ", ") + (value.is_string() ? value.get<std::string>() : value.dump());
        return text;
    }

    static std::string type_of(const json& rule) {
        if (rule.contains("enum")) return words(rule["enum"]);
        if (!rule.contains("type")) return "";
        std::string text = rule["type"].is_array() ? words(rule["type"]) : rule["type"].get<std::string>();
        if (rule.contains("minimum") && rule.contains("maximum"))
            text += ", " + rule["minimum"].dump() + " to " + rule["maximum"].dump();
        return text;
    }

    void print(const std::string& path, const json& given) {
        const json& rule = followed(given);
        const auto said = [&](const char* what) {
            return given.value(what, rule.value(what, std::string()));
        };
        page_ += ".TP\n\\fB" + escaped(path) + "\\fR";
        if (const std::string type = type_of(rule); !type.empty()) page_ += " (" + escaped(type) + ")";
        page_ += "\n" + escaped(said("description").empty() ? said("title") : said("description"));
        if (rule.contains("default")) page_ += " Default: \\fB" + escaped(rule["default"].dump()) + "\\fR.";
        page_ += "\n";
        if (given.contains("$ref") && !told_.insert(given["$ref"].get<std::string>()).second) return;
        print_keys(path, rule);
        if (rule.contains("additionalProperties") && rule["additionalProperties"].is_object())
            print_below(path + ".NAME", rule["additionalProperties"]);
        if (rule.contains("items") && rule["items"].is_object()) print_below(path + "[]", rule["items"]);
        for (const char* choice : {"oneOf", "anyOf"})
            if (rule.contains(choice))
                for (const json& one : rule[choice])
                    print_below(path, one);
    }

    void print_below(const std::string& path, const json& given) {
        const json& rule = followed(given);
        if (given.contains("$ref") && !told_.insert(given["$ref"].get<std::string>()).second) return;
        print_keys(path, rule);
        if (rule.contains("items") && rule["items"].is_object()) print_below(path + "[]", rule["items"]);
        for (const char* choice : {"oneOf", "anyOf"})
            if (rule.contains(choice))
                for (const json& one : rule[choice])
                    print_below(path, one);
    }

    const json& schema_;
    std::string page_;
    std::set<std::string> told_;
};

}  // namespace

std::string schema_page(const json& schema, const std::string& version) {
    SchemaPage keys(schema);
    keys.print_keys("", schema);
    return ".\\\" Made by router/manual of config/schema.json.\n.TH PKTPIT.JSON 5 \"\" \"Pktpit " + version +
           "\" \"Pktpit\"\n.SH NAME\npktpit.json \\- configuration of the Pktpit router\n.SH DESCRIPTION\n" +
           escaped(schema.value("description", "")) +
           "\n.PP\nThe file is JSON (RFC 8259), in UTF\\-8: no comments, each key once in an object. A "
           "\\fIdot\\fR below leads "
           "from an object to its key, \\fINAME\\fR stands for a name of your choice, \\fI[]\\fR for each "
           "entry of an array.\n"
           ".SH KEYS\n" +
           std::move(keys).text() +
           ".SH FILES\n.TP\n\\fI/etc/pktpit/pktpit.json\\fR\nwhat the unit pktpitd.service runs.\n.TP\n"
           "\\fI/usr/share/pktpit/schema.json\\fR\nthe JSON Schema that this page is made of: for editors, "
           "as \"$schema\".\n"
           ".TP\n\\fI/usr/share/pktpit/examples\\fR\nconfigurations that are tested with every change.\n"
           ".SH SEE ALSO\n\\fBpktpit\\fR(1), \\fBpktpitd\\fR(8)\n";
}

}  // namespace pktpit::router::manual
