// SPDX-License-Identifier: BSD-3-Clause
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

/// "eth0:0 eth1:0,1"
std::string queues_of(const json& worker) {
    std::string text;
    std::string last;
    for (const json& queue : part_of(worker, "queues")) {
        const std::string port = text_of(queue, "port");
        text += port == last ? "," : (text.empty() ? "" : " ") + port + ":";
        text += std::to_string(number_of(queue, "queue"));
        last = port;
    }
    return text.empty() ? "-" : text;
}

/// A worker that stands still has queues whose port stage stands in for it.
std::string standing_of(const json& worker) {
    const uint64_t queues = number_of(worker, "stood_in");
    return queues == 0 ? "" : " (stands still: " + std::to_string(queues) + " stood in for)";
}

}  // namespace

int show_workers(const Session& session) {
    const auto body = fetch(session, "/v1/workers");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"WORKER", Align::right},
                 {"CPU", Align::right},
                 {"POLLING"},
                 {"QUEUES", Align::left, true},
                 {"PACKETS", Align::right},
                 {"SLOTS", Align::right},
                 {"FREE", Align::right},
                 {"RX", Align::right},
                 {"TX", Align::right},
                 {"RETIRED", Align::right},
                 {"LOST", Align::right}});
    for (const json& worker : part_of(*body, "workers")) {
        const json& slots = part_of(worker, "slots");
        const bool cpu = worker.contains("cpu") && worker.at("cpu").is_number();
        std::vector<Cell> row = {std::to_string(number_of(worker, "worker")),
                                 cpu ? std::to_string(number_of(worker, "cpu")) : "any",
                                 text_of(worker, "polling"), queues_of(worker) + standing_of(worker),
                                 format_count(number_of(worker, "packets"))};
        for (const char* count : {"total", "free", "receive", "transmit", "retired"})
            row.emplace_back(slots.contains(count) ? std::to_string(number_of(slots, count)) : "-");
        const std::string lost = slots.contains("lost") ? slots.at("lost").dump() : "-";
        row.emplace_back(lost, lost == "0" || lost == "-" ? Colour::none : Colour::red);
        table.add_row(std::move(row));
    }
    session.terminal.out << (table.empty() ? "no workers: no port is split\n"
                                           : table.render(session.terminal));
    return exit_ok;
}

}  // namespace pktpit::router::cli
