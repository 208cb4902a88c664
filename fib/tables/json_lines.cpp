// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/json_lines.h"

#include <nlohmann/json.hpp>

#include <array>

#include "base/json/parse.h"
#include "base/quoted.h"
#include "fib/tables/unix_time.h"
#include "fib/tables/words.h"

namespace pktpit::fib {

namespace {

using nlohmann::json;

constexpr size_t longest_line = 65536;
constexpr const char* table_form = R"({"prefix": "192.0.2.0/24", "next_hop": "198.51.100.1"})";
constexpr const char* update_form =
    R"({"time": 1470009600, "announce": "192.0.2.0/24", "next_hop": "198.51.100.1"} or {"time": …, "withdraw": …})";

enum class Kind : uint8_t { absent, string, number, other };

struct Member {
    Kind kind = Kind::absent;
    std::string text;  ///< a string's value, or a number as written
};

enum Name : size_t { prefix, next_hop, time_of, announce, withdraw, name_count };
constexpr std::array<const char*, name_count> names = {"prefix", "next_hop", "time", "announce", "withdraw"};

/// The members of one flat object that matter; whatever else there is passes by without being kept.
class Members final : public nlohmann::json_sax<json> {
  public:
    bool null() override { return put(Kind::other); }
    bool boolean(bool) override { return put(Kind::other); }
    bool number_integer(number_integer_t) override { return put(Kind::other); }  // a negative one
    bool number_unsigned(number_unsigned_t value) override {
        return put(Kind::number, depth_ == 1 && current_ ? std::to_string(value) : "");
    }
    bool number_float(number_float_t, const string_t& text) override { return put(Kind::number, text); }
    bool string(string_t& text) override { return put(Kind::string, std::move(text)); }
    bool binary(binary_t&) override { return put(Kind::other); }
    bool start_object(size_t) override {
        if (depth_ > 0 && !put(Kind::other)) return false;
        depth_++;
        is_object_ = true;
        return true;
    }
    bool end_object() override {
        depth_--;
        return true;
    }
    bool start_array(size_t) override {
        if (!put(Kind::other)) return false;
        depth_++;
        return true;
    }
    bool end_array() override {
        depth_--;
        return true;
    }
    bool key(string_t& name) override {
        if (depth_ != 1) return true;
        current_ = nullptr;
        for (size_t i = 0; i < name_count; i++)
            if (name == names[i]) current_ = &members_[i];
        if (!current_ || current_->kind == Kind::absent) return true;
        twice_ = name;
        return false;
    }
    bool parse_error(size_t, const std::string&, const json::exception& error) override {
        // "[…] parse error at line 1, column 5: syntax error while parsing object - unexpected …": the line
        // is always 1, and what is parsed has been said by the file's form.
        const std::string_view text = error.what();
        const size_t column = text.find("column ");
        const size_t colon = text.find(':', column);
        const size_t dash = text.find(" - ", column);
        syntax_error_ =
            column == text.npos || dash == text.npos
                ? text
                : std::string(text.substr(column, colon - column)).append(": ").append(text.substr(dash + 3));
        return false;
    }

    [[nodiscard]] const Member& operator[](Name name) const { return members_[name]; }
    [[nodiscard]] bool is_object() const { return is_object_; }
    [[nodiscard]] const std::string& syntax_error() const { return syntax_error_; }
    [[nodiscard]] const std::string& twice() const { return twice_; }

  private:
    bool put(Kind kind, std::string text = {}) {
        if (depth_ == 0) return false;  // no object at all
        if (depth_ == 1 && current_) *current_ = {kind, std::move(text)};
        return true;
    }

    std::array<Member, name_count> members_;
    Member* current_ = nullptr;
    unsigned depth_ = 0;
    bool is_object_ = false;
    std::string syntax_error_;
    std::string twice_;
};

}  // namespace

struct JsonRecord {
    uint64_t microseconds = 0;
    bool withdraw = false;
    Prefix prefix;
    std::string next_hop;
};

namespace {

/// What a line's members say; an Error's `where` is a JSON pointer, or empty for the line as a whole.
class Meaning {
  public:
    explicit Meaning(const Members& members) : members_(members) {}

    Result<JsonRecord> route() const {
        JsonRecord record;
        if (members_[announce].kind != Kind::absent || members_[withdraw].kind != Kind::absent)
            return fail("", "an update, not a route", table_form);
        if (auto good = read_prefix_of(prefix, record, table_form); !good)
            return tl::unexpected(good.error());
        if (auto good = read_next_hop_of(record); !good) return tl::unexpected(good.error());
        return record;
    }

    Result<JsonRecord> update() const {
        JsonRecord record;
        record.withdraw = members_[withdraw].kind != Kind::absent;
        if (record.withdraw && members_[announce].kind != Kind::absent)
            return fail("", "announce and withdraw in one object", update_form);
        const Member& time = members_[time_of];
        if (time.kind == Kind::absent) return fail("", "no member \"time\"", update_form);
        const auto parsed = time.kind == Kind::number ? parse_unix_time(time.text) : std::nullopt;
        if (!parsed) return fail("/time", found(time) + " is no time", unix_time_form);
        record.microseconds = *parsed;
        if (auto good = read_prefix_of(record.withdraw ? withdraw : announce, record, update_form); !good)
            return tl::unexpected(good.error());
        if (record.withdraw) return record;
        if (auto good = read_next_hop_of(record); !good) return tl::unexpected(good.error());
        return record;
    }

  private:
    static std::string found(const Member& member) {
        return member.kind == Kind::other ? "neither a string nor a number from 0 up"
                                          : pktpit::quoted(member.text);
    }

    Result<void> read_prefix_of(Name name, JsonRecord& record, const char* form) const {
        const Member& member = members_[name];
        if (member.kind == Kind::absent)
            return fail("", std::string("no member \"") + names[name] + "\"", form);
        if (member.kind != Kind::string)
            return fail(std::string("/") + names[name], "no string", "a prefix such as \"192.0.2.0/24\"");
        const auto parsed = Prefix::parse(member.text);
        if (!parsed)
            return fail(std::string("/") + names[name], parsed.error().message, parsed.error().expected);
        record.prefix = *parsed;
        return {};
    }

    Result<void> read_next_hop_of(JsonRecord& record) const {
        const Member& member = members_[next_hop];
        if (member.kind == Kind::absent) return fail("", "no member \"next_hop\"", "its id or address");
        if (member.kind == Kind::other || !is_next_hop_id(member.text))
            return fail("/next_hop", found(member) + " is no next-hop id",
                        "a string without blanks, control characters and '#', or a number");
        record.next_hop = member.text;
        return {};
    }

    const Members& members_;
};

}  // namespace

JsonLinesReader::JsonLinesReader(const std::string& name, bool updates, ReadSummary& summary, Visit visit)
    : name_(name),
      updates_(updates),
      summary_(summary),
      visit_(std::move(visit)),
      lines_(name, longest_line, updates ? update_form : table_form,
             [this](std::string_view line, size_t number) { return parse(line, number); }) {}

JsonLinesReader::JsonLinesReader(const std::string& name, const TableVisitor& visit, ReadSummary& summary)
    : JsonLinesReader(name, false, summary, [visit](const JsonRecord& record, size_t line) {
          return visit(record.prefix, record.next_hop, line);
      }) {}

JsonLinesReader::JsonLinesReader(const std::string& name, const UpdateVisitor& visit, ReadSummary& summary)
    : JsonLinesReader(name, true, summary, [visit](const JsonRecord& record, size_t line) {
          return visit({record.microseconds, record.prefix, record.withdraw, record.next_hop}, line);
      }) {}

Result<void> JsonLinesReader::parse(std::string_view line, size_t number) {
    const size_t first = line.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    const std::string place = name_ + ":" + std::to_string(number);
    const char* const form = updates_ ? update_form : table_form;
    summary_.records++;
    Members members;
    if (has_nul(line)) return fail(place, "no JSON: a NUL byte in the line", form);
    if (!json::sax_parse(line, &members)) {
        if (!members.twice().empty())
            return fail(place + "#/" + members.twice(), "this member occurs twice", "once");
        if (!members.is_object() && line[first] == '[')
            return fail(place, "a JSON array, not JSON lines", form, "`jq -c '.[]'` makes lines of it");
        if (members.syntax_error().empty()) return fail(place, "no JSON object", form);
        return fail(place, "no JSON, at " + pktpit::quoted(members.syntax_error()), form);
    }
    const Meaning meaning(members);
    auto record = updates_ ? meaning.update() : meaning.route();
    if (!record) {
        Error& error = record.error();
        error.where = error.where.empty() ? place : place + "#" + error.where;
        return tl::unexpected(error);
    }
    auto visited = visit_(*record, number);
    if (!visited) {
        if (visited.error().where.empty()) visited.error().where = place;
        return visited;
    }
    summary_.visited++;
    return {};
}

}  // namespace pktpit::fib
