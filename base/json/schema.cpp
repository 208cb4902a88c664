// SPDX-License-Identifier: BSD-3-Clause
// The only compile unit that includes valijson: its headers take seconds.
#include "base/json/schema.h"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <set>

#include "base/json/explain.h"
#include "base/json/pointer.h"

namespace pktpit {
namespace {

using nlohmann::json;

constexpr size_t most_explained = 1000;

/// ["<root>", "[routes]", "[3]"] → "/routes/3"
std::string pointer_of(const std::vector<std::string>& context) {
    std::string pointer;
    for (size_t i = 1; i < context.size(); i++)
        pointer = at(std::move(pointer), std::string_view(context[i]).substr(1, context[i].size() - 2));
    return pointer;
}

/// The name in single quotes at the end of a finding.
std::string_view name_in(std::string_view description) {
    size_t first = description.find('\'', description.find("roperty"));
    size_t last = description.rfind('\'');
    return first < last ? description.substr(first + 1, last - first - 1) : std::string_view();
}

void find_long_strings(const json& value, const std::string& where, std::vector<Error>& errors) {
    const auto look_at = [&](const std::string& text, const char* what) {
        if (text.size() > JsonSchema::longest_string)
            errors.push_back({where, std::string(what) + " of " + std::to_string(text.size()) + " bytes",
                              "at most " + std::to_string(JsonSchema::longest_string) + " bytes", ""});
    };
    if (value.is_string()) look_at(value.get_ref<const std::string&>(), "string");
    if (value.is_array())
        for (size_t i = 0; i < value.size(); i++)
            find_long_strings(value[i], at(where, i), errors);
    if (value.is_object())
        for (const auto& [key, member] : value.items()) {
            look_at(key, "key");
            find_long_strings(member, at(where, key), errors);
        }
}

}  // namespace

struct JsonSchema::Compiled {
    json text;
    valijson::Schema schema;

    explicit Compiled(std::string_view from) : text(json::parse(from)) {
        valijson::adapters::NlohmannJsonAdapter adapter(text);
        valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema);
    }
};

JsonSchema::JsonSchema(std::string_view text) : compiled_(std::make_unique<const Compiled>(text)) {}

JsonSchema::~JsonSchema() = default;

std::vector<Error> JsonSchema::validate(const json& document) const {
    std::vector<Error> errors;
    find_long_strings(document, "", errors);
    if (!errors.empty()) return errors;
    const json& schema = compiled_->text;
    valijson::ValidationResults results;
    valijson::Validator validator;
    if (validator.validate(compiled_->schema, valijson::adapters::NlohmannJsonAdapter(document), &results))
        return {};

    // Broken propertyNames make valijson say no without a word.
    errors = explain_names(schema, document);
    // A value that is wrong in several ways (type, pattern, length) is one error: what is expected names them
    // all.
    std::set<std::string> values_told, keys_told;
    for (const auto& finding : results) {
        // What valijson adds on its way out of a part that it has already found fault with.
        if (finding.description.starts_with("Failed to validate")) continue;
        std::string where = pointer_of(finding.context);
        // Nobody reads so many, and each explanation walks the schema: they are there, to be counted.
        if (errors.size() >= most_explained) {
            if (values_told.insert(where).second)
                errors.push_back({std::move(where), "does not match the schema", "", ""});
            continue;
        }
        const json& value = document.at(json::json_pointer(where));
        json rule = rule_for(schema, document, where);
        if (finding.description.starts_with("Missing required property")) {
            errors.push_back(explain_missing(schema, rule, where, name_in(finding.description)));
        } else if (finding.description.starts_with("Object contains a property")) {
            // valijson names the first one only.
            if (!keys_told.insert(where).second) continue;
            for (Error& error : explain_unknown_keys(rule, value, where))
                errors.push_back(std::move(error));
        } else if (values_told.insert(where).second) {
            errors.push_back(explain_value(rule, value, where));
        }
    }
    if (errors.empty()) errors.push_back({"", "the document does not match the schema", "", ""});
    return errors;
}

}  // namespace pktpit
