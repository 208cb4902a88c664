// SPDX-License-Identifier: BSD-3-Clause
#include "config/sax.h"

#include <algorithm>
#include <iterator>

namespace pktpit::config {
namespace {

using nlohmann::json;

/// Counts what the parser reads, which it does not tell.
struct CountingIterator {
    using iterator_category = std::forward_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    const char* at = nullptr;
    size_t* count = nullptr;

    reference operator*() const { return *at; }
    CountingIterator& operator++() {
        ++at;
        ++*count;
        return *this;
    }
    CountingIterator operator++(int) {
        CountingIterator old = *this;
        ++*this;
        return old;
    }
    bool operator==(const CountingIterator& other) const { return at == other.at; }
    bool operator!=(const CountingIterator& other) const { return at != other.at; }
};

/// What most likely went wrong just before or at the byte where reading stopped.
std::string hint_for(std::string_view text, size_t offset, std::string_view what) {
    auto says = [&](std::string_view words) { return what.find(words) != what.npos; };
    if (says("UTF-8")) return "save the file as UTF-8";
    if (says("unexpected end of input")) return "is a bracket or a quote left open?";
    std::string_view rest = text.substr(std::min(offset, text.size()));
    size_t line_start = text.substr(0, offset).rfind('\n');
    std::string_view line = text.substr(line_start == text.npos ? 0 : line_start + 1);
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(" \t")));
    if (line.starts_with("//") || line.starts_with("/*") || rest.starts_with("/") || rest.starts_with("#"))
        return "JSON has no comments";
    if (rest.starts_with("'")) return "strings stand in double quotes";
    if (rest.starts_with("NaN") || rest.starts_with("Infinity")) return "JSON has no such number";
    size_t before = offset ? text.find_last_not_of(" \t\r\n", offset - 1) : text.npos;
    char previous = before == text.npos ? '\0' : text[before];
    if ((rest.starts_with("}") || rest.starts_with("]")) && previous == ',')
        return "remove the comma before it";
    bool inside = says("parsing array - ") || says("parsing object - ");
    if (inside && (says("unexpected string literal") || says("unexpected number literal")))
        return "is a comma missing before it?";
    return "";
}

/// What the parser wanted, in words for people.
std::string expectation(std::string_view expected, std::string_view context) {
    if (expected == "string literal" && context == "object key") return "a key in double quotes";
    if (expected == "'[', '{', or a literal") return "a value";
    if (expected == "end of input") return "the end of the text";
    return std::string(expected);
}

/// nlohmann's "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while parsing
/// value - invalid literal; last read: 'x'; expected y" in the shape of our errors.
Error syntax_error(std::string_view text, size_t consumed, std::string_view last_token,
                   std::string_view what) {
    if (size_t found = what.find("] "); found != what.npos) what.remove_prefix(found + 2);
    if (what.starts_with("parse error at line ")) what.remove_prefix(what.find(": ") + 2);
    std::string_view context, expected;
    // The token is quoted as it is, and may hold anything: words like these, broken UTF-8.
    constexpr std::string_view last_read = "; last read: '", wanted = "; expected ";
    std::string_view rest = what;
    if (size_t found = what.find(last_read); found != what.npos) {
        rest = what.substr(std::min(what.size(), found + last_read.size() + last_token.size() + 1));
        what = what.substr(0, found);
    }
    if (size_t found = rest.rfind(wanted); found != rest.npos) {
        expected = rest.substr(found + wanted.size());
        what = what.substr(0, what.find(wanted));
    }
    // Only strings and numbers are told from their start on; else the last byte read is the fault.
    bool whole_token = what.find("unexpected string literal") != what.npos ||
                       what.find("unexpected number literal") != what.npos ||
                       what.starts_with("number overflow");
    size_t length = whole_token ? last_token.size() : 1;
    bool at_end = what.find("unexpected end of input") != what.npos;
    size_t offset = at_end ? text.size() : consumed >= length ? consumed - length : 0;
    auto [line, column] = position_of(text, offset);

    Error error;
    error.where = "line " + std::to_string(line) + ", column " + std::to_string(column);
    error.hint = hint_for(text, offset, what);
    constexpr std::string_view lead = "syntax error while parsing ";
    if (size_t dash = what.find(" - "); what.starts_with(lead) && dash != what.npos) {
        context = what.substr(lead.size(), dash - lead.size());
        what.remove_prefix(dash + 3);
    }
    error.expected = expectation(expected, context);
    error.message = "not JSON: " + std::string(what.substr(0, 120));
    if (what == "invalid literal") {
        std::string_view near = text.substr(offset, 20);
        error.message += " at '" + std::string(near.substr(0, near.find_first_of("\r\n"))) + "'";
        // Whatever stands there; an error is always printable.
        std::ranges::replace_if(
            error.message, [](char c) { return c < ' ' || c > '~'; }, '?');
        if (error.expected.empty()) error.expected = "a value";
    }
    if (context.starts_with("object") || context.starts_with("array"))
        error.message += " while reading an " + std::string(context);
    return error;
}

/// The names that nlohmann calls its handlers by.
struct Adapter {
    std::string_view text;
    SaxHandler& handler;

    bool null() { return handler.value(json(nullptr)); }
    bool boolean(bool value) { return handler.value(json(value)); }
    bool number_integer(json::number_integer_t value) { return handler.value(json(value)); }
    bool number_unsigned(json::number_unsigned_t value) { return handler.value(json(value)); }
    bool number_float(json::number_float_t value, const std::string&) { return handler.value(json(value)); }
    bool string(std::string& value) { return handler.value(json(std::move(value))); }
    bool binary(json::binary_t&) { return false; }
    bool start_object(size_t) { return handler.open(json::object()); }
    bool end_object() { return handler.close(); }
    bool start_array(size_t) { return handler.open(json::array()); }
    bool end_array() { return handler.close(); }
    bool key(std::string& name) { return handler.member(name); }
    bool parse_error(size_t position, const std::string& last_token, const json::exception& exception) {
        handler.broken(syntax_error(text, position, last_token, exception.what()));
        return false;
    }
};

}  // namespace

bool read_events(std::string_view text, SaxHandler& handler, size_t& consumed) {
    // The parser takes one for the end of the text.
    if (consumed = text.find('\0'); consumed != text.npos) {
        const auto [line, column] = position_of(text, consumed);
        handler.broken({"line " + std::to_string(line) + ", column " + std::to_string(column),
                        "not JSON: a NUL byte", "text",
                        "a crash may have filled the file's end with zeros, or two files were joined"});
        return false;
    }
    Adapter adapter{text, handler};
    consumed = 0;
    return json::sax_parse(CountingIterator{text.data(), &consumed},
                           CountingIterator{text.data() + text.size(), &consumed}, &adapter);
}

std::pair<size_t, size_t> position_of(std::string_view text, size_t offset) {
    std::string_view before = text.substr(0, offset);
    size_t newline = before.rfind('\n');
    return {1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n')),
            before.size() - (newline == before.npos ? 0 : newline + 1) + 1};
}

size_t LineCounter::line_at(size_t offset) {
    std::string_view between = text_.substr(offset_, offset - offset_);
    line_ += static_cast<size_t>(std::count(between.begin(), between.end(), '\n'));
    offset_ = offset;
    return line_;
}

}  // namespace pktpit::config
