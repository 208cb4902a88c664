// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ostream>

#include "router/cli/capture_tally.h"
#include "router/cli/commands.h"
#include "router/cli/json_text.h"
#include "router/cli/trace_text.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

Parameters parameters_of(const ObserveOptions& options) {
    Parameters parameters;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) parameters.emplace_back(name, value);
    };
    const auto add_number = [&](const char* name, const std::optional<unsigned>& value) {
        if (value) parameters.emplace_back(name, std::to_string(*value));
    };
    add("filter", options.filter);
    add("port", options.port);
    for (const auto& verdict : options.verdicts)
        add("verdict", verdict);
    for (const auto& point : options.points)
        add("point", point);
    add_number("count", options.count);
    add_number("seconds", options.seconds);
    add_number("sample", options.sample);
    add_number("snaplen", options.snaplen);
    return parameters;
}

/// A refusal speaks of query parameters; who typed them knows them as options.
Reply as_options(Reply reply) {
    const auto errors = reply.body.is_object() ? reply.body.find("errors") : reply.body.end();
    if (!reply.body.is_object() || errors == reply.body.end() || !errors->is_array()) return reply;
    for (json& error : *errors) {
        const std::string where = text_of(error, "where", "");
        if (where.starts_with('?')) error["where"] = "--" + where.substr(1);
    }
    return reply;
}

/// Exit status of what has been streamed; prints why it failed.
int end_of(const Session& session, const Result<Reply>& reply) {
    if (!reply) return print_failure(session, reply.error(), exit_unusable);
    return reply->good() ? exit_ok : print_refusal(session, as_options(*reply));
}

std::string account(uint64_t packets, const char* done, uint64_t lost) {
    return std::to_string(packets) + (packets == 1 ? " packet " : " packets ") + done + ", " +
           std::to_string(lost) + " lost on the way here\n";
}

bool write_all(int descriptor, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        bytes.remove_prefix(static_cast<size_t>(written));
    }
    return true;
}

}  // namespace

int trace(const Session& session, const ObserveOptions& options) {
    std::ostream& out = session.terminal.out;
    std::string waiting;
    const auto print = [&](std::string_view line) {
        if (session.json) {
            out << line << '\n';
        }
        const json packet = json::parse(line, nullptr, false);
        if (packet.is_object() && packet.contains("end")) {
            const json& end = part_of(packet, "end");
            if (!session.json)
                session.terminal.err << account(number_of(end, "packets"), "traced", number_of(end, "lost"));
        } else if (!session.json) {
            out << trace_text(packet, session.terminal);
        }
    };
    const auto reply =
        session.client.stream("/v1/trace", parameters_of(options), [&](std::string_view bytes) {
            waiting.append(bytes);
            size_t at = 0;
            for (size_t end = waiting.find('\n'); end != std::string::npos; end = waiting.find('\n', at)) {
                print(std::string_view(waiting).substr(at, end - at));
                at = end + 1;
            }
            waiting.erase(0, at);
            out.flush();
            return out.good();
        });
    return end_of(session, reply);
}

int capture(const Session& session, const ObserveOptions& options) {
    const bool to_output = options.file == "-";
    int file = -1;
    int failure = 0;
    CaptureTally tally;
    // Opened when the daemon has agreed: a mistyped filter does not empty an older file.
    const auto write = [&](std::string_view bytes) {
        if (file < 0 && to_output) file = STDOUT_FILENO;
        if (file < 0) file = ::open(options.file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
        if (file < 0 || !write_all(file, bytes)) {
            failure = errno;
            return false;
        }
        tally.take(bytes);
        return true;
    };
    const auto reply = session.client.stream("/v1/capture", parameters_of(options), write);
    if (!to_output && file >= 0 && ::close(file) != 0 && failure == 0) failure = errno;
    if (failure != 0 && !(to_output && failure == EPIPE))
        return print_failure(session,
                             {options.file, std::string("cannot write: ") + std::strerror(failure), "", ""},
                             exit_unusable);
    // What has come is in the file, also when the daemon is no more.
    if (file >= 0) {
        std::ostream& told = session.json && !to_output ? session.terminal.out : session.terminal.err;
        if (session.json)
            told << json{{"packets", tally.packets()}, {"lost", tally.lost()}}.dump() << '\n';
        else
            told << account(tally.packets(), "captured", tally.lost());
    }
    return end_of(session, reply);
}

}  // namespace pktpit::router::cli
