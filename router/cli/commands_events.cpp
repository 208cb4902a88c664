// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <ostream>
#include <thread>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

/// "2026-11-23 08:15:02.417", local time.
std::string time_text(double seconds) {
    const auto milliseconds = static_cast<unsigned>((seconds - std::floor(seconds)) * 1000) % 1000;
    std::string padded = std::to_string(1000 + milliseconds);
    padded[0] = '.';
    return format_time(seconds, "%F %T") + padded;
}

}  // namespace

int show_events(const Session& session, bool follow) {
    constexpr std::chrono::milliseconds between_looks{300};
    std::ostream& out = session.terminal.out;
    uint64_t after = 0;
    for (;;) {
        const auto body = fetch(session, "/v1/events", {{"after", std::to_string(after)}});
        if (!body) return body.error();
        if (session.json && !follow) {
            print_json(session, *body);
            return exit_ok;
        }
        const json& events = part_of(*body, "events");
        for (const json& event : events) {
            if (session.json)
                out << event.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
            else
                out << time_text(real_of(event, "time")) << "  " << printable(text_of(event, "kind")) << "  "
                    << printable(text_of(event, "text")) << '\n';
        }
        if (!follow) {
            if (events.empty()) out << "no events\n";
            return exit_ok;
        }
        out.flush();
        if (!out.good()) return exit_ok;
        after = number_of(*body, "last");
        std::this_thread::sleep_for(between_looks);
    }
}

int show_memory(const Session& session) {
    const auto body = fetch(session, "/v1/memory");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"PART"}, {"BYTES", Align::right}, {"HOW"}, {"OF", Align::left, true}});
    for (const json& part : part_of(*body, "parts"))
        table.add_row({text_of(part, "part"), std::to_string(number_of(part, "bytes")), text_of(part, "how"),
                       text_of(part, "of")});
    session.terminal.out << table.render(session.terminal);
    return exit_ok;
}

}  // namespace pktpit::router::cli
