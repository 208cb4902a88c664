// SPDX-License-Identifier: BSD-3-Clause
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {

int show_latency(const Session& session) {
    const auto body = fetch(session, "/v1/latency");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"PORT"},
                 {"PACKETS", Align::right},
                 {"P50", Align::right},
                 {"P90", Align::right},
                 {"P99", Align::right},
                 {"P99.9", Align::right},
                 {"MAX", Align::right}});
    for (const auto& [name, port] : part_of(*body, "ports").items()) {
        const uint64_t count = number_of(port, "count");
        std::vector<Cell> row = {name, format_count(count)};
        for (const char* figure : {"p50", "p90", "p99", "p999", "max"})
            row.emplace_back(count == 0 ? "-" : format_nanoseconds(number_of(port, figure)));
        table.add_row(std::move(row));
    }
    session.terminal.out << modelled_line(*body);
    session.terminal.out << (table.empty() ? "no ports\n" : table.render(session.terminal));
    return exit_ok;
}

}  // namespace pktpit::router::cli
