// The only compile unit that includes valijson: its headers take seconds.
#include "config/validate.h"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <set>

#include "config/explain.h"
#include "config/pointer.h"

namespace pktpit::config {
namespace {

using nlohmann::json;

struct CompiledSchema {
    json text;
    valijson::Schema compiled;

    CompiledSchema() : text(json::parse(schema_text())) {
        valijson::adapters::NlohmannJsonAdapter adapter(text);
        valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, compiled);
    }
};

const CompiledSchema& schema() {
    static const CompiledSchema once;
    return once;
}

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

}  // namespace

Errors validate(const json& document) {
    valijson::ValidationResults results;
    valijson::Validator validator;
    if (validator.validate(schema().compiled, valijson::adapters::NlohmannJsonAdapter(document), &results))
        return {};

    // Broken propertyNames make valijson say no without a word.
    Errors errors = explain_names(schema().text, document);
    // A value that is wrong in several ways (type, pattern, length) is one error: what is expected names them
    // all.
    std::set<std::string> values_told, keys_told;
    for (const auto& finding : results) {
        // What valijson adds on its way out of a part that it has already found fault with.
        if (finding.description.starts_with("Failed to validate")) continue;
        std::string where = pointer_of(finding.context);
        const json& value = document.at(json::json_pointer(where));
        json rule = rule_for(schema().text, document, where);
        if (finding.description.starts_with("Missing required property")) {
            errors.push_back(explain_missing(schema().text, rule, where, name_in(finding.description)));
        } else if (finding.description.starts_with("Object contains a property")) {
            // valijson names the first one only.
            if (!keys_told.insert(where).second) continue;
            for (Error& error : explain_unknown_keys(rule, value, where))
                errors.push_back(std::move(error));
        } else if (values_told.insert(where).second) {
            errors.push_back(explain_value(rule, value, where));
        }
    }
    if (errors.empty()) errors.push_back({"", "the configuration does not match the schema", "", ""});
    return errors;
}

}  // namespace pktpit::config
