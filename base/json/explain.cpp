// SPDX-License-Identifier: BSD-3-Clause
#include "base/json/explain.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <regex>

#include "base/json/nearest.h"
#include "base/json/pointer.h"

namespace pktpit {
namespace {

using nlohmann::json;

/// Follows $ref and merges allOf; what stands beside allOf wins.
json merged(const json& schema, const json& node) {
    if (!node.is_object()) return json::object();
    if (auto ref = node.find("$ref"); ref != node.end())
        return merged(schema, schema.at(json::json_pointer(ref->get<std::string>().substr(1))));
    auto all = node.find("allOf");
    if (all == node.end()) return node;
    json out = json::object();
    for (const json& part : *all)
        out.update(merged(schema, part));
    for (const auto& [key, value] : node.items())
        if (key != "allOf") out[key] = value;
    return out;
}

const json* member_rule(const json& rule, const std::string& key) {
    if (auto found = rule.find("properties"); found != rule.end())
        if (auto member = found->find(key); member != found->end()) return &*member;
    if (auto found = rule.find("additionalProperties"); found != rule.end() && found->is_object())
        return &*found;
    return nullptr;
}

std::string list(const json& values) {
    std::string out;
    for (const json& value : values)
        out += (out.empty() ? "" : ", ") + value.dump();
    return out;
}

/// " from 1 to 9", " of at least 1", …
std::string range(const json& rule, const char* low, const char* high) {
    auto from = rule.find(low), to = rule.find(high);
    if (from != rule.end() && to != rule.end()) return " from " + from->dump() + " to " + to->dump();
    if (from != rule.end()) return " of at least " + from->dump();
    if (to != rule.end()) return " of at most " + to->dump();
    return "";
}

std::string expected_type(const json& rule, const std::string& type) {
    std::string title = rule.value("title", rule.value("description", ""));
    if (type == "integer") return "an integer" + range(rule, "minimum", "maximum");
    if (type == "number" && rule.contains("exclusiveMinimum"))
        return "a number above " + rule["exclusiveMinimum"].dump() + range(rule, "", "maximum");
    if (type == "number") return "a number" + range(rule, "minimum", "maximum");
    if (type == "boolean") return "true or false";
    if (type == "array") {
        auto from = rule.find("minItems"), to = rule.find("maxItems");
        if (from == rule.end() && to == rule.end()) return "an array";
        if (from == rule.end()) return "an array of at most " + to->dump() + " items";
        return "an array of " + from->dump() + (to == rule.end() ? " or more" : " to " + to->dump()) +
               " items";
    }
    if (type == "object")
        return rule.contains("minProperties") ? "an object with at least one key" : "an object";
    if (!rule.contains("pattern") && !rule.contains("minLength")) return "a string";
    std::string out = title;
    if (rule.contains("maxLength")) out += ", length" + range(rule, "minLength", "maxLength");
    return out;
}

std::vector<std::string> known_keys(const json& rule) {
    std::vector<std::string> keys;
    if (auto found = rule.find("properties"); found != rule.end())
        for (const auto& [key, member] : found->items())
            keys.push_back(key);
    return keys;
}

}  // namespace

json rule_for(const json& schema, const json& document, std::string_view pointer) {
    json rule = merged(schema, schema);
    const json* value = &document;
    for (const std::string& token : tokens(pointer)) {
        const json* next = nullptr;
        if (value->is_array()) {
            if (auto items = rule.find("items"); items != rule.end()) next = &*items;
            value = &value->at(std::stoul(token));
        } else {
            next = member_rule(rule, token);
            value = &value->at(token);
        }
        if (!next) return json::object();
        rule = merged(schema, json(*next));
    }
    return rule;
}

std::string expected_by(const json& rule) {
    if (auto values = rule.find("enum"); values != rule.end()) return "one of " + list(*values);
    std::string out;
    auto type = rule.find("type");
    if (type == rule.end()) return out;
    bool several = type->is_array();
    if (several && rule.contains("title")) {
        out = rule["title"];
    } else {
        out = expected_type(rule, several ? type->front() : *type);
    }
    auto examples = rule.find("examples");
    if (examples != rule.end() && (several || *type == "string" || *type == "array"))
        out += ", such as " + list(*examples);
    return out;
}

std::string shown(const json& value) {
    constexpr size_t longest = 60;
    std::string text = value.dump();
    if (text.size() > longest) {
        size_t cut = longest;
        while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80)
            cut--;  // whole UTF-8 characters
        text = text.substr(0, cut) + "…";
    }
    if (value.is_object() && value.empty()) return "an empty object";
    if (value.is_array() && value.empty()) return "an empty array";
    if (value.is_object()) return "an object: " + text;
    if (value.is_array()) return "an array of " + std::to_string(value.size()) + ": " + text;
    return text;
}

Error explain_value(const json& rule, const json& value, const std::string& where) {
    Error error{where, "found " + shown(value), expected_by(rule), ""};
    auto type = rule.find("type");
    if (value.is_string()) {
        const auto& text = value.get_ref<const std::string&>();
        if (auto values = rule.find("enum"); values != rule.end()) {
            std::vector<std::string> known;
            for (const json& one : *values)
                known.push_back(one.get<std::string>());
            error.hint = did_you_mean(text, known);
        } else if (type != rule.end() && (*type == "integer" || *type == "boolean")) {
            error.hint = "write it without quotes";
        } else if (rule.contains("pattern") && text.find_first_of(" \t\r\n") != text.npos) {
            error.hint = "it contains white space";
        } else if (text.find('/') == text.npos && rule.value("pattern", "").find('/') != std::string::npos) {
            error.hint = "its length is missing, as in " + in_quotes(text + "/24");
        } else if (type != rule.end() && *type == "array") {
            error.hint = "put it in brackets: [" + shown(value) + "]";
        }
    } else if (value.is_number_float() && type != rule.end() && *type == "integer") {
        error.hint = "a whole number without point or exponent";
    }
    return error;
}

Error explain_missing(const json& schema, const json& rule, const std::string& where, std::string_view key) {
    const json* member = member_rule(rule, std::string(key));
    std::string expected = member ? expected_by(merged(schema, *member)) : "";
    return {where, "key " + in_quotes(key) + " is missing", in_quotes(key) + ": " + expected, ""};
}

std::vector<Error> explain_unknown_keys(const json& rule, const json& object, const std::string& where) {
    std::vector<Error> errors;
    std::vector<std::string> known = known_keys(rule);
    std::string expected;
    for (const std::string& key : known)
        expected += (expected.empty() ? "one of the keys " : ", ") + in_quotes(key);
    for (const auto& [key, value] : object.items())
        if (!member_rule(rule, key))
            errors.push_back(
                {at(where, key), "unknown key " + in_quotes(key), expected, did_you_mean(key, known)});
    return errors;
}

namespace {

void find_bad_names(const json& schema, const json& rule, const json& value, const std::string& where,
                    std::vector<Error>& errors) {
    if (value.is_array()) {
        auto items = rule.find("items");
        if (items == rule.end()) return;
        json item_rule = merged(schema, *items);
        for (size_t i = 0; i < value.size(); i++)
            find_bad_names(schema, item_rule, value[i], at(where, i), errors);
    }
    if (!value.is_object()) return;
    auto names = rule.find("propertyNames");
    std::optional<std::regex> pattern;
    if (names != rule.end()) pattern.emplace(names->at("pattern").get<std::string>());
    for (const auto& [key, member] : value.items()) {
        if (pattern && !std::regex_search(key, *pattern))
            errors.push_back(
                {at(where, key), in_quotes(key) + " cannot be a key here", names->at("title"), ""});
        if (const json* next = member_rule(rule, key))
            find_bad_names(schema, merged(schema, *next), member, at(where, key), errors);
    }
}

}  // namespace

std::vector<Error> explain_names(const json& schema, const json& document) {
    std::vector<Error> errors;
    find_bad_names(schema, merged(schema, schema), document, "", errors);
    return errors;
}

}  // namespace pktpit
