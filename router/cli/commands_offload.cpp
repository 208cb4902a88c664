// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

std::string percent_of(const json& object) {
    if (!object.contains("hit_rate") || !object.at("hit_rate").is_number()) return "-";
    char text[16];
    std::snprintf(text, sizeof text, "%.1f %%", real_of(object, "hit_rate") * 100);
    return text;
}

std::string churn_of(const json& body, const char* name) {
    const json& churn = part_of(body, name);
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.1f", real_of(churn, "rate"));
    return std::string(name) + " " + format_count(number_of(churn, "total")) + " (" + rate + "/s)";
}

int show_entries(const Session& session) {
    const auto body = fetch(session, "/v1/offload/entries");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"BLOCK"}, {"RATE", Align::right}});
    for (const json& entry : part_of(*body, "entries"))
        table.add_row({text_of(entry, "prefix"), format_packet_rate(real_of(entry, "rate"))});
    session.terminal.out << (table.empty() ? "no entries\n" : table.render(session.terminal));
    return exit_ok;
}

}  // namespace

int show_offload(const Session& session, bool entries) {
    if (entries) return show_entries(session);
    const auto body = fetch(session, "/v1/offload");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    session.terminal.out << modelled_line(*body);
    const bool whole = flag_of(*body, "whole_table");
    session.terminal.out << number_of(*body, "entries") << " of " << number_of(*body, "budget")
                         << (whole ? " entries: the whole table" : " entries") << ", hit rate "
                         << percent_of(*body) << "\n"
                         << churn_of(*body, "promoted") << ", " << churn_of(*body, "evicted") << ", "
                         << churn_of(*body, "invalidated") << "\n";
    Table table({{"PORT"},
                 {"FORWARDING"},
                 {"INLINE", Align::right},
                 {"SPLIT", Align::right},
                 {"HIT RATE", Align::right}});
    for (const json& port : part_of(*body, "ports"))
        table.add_row({text_of(port, "name"), text_of(port, "forwarding"),
                       format_packet_rate(real_of(port, "inline_rate")),
                       format_packet_rate(real_of(port, "split_rate")), percent_of(port)});
    if (!table.empty()) session.terminal.out << table.render(session.terminal);
    return exit_ok;
}

}  // namespace pktpit::router::cli
