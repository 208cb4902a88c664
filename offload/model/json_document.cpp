// The only compile unit of the model that includes valijson: its headers take seconds.
#include "offload/model/json_document.h"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <algorithm>
#include <memory>
#include <set>

#include "offload/model/texts.h"

namespace pktpit::model {
namespace {

using nlohmann::json;

constexpr int deepest = 40;
constexpr size_t largest = size_t{16} << 20;

struct CompiledSchema {
    json text;
    valijson::Schema compiled;

    explicit CompiledSchema(std::string_view schema) : text(json::parse(schema)) {
        valijson::adapters::NlohmannJsonAdapter adapter(text);
        valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, compiled);
    }
};

const CompiledSchema& compiled(const std::string& name) {
    static const auto all = [] {
        std::map<std::string, std::unique_ptr<CompiledSchema>> made;
        for (const auto& [file, text] : embedded_texts())
            if (file.starts_with("schemas/")) made[file] = std::make_unique<CompiledSchema>(text);
        return made;
    }();
    return *all.at(name);
}

/// ["<root>", "[nics]", "[3]"] → "/nics/3"
std::string pointer_of(const std::vector<std::string>& context) {
    std::string pointer;
    for (size_t i = 1; i < context.size(); i++) {
        pointer += '/';
        for (const char c : std::string_view(context[i]).substr(1, context[i].size() - 2))
            pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return pointer;
}

const json& follow(const json& schema, const json& rule) {
    const json* at = &rule;
    for (int i = 0; i < 8 && at->contains("$ref"); i++)
        at = &schema.at(json::json_pointer(at->at("$ref").get<std::string>().substr(1)));
    return *at;
}

/// What the schema says in words of the place.
std::string expected_at(const json& schema, const std::vector<std::string>& context) {
    const json* rule = &schema;
    for (size_t i = 1; i < context.size(); i++) {
        const std::string key = context[i].substr(1, context[i].size() - 2);
        rule = &follow(schema, *rule);
        if (rule->contains("properties") && rule->at("properties").contains(key))
            rule = &rule->at("properties").at(key);
        else if (rule->contains("items") && rule->at("items").is_object())
            rule = &rule->at("items");
        else if (rule->contains("additionalProperties") && rule->at("additionalProperties").is_object())
            rule = &rule->at("additionalProperties");
        else
            return "";
    }
    if (!rule->contains("description")) rule = &follow(schema, *rule);
    return rule->value("description", "");
}

Error at_byte(std::string_view text, size_t byte, const std::string& message) {
    const std::string_view before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
    const auto line = 1 + std::ranges::count(before, '\n');
    const size_t start = before.rfind('\n');
    const size_t column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
    return {"line " + std::to_string(line) + ", column " + std::to_string(column), message, "JSON", ""};
}

void make_printable(Errors& errors) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
    for (Error& error : errors)
        for (std::string* text : {&error.where, &error.message, &error.expected})
            std::ranges::replace_if(*text, is_control, '?');
}

}  // namespace

tl::expected<json, Errors> read_document(std::string_view text, const std::string& schema_name) {
    if (text.size() > largest)
        return tl::unexpected(Errors{{"", "the document is too large", "at most 16 MiB", ""}});
    json document;
    bool too_deep = false;
    try {
        document = json::parse(text, [&](int depth, json::parse_event_t, json&) {
            too_deep |= depth > deepest;
            return depth <= deepest;
        });
    } catch (const json::exception& error) {
        const auto* where = dynamic_cast<const json::parse_error*>(&error);
        return tl::unexpected(Errors{at_byte(text, where ? where->byte : 0, "this is no JSON")});
    }
    if (too_deep)
        return tl::unexpected(Errors{{"", "the document is nested too deep", "at most 40 levels", ""}});

    const CompiledSchema& schema = compiled(schema_name);
    valijson::ValidationResults results;
    valijson::Validator validator;
    if (validator.validate(schema.compiled, valijson::adapters::NlohmannJsonAdapter(document), &results))
        return document;
    Errors errors;
    std::set<std::string> told;
    for (const auto& finding : results) {
        // What valijson adds on its way out of a part that it has already found fault with.
        if (finding.description.starts_with("Failed to validate")) continue;
        const std::string where = pointer_of(finding.context);
        if (!told.insert(where + finding.description).second) continue;
        errors.push_back({where, finding.description, expected_at(schema.text, finding.context), ""});
    }
    if (errors.empty()) errors.push_back({"", "not as the schema says", "", ""});
    make_printable(errors);
    return tl::unexpected(std::move(errors));
}

}  // namespace pktpit::model
