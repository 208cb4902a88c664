// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/next_hops.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

/// Large enough that a full table takes few round trips, small enough that the daemon's loop goes on
/// meanwhile.
constexpr size_t page_size = 50'000;

std::vector<Column> route_columns() {
    return {{""},
            {"PREFIX"},
            {"SOURCE"},
            {"PREF", Align::right},
            {"METRIC", Align::right},
            {"NEXT HOPS", Align::left, true}};
}

void add_route(Table& table, const json& route) {
    const bool best = flag_of(route, "best");
    const Colour colour = best ? Colour::none : Colour::dim;
    const std::string protocol = text_of(route, "protocol", "");
    const std::string source = text_of(route, "source") + (protocol.empty() ? "" : " " + protocol);
    bool first = true;
    for (Cell& hop : next_hop_cells(route)) {
        if (first) {
            table.add_row({best ? "*" : "", Cell(text_of(route, "prefix"), colour), Cell(source, colour),
                           Cell(std::to_string(number_of(route, "preference")), colour),
                           Cell(std::to_string(number_of(route, "metric")), colour), std::move(hop)});
        } else {
            table.add_row({"", "", "", "", "", std::move(hop)});
        }
        first = false;
    }
    if (const json& counted = part_of(route, "counters"); counted.is_object())
        table.add_row({"", "", "", "", "",
                       Cell(format_count(number_of(counted, "packets")) + " packets, " +
                                format_bytes(number_of(counted, "bytes")) + " forwarded",
                            Colour::dim)});
}

/// Writes pages as they come, so that a full table is never held as a whole.
class RoutePrinter {
  public:
    explicit RoutePrinter(const Session& session) : session_(session), table_(route_columns()) {}

    void print(const json& routes) {
        std::ostream& out = session_.terminal.out;
        for (const json& route : routes) {
            if (session_.json) {
                out << (printed_ == 0 ? "{\"routes\": [\n  " : ",\n  ")
                    << route.dump(-1, ' ', false, json::error_handler_t::replace);
            } else {
                add_route(table_, route);
            }
            printed_++;
        }
        if (!table_.empty()) out << table_.render(session_.terminal, std::exchange(header_, false));
        table_.clear();
    }

    void finish(uint64_t total, const json& next, bool limited) {
        std::ostream& out = session_.terminal.out;
        if (session_.json) {
            out << (printed_ == 0 ? "{\"routes\": [" : "") << "\n], \"total\": " << total
                << ", \"next\": " << next.dump() << "}\n";
        } else if (printed_ == 0) {
            out << "no routes\n";
        } else if (printed_ < total) {
            const char* more =
                limited ? "; --limit N shows more, --within PREFIX fewer" : "; the daemon gave no more";
            const std::string text =
                std::to_string(printed_) + " of " + std::to_string(total) + " routes" + more;
            out << session_.terminal.paint(Colour::dim, text) << '\n';
        }
    }
    [[nodiscard]] size_t printed() const { return printed_; }

  private:
    const Session& session_;
    Table table_;
    size_t printed_ = 0;
    bool header_ = true;
};

std::string label(const char* name) {
    std::string text = name;
    text.resize(12, ' ');
    return text;
}

void describe_adjacency(const Session& session, const json& member, bool weighted) {
    std::ostream& out = session.terminal.out;
    const std::string kind = text_of(member, "kind");
    out << label("") << next_hop_text(member, weighted) << '\n';
    out << label("  kind") << kind;
    if (kind == "incomplete" || kind == "glean") out << " (the neighbour is asked for when a packet comes)";
    out << '\n';
    if (text_of(member, "port", "").empty()) return;
    out << label("  egress") << "port " << printable(text_of(member, "port")) << ", MTU "
        << number_of(member, "mtu");
    const auto& vlan = part_of(member, "vlan");
    if (!vlan.empty()) out << ", VLAN " << joined(vlan, ".");
    out << '\n'
        << label("  Ethernet") << text_of(member, "src_mac") << " → " << text_of(member, "dst_mac") << '\n';
}

}  // namespace

int show_routes(const Session& session, const RouteFilter& filter) {
    RoutePrinter printer(session);
    json after;
    uint64_t total = 0;
    for (;;) {
        Parameters parameters;
        if (filter.family) parameters.emplace_back("family", filter.family == Family::ipv4 ? "4" : "6");
        if (!filter.source.empty()) parameters.emplace_back("source", filter.source);
        if (!filter.within.empty()) parameters.emplace_back("within", filter.within);
        if (after.is_string()) parameters.emplace_back("after", after.get<std::string>());
        const size_t left = filter.limit ? *filter.limit - printer.printed() : page_size;
        parameters.emplace_back("limit", std::to_string(std::min(left, page_size)));

        const auto body = fetch(session, "/v1/routes", parameters);
        if (!body) return body.error();
        const size_t before = printer.printed();
        printer.print(part_of(*body, "routes"));
        total = number_of(*body, "total");
        const json next = body->contains("next") ? (*body)["next"] : json();
        const bool enough = filter.limit && printer.printed() >= *filter.limit;
        // The last two: a daemon that does not get on must not keep us for ever.
        const bool stuck = next == after || printer.printed() == before;
        after = next;
        if (!next.is_string() || enough || stuck) break;
    }
    printer.finish(total, after, filter.limit.has_value());
    return exit_ok;
}

int show_route(const Session& session, const std::string& address) {
    const auto body = fetch(session, "/v1/route", {{"to", address}});
    if (!body) return body.error();
    const std::string prefix = text_of(*body, "prefix", "");
    const int status = prefix.empty() ? exit_wrong : exit_ok;
    if (session.json) {
        print_json(session, *body);
        return status;
    }
    std::ostream& out = session.terminal.out;
    out << label("address") << printable(text_of(*body, "address")) << '\n';
    if (prefix.empty()) {
        out << label("prefix") << session.terminal.paint(Colour::red, "none: no route") << '\n';
        return status;
    }
    out << label("prefix") << prefix << '\n';
    out << label("verdict") << printable(text_of(*body, "verdict")) << '\n';
    const json& group = part_of(*body, "group");
    if (group.is_object()) {
        const json& members = part_of(group, "members");
        out << label("group") << number_of(group, "id") << ", " << members.size()
            << (members.size() == 1 ? " next hop" : " next hops") << '\n';
        for (const json& member : members)
            describe_adjacency(session, member, members.size() > 1);
    }
    out << '\n';
    Table table(route_columns());
    for (const json& candidate : part_of(*body, "candidates"))
        add_route(table, candidate);
    out << table.render(session.terminal);
    return status;
}

}  // namespace pktpit::router::cli
