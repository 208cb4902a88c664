// SPDX-License-Identifier: BSD-3-Clause
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <ostream>

#include "router/check/check.h"
#include "router/cli/commands.h"
#include "router/cli/json_text.h"
#include "router/dataplane/kernel_forwarding.h"
#include "router/dataplane/listening_warnings.h"

namespace pktpit::router::cli {

int check(const Session& session, const std::string& path, bool interfaces_must_exist) {
    config::InterfaceExists exists;
    if (interfaces_must_exist) {
        exists = [](std::string_view name) { return ::if_nametoindex(std::string(name).c_str()) != 0; };
    }
    check::WarningsOfMachine of_machine;
    if (interfaces_must_exist)
        of_machine = [](const config::Config& config) {
            auto warnings = kernel_forwarding_warnings(config.heartbeat);
            std::ranges::move(listening_warnings(config), std::back_inserter(warnings));
            return warnings;
        };
    const auto report = check::check_file(path, exists, of_machine);
    if (session.json) {
        session.terminal.out << report.json;
        if (!report.json.ends_with('\n')) session.terminal.out << '\n';
    } else {
        session.terminal.out << report.text;
    }
    return report.exit_status == 0 ? exit_ok : exit_wrong;
}

namespace {

int send_change(const Session& session, const std::string& where, const nlohmann::json& request,
                bool dry_run) {
    const auto reply = session.client.send("POST", where, request);
    if (!reply) return print_failure(session, reply.error(), exit_unusable);
    if (!reply->good()) {
        const int status = print_refusal(session, *reply);
        if (status == exit_wrong && !session.json) session.terminal.err << "nothing was changed\n";
        return status;
    }
    if (session.json) {
        print_json(session, reply->body);
        return exit_ok;
    }
    std::ostream& out = session.terminal.out;
    const auto& changes = part_of(reply->body, "changes");
    for (const auto& change : changes) {
        if (change.is_string()) out << printable(change.get<std::string>()) << '\n';
    }
    const std::string counted =
        std::to_string(changes.size()) + (changes.size() == 1 ? " change" : " changes");
    if (changes.empty()) {
        out << "no change\n";
    } else if (dry_run) {
        out << counted << ", none made\n";
    } else {
        out << counted << " made; configuration " << number_of(reply->body, "generation") << '\n';
    }
    if (const uint64_t within = number_of(reply->body, "confirm_within"); within != 0)
        out << "goes back by itself in " << within << " s; to keep it: pktpit confirm\n";
    return exit_ok;
}

}  // namespace

int confirm(const Session& session) {
    const auto reply = session.client.send("POST", "/v1/confirm", nlohmann::json::object());
    if (!reply) return print_failure(session, reply.error(), exit_unusable);
    if (!reply->good()) return print_refusal(session, *reply);
    if (session.json)
        print_json(session, reply->body);
    else
        session.terminal.out << "confirmed; configuration " << number_of(reply->body, "generation") << '\n';
    return exit_ok;
}

int rollback(const Session& session, size_t back, bool dry_run, std::optional<uint32_t> confirm_s) {
    nlohmann::json request = {{"back", back}, {"dry_run", dry_run}};
    if (confirm_s) request["confirm"] = *confirm_s;
    const int status = send_change(session, "/v1/rollback", request, dry_run);
    if (status == exit_ok && !session.json && !dry_run)
        session.terminal.out << "the file is as it was, and counts at the next reload or start; to write it: "
                                "pktpit show config --saved 0 > FILE\n";
    return status;
}

int reload(const Session& session, const std::optional<std::string>& path, bool dry_run,
           std::optional<uint32_t> confirm_s) {
    nlohmann::json request = {{"dry_run", dry_run}};
    if (confirm_s) request["confirm"] = *confirm_s;
    if (path) {
        // The daemon has another working directory.
        std::error_code failed;
        const auto absolute = std::filesystem::absolute(*path, failed);
        if (failed) return print_failure(session, {*path, failed.message(), "", ""}, exit_unusable);
        request["path"] = absolute.lexically_normal().string();
    }
    return send_change(session, "/v1/reload", request, dry_run);
}

int demo(const Session& session) {
    // The installed one if it is there, else that of the source tree this was built from.
    const char* script = PKTPIT_INSTALLED_DEMO;
    if (::access(script, X_OK) != 0) script = PKTPIT_SOURCE_DEMO;
    std::error_code failed;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (!failed && script == std::string_view(PKTPIT_SOURCE_DEMO)) {
        // build/<preset>/router/pktpit: the demo shall run what was built together with this.
        ::setenv("PKTPIT_BUILD", program.parent_path().parent_path().c_str(), 0);
    }
    session.terminal.out.flush();
    ::execl(script, script, static_cast<char*>(nullptr));
    return print_failure(session,
                         {script, std::string("cannot run the demo: ") + std::strerror(errno), "",
                          "it comes with the sources, as packaging/demo"},
                         exit_unusable);
}

}  // namespace pktpit::router::cli
