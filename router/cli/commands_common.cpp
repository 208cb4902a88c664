// SPDX-License-Identifier: BSD-3-Clause
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/json_text.h"

namespace pktpit::router::cli {
namespace {

nlohmann::json as_json(const Error& error) {
    return {{"where", error.where},
            {"message", error.message},
            {"expected", error.expected},
            {"hint", error.hint}};
}

}  // namespace

void print_json(const Session& session, const nlohmann::json& value) {
    session.terminal.out << value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

int print_failure(const Session& session, const Error& error, int status) {
    if (session.json) print_json(session, {{"errors", {as_json(error)}}});
    session.terminal.print_error(error);
    return status;
}

int print_refusal(const Session& session, const Reply& reply) {
    if (session.json) print_json(session, reply.body);
    const auto& errors = part_of(reply.body, "errors");
    for (const auto& error : errors) {
        const uint64_t line = number_of(error, "line");
        const std::string place = line ? "line " + std::to_string(line) + ": " : "";
        session.terminal.print_error({place + text_of(error, "where", ""), text_of(error, "message", ""),
                                      text_of(error, "expected", ""), text_of(error, "hint", "")});
    }
    if (errors.empty()) {
        session.terminal.print_error(
            {"", "the daemon refused: HTTP " + std::to_string(reply.status), "", ""});
    }
    // A path that the daemon does not know: it is of another version than this program.
    const bool no_such_path =
        reply.status == 405 ||
        (reply.status == 404 && (errors.empty() || text_of(errors[0], "where", "").starts_with("/v1/")));
    return reply.status >= 500 || no_such_path ? exit_unusable : exit_wrong;
}

tl::expected<nlohmann::json, int> fetch(const Session& session, const std::string& path,
                                        const Parameters& parameters) {
    auto reply = session.client.get(path, parameters);
    if (!reply) return tl::unexpected(print_failure(session, reply.error(), exit_unusable));
    if (!reply->good()) return tl::unexpected(print_refusal(session, *reply));
    return std::move(reply->body);
}

std::string modelled_line(const nlohmann::json& body) {
    const std::string what = text_of(body, "modelled", "");
    return what.empty() ? "" : "modelled, not measured: " + printable(what) + "\n";
}

}  // namespace pktpit::router::cli
