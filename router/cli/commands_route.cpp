// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <ostream>
#include <sstream>

#include "base/errno_text.h"
#include "base/fd.h"
#include "router/cli/commands.h"
#include "router/cli/json_text.h"
#include "router/cli/line_reader.h"
#include "router/cli/next_hops.h"
#include "router/cli/route_words.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

constexpr size_t most_errors = 20;

/// The routes of a file, and the line of each.
class RouteFile {
  public:
    RouteFile(std::string name, bool removal, Family default_family)
        : name_(std::move(name)), removal_(removal), default_family_(default_family) {}

    Result<void> read(int descriptor) {
        return read_lines(
            descriptor,
            [this](std::string_view line, size_t number) {
                take(line, number);
                return errors_.size() < most_errors;
            },
            [] {});
    }
    [[nodiscard]] std::string place(size_t line) const { return name_ + ":" + std::to_string(line); }
    /// "/routes/7/via" as the daemon has it: FILE:LINE, and the rest.
    [[nodiscard]] std::string place_of(const std::string& where) const {
        constexpr std::string_view begin = "/routes/";
        if (!where.starts_with(begin)) return where;
        size_t used = 0;
        size_t index = lines_.size();
        try {
            index = std::stoul(where.substr(begin.size()), &used);
        } catch (const std::exception&) {
            return where;
        }
        return index < lines_.size() ? place(lines_[index]) + where.substr(begin.size() + used) : where;
    }
    [[nodiscard]] const std::vector<Error>& errors() const { return errors_; }
    [[nodiscard]] const json& routes() const { return routes_; }

  private:
    void take(std::string_view line, size_t number) {
        std::istringstream text{std::string(line.substr(0, line.find('#')))};
        std::vector<std::string> words;
        for (std::string word; text >> word;)
            words.push_back(word);
        if (words.empty()) return;
        auto route = removal_ ? parse_route_to_delete(words, default_family_)
                              : parse_route_words(words, default_family_);
        if (!route) {
            errors_.push_back(route.error());
            errors_.back().where = place(number);
            return;
        }
        routes_.push_back(std::move(*route));
        lines_.push_back(number);
    }

    std::string name_;
    bool removal_;
    Family default_family_;
    json routes_ = json::array();
    std::vector<size_t> lines_;
    std::vector<Error> errors_;
};

}  // namespace

int change_routes_of(const Session& session, const std::string& method, const std::string& path,
                     Family default_family) {
    const bool standard = path == "-";
    const Fd opened(standard ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!standard && !opened)
        return print_failure(session, {path, errno_text(errno), "a file of routes, one a line", ""},
                             exit_unusable);
    RouteFile file(standard ? "standard input" : path, method == "DELETE", default_family);
    if (auto read = file.read(standard ? session.terminal.input : opened.get()); !read)
        return print_failure(session, read.error(), exit_unusable);
    if (!file.errors().empty()) {
        for (const auto& error : file.errors())
            session.terminal.print_error(error);
        return exit_unusable;
    }
    if (file.routes().empty())
        return print_failure(session, {path, "no route in it", "routes, one a line", ""}, exit_unusable);
    auto reply = session.client.send(method, "/v1/routes", {{"routes", file.routes()}});
    if (!reply) return print_failure(session, reply.error(), exit_unusable);
    if (!reply->good()) {
        if (reply->body.is_object() && part_of(reply->body, "errors").is_array())
            for (auto& error : reply->body["errors"])
                if (error.is_object()) error["where"] = file.place_of(text_of(error, "where", ""));
        return print_refusal(session, *reply);
    }
    if (session.json) {
        print_json(session, reply->body);
        return exit_ok;
    }
    const uint64_t routes = number_of(reply->body, "routes");
    const uint64_t changed = number_of(reply->body, "changed");
    std::ostream& out = session.terminal.out;
    out << routes << (routes == 1 ? " route" : " routes") << (method == "DELETE" ? " removed" : " set");
    if (changed != routes) out << " (" << routes - changed << " as they were)";
    out << '\n';
    return exit_ok;
}

int change_route(const Session& session, const std::string& method, const std::vector<std::string>& words,
                 Family default_family) {
    const bool removal = method == "DELETE";
    const auto route =
        removal ? parse_route_to_delete(words, default_family) : parse_route_words(words, default_family);
    if (!route) return print_failure(session, route.error(), exit_unusable);

    const auto reply = session.client.send(method, "/v1/routes", *route);
    if (!reply) return print_failure(session, reply.error(), exit_unusable);
    if (!reply->good()) return print_refusal(session, *reply);
    if (session.json) {
        print_json(session, reply->body);
        return exit_ok;
    }
    std::ostream& out = session.terminal.out;
    out << printable(text_of(reply->body, "prefix"));
    if (removal) {
        out << " removed\n";
        return exit_ok;
    }
    for (const Cell& hop : next_hop_cells(part_of(reply->body, "route")))
        out << ' ' << printable(hop.text);
    out << (flag_of(reply->body, "changed") ? "" : " (as it was)") << '\n';
    return exit_ok;
}

}  // namespace pktpit::router::cli
