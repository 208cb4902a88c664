// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/json_document.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "base/json/schema.h"
#include "offload/model/texts.h"

namespace pktpit::model {
namespace {

using nlohmann::json;

constexpr int deepest = 40;
constexpr size_t largest = size_t{16} << 20;

const JsonSchema& schema_of(const std::string& name) {
    static const auto all = [] {
        std::map<std::string, JsonSchema> made;
        for (const auto& [file, text] : embedded_texts())
            if (file.starts_with("schemas/")) made.try_emplace(file, text);
        return made;
    }();
    return all.at(name);
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
        for (std::string* text : {&error.where, &error.message, &error.expected, &error.hint})
            std::ranges::replace_if(*text, is_control, '?');
}

}  // namespace

tl::expected<json, Errors> read_document(std::string_view text, const std::string& schema_name) {
    if (text.size() > largest)
        return tl::unexpected(Errors{{"", "the document is too large", "at most 16 MiB", ""}});
    if (const size_t nul = text.find('\0'); nul != std::string_view::npos)
        return tl::unexpected(Errors{at_byte(text, nul + 1, "this is no JSON: a NUL byte")});
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

    Errors errors = schema_of(schema_name).validate(document);
    if (errors.empty()) return document;
    make_printable(errors);
    return tl::unexpected(std::move(errors));
}

}  // namespace pktpit::model
