#include "fib/table_file.h"

#include <algorithm>

#include "fib/file_source.h"
#include "fib/quoted.h"

namespace pktpit::fib {
namespace {

// The longest prefix takes 49 characters. A line far beyond that is no route file but, say, a binary.
constexpr size_t longest_line = 4096;
constexpr std::string_view blanks = " \t\r\v\f";

std::string_view next_token(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view token = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(token.size());
    return token;
}

/// Takes pieces of text as they come and hands whole lines on.
class LineReader {
  public:
    LineReader(const std::string& name, const TableVisitor& visit) : name_(name), visit_(visit) {}

    Result<void> feed(std::string_view text) {
        for (;;) {
            const size_t end = text.find('\n');
            const std::string_view piece = text.substr(0, end);
            if (partial_.size() + piece.size() > longest_line) {
                line_++;
                return wrong("a line of more than " + std::to_string(longest_line) + " characters");
            }
            if (end == std::string_view::npos) {
                partial_ += piece;
                return {};
            }
            if (auto good = whole_line(piece); !good) return good;
            text.remove_prefix(end + 1);
        }
    }
    Result<void> finish() { return partial_.empty() ? Result<void>{} : whole_line({}); }
    [[nodiscard]] size_t routes() const { return routes_; }

  private:
    Result<void> whole_line(std::string_view end) {
        line_++;
        if (partial_.empty()) return parse(end);
        partial_ += end;
        auto result = parse(partial_);
        partial_.clear();
        return result;
    }

    Result<void> parse(std::string_view line) {
        line = line.substr(0, line.find('#'));
        const std::string_view whole = line;
        const std::string_view first = next_token(line);
        if (first.empty()) return {};
        const auto prefix = Prefix::parse(first);
        if (!prefix) return wrong(prefix.error().message, prefix.error().expected);
        const std::string_view id = next_token(line);
        if (id.empty()) return wrong("no next-hop id behind " + quoted(first));
        if (const std::string_view rest = next_token(line); !rest.empty())
            return wrong(quoted(rest) + " behind the next-hop id in " + quoted(whole));
        auto visited = visit_(*prefix, id, line_);
        if (!visited) {
            if (visited.error().where.empty()) visited.error().where = place();
            return visited;
        }
        routes_++;
        return {};
    }

    [[nodiscard]] std::string place() const { return name_ + ":" + std::to_string(line_); }
    [[nodiscard]] Result<void> wrong(std::string found, std::string expected = "`prefix next-hop-id`") const {
        return fail(place(), std::move(found), std::move(expected));
    }

    const std::string& name_;
    const TableVisitor& visit_;
    std::string partial_;  ///< start of a line whose end has not come yet
    size_t line_ = 0;
    size_t routes_ = 0;
};

}  // namespace

Result<size_t> read_table_text(std::string_view text, const std::string& name, const TableVisitor& visit) {
    LineReader reader(name, visit);
    if (auto good = reader.feed(text); !good) return tl::unexpected(good.error());
    if (auto good = reader.finish(); !good) return tl::unexpected(good.error());
    return reader.routes();
}

Result<size_t> read_table_file(const std::string& path, const TableVisitor& visit) {
    auto source = FileSource::open(path);
    if (!source) return tl::unexpected(source.error());
    LineReader reader(path, visit);
    for (;;) {
        const auto piece = source->next();
        if (!piece) return tl::unexpected(piece.error());
        if (piece->empty()) break;
        if (auto good = reader.feed({piece->data(), piece->size()}); !good)
            return tl::unexpected(good.error());
    }
    if (auto good = reader.finish(); !good) return tl::unexpected(good.error());
    return reader.routes();
}

}  // namespace pktpit::fib
