// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

std::string drops_of(const json& group) {
    std::string text;
    for (const auto& [why, count] : part_of(group, "drops").items())
        if (count.is_number_unsigned() && count != 0U)
            text += (text.empty() ? "" : ", ") + printable(why) + " " + format_count(count.get<uint64_t>());
    return text.empty() ? "none" : text;
}

Cell state_of(const json& worker) {
    const auto is = [&](const char* key) { return worker.contains(key) && worker.at(key) == true; };
    if (is("lost")) return {"lost", Colour::red};
    return is("joined") ? Cell("joined") : Cell("missing", Colour::yellow);
}

std::string heading_of(const std::string& name, const json& group) {
    const auto count = [&](const char* key) { return format_count(number_of(group, key)); };
    const bool running = group.contains("running") && group.at("running") == true;
    const double rate = std::clamp(real_of(group, "chunks_per_second"), 0.0, 1e18);
    return printable(name) + ": " + printable(text_of(group, "type")) + " at UDP port " +
           std::to_string(number_of(group, "udp_port")) +
           (running ? ", epoch " + std::to_string(number_of(group, "epoch")) : ", waits for workers") + "\n" +
           count("chunks") + " chunks added, " + format_count(static_cast<uint64_t>(rate)) +
           " in the last second; " + count("answered") +
           " results sent again; slots in use: " + count("slots_in_use") + " of " + count("slots") +
           "; drops: " + drops_of(group) + "\n";
}

}  // namespace

int show_aggregation(const Session& session) {
    const auto body = fetch(session, "/v1/aggregation");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    const json& groups = part_of(*body, "groups");
    if (groups.empty()) session.terminal.out << "no groups: /aggregation of the configuration has none\n";
    for (const auto& [name, group] : groups.items()) {
        Table table({{"WORKER", Align::right},
                     {"ADDRESS"},
                     {"STATE"},
                     {"PORT"},
                     {"PACKETS", Align::right},
                     {"AGAIN", Align::right},
                     {"LAST", Align::right},
                     {"SILENT", Align::right}});
        size_t number = 0;
        for (const json& worker : part_of(group, "workers")) {
            const bool joined = worker.contains("silent_ms") && worker.at("silent_ms").is_number();
            table.add_row({std::to_string(number++), printable(text_of(worker, "address")), state_of(worker),
                           printable(text_of(worker, "port", "-")),
                           format_count(number_of(worker, "packets")),
                           format_count(number_of(worker, "again")), format_count(number_of(worker, "last")),
                           joined ? format_count(number_of(worker, "silent_ms")) + " ms" : "-"});
        }
        session.terminal.out << heading_of(name, group) << table.render(session.terminal);
    }
    return exit_ok;
}

}  // namespace pktpit::router::cli
