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

/// Rows whose columns are as wide as each other's; so many are held at a time.
constexpr size_t rows_at_once = 10'000;

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
    if (const uint64_t mtu = number_of(route, "mtu"))
        table.add_row({"", "", "", "", "", Cell("MTU " + std::to_string(mtu), colour)});
    if (const json& counted = part_of(route, "counters"); counted.is_object())
        table.add_row({"", "", "", "", "",
                       Cell(format_count(number_of(counted, "packets")) + " packets, " +
                                format_bytes(number_of(counted, "bytes")) + " forwarded",
                            Colour::dim)});
}

/// Writes routes as they come, so that a full table is never held as a whole. As JSON they are not looked
/// into.
class RoutePrinter {
  public:
    explicit RoutePrinter(const Session& session) : session_(session), table_(route_columns()) {}

    /// A line of the daemon's answer.
    void print(std::string_view line) {
        static constexpr std::string_view end = "{\"end\":";
        if (line.starts_with(end)) {
            const json parsed = json::parse(line, nullptr, false);
            end_ = parsed.is_object() ? part_of(parsed, "end") : json();
            return;
        }
        if (session_.json) {
            session_.terminal.out << (printed_ == 0 ? "{\"routes\": [\n  " : ",\n  ") << line;
        } else {
            add_route(table_, json::parse(line, nullptr, false));
            if (++rows_ == rows_at_once) flush();
        }
        printed_++;
    }

    /// False: the answer has no end.
    bool finish(bool limited) {
        flush();
        std::ostream& out = session_.terminal.out;
        const uint64_t total = number_of(end_, "total");
        if (session_.json) {
            const json next = end_.contains("next") ? end_["next"] : json();
            out << (printed_ == 0 ? "{\"routes\": [" : "") << "\n], \"total\": " << total
                << ", \"next\": " << next.dump() << "}\n";
        } else if (printed_ == 0) {
            out << "no routes\n";
        } else if (limited && printed_ < total) {
            out << session_.terminal.paint(Colour::dim,
                                           std::to_string(printed_) + " of " + std::to_string(total) +
                                               " routes; --limit N shows more, --within PREFIX fewer")
                << '\n';
        }
        return end_.is_object();
    }

  private:
    void flush() {
        if (!table_.empty())
            session_.terminal.out << table_.render(session_.terminal, std::exchange(header_, false));
        table_.clear();
        rows_ = 0;
    }

    const Session& session_;
    Table table_;
    size_t rows_ = 0;
    size_t printed_ = 0;
    bool header_ = true;
    json end_;
};

std::string label(const char* name) {
    std::string text = name;
    text.resize(12, ' ');
    return text;
}

void describe_adjacency(const Session& session, const json& member, bool weighted) {
    std::ostream& out = session.terminal.out;
    const std::string kind = text_of(member, "kind");
    out << label("") << printable(next_hop_text(member, weighted)) << '\n';
    out << label("  kind") << printable(kind);
    if (kind == "incomplete" || kind == "glean") out << " (the neighbour is asked for when a packet comes)";
    out << '\n';
    if (text_of(member, "port", "").empty()) return;
    out << label("  egress") << "port " << printable(text_of(member, "port")) << ", MTU "
        << number_of(member, "mtu");
    const auto& vlan = part_of(member, "vlan");
    if (!vlan.empty()) out << ", VLAN " << printable(joined(vlan, "."));
    out << '\n'
        << label("  Ethernet") << printable(text_of(member, "src_mac")) << " → "
        << printable(text_of(member, "dst_mac")) << '\n';
}

}  // namespace

int show_routes(const Session& session, const RouteFilter& filter) {
    Parameters parameters;
    if (filter.family) parameters.emplace_back("family", filter.family == Family::ipv4 ? "4" : "6");
    if (!filter.source.empty()) parameters.emplace_back("source", filter.source);
    if (!filter.within.empty()) parameters.emplace_back("within", filter.within);
    if (filter.limit) parameters.emplace_back("limit", std::to_string(*filter.limit));
    if (!filter.vrf.empty()) parameters.emplace_back("vrf", filter.vrf);

    RoutePrinter printer(session);
    std::string cut;  // a line whose end has not come yet
    const auto reply = session.client.stream("/v1/routes/all", parameters, [&](std::string_view bytes) {
        for (size_t end = bytes.find('\n'); end != bytes.npos; end = bytes.find('\n')) {
            if (cut.empty()) {
                printer.print(bytes.substr(0, end));
            } else {
                printer.print(cut.append(bytes.substr(0, end)));
                cut.clear();
            }
            bytes.remove_prefix(end + 1);
        }
        cut.append(bytes);
        return session.terminal.out.good();
    });
    if (reply && !reply->good()) return print_refusal(session, *reply);
    const bool whole = reply && printer.finish(filter.limit.has_value());
    if (whole || !session.terminal.out.good()) return exit_ok;
    return print_failure(
        session,
        reply ? Error{"", "the daemon has stopped in the middle of its answer", "", "see its log"}
              : reply.error(),
        exit_unusable);
}

namespace {

void print_family(const Session& session, const char* name, const json& family) {
    std::ostream& out = session.terminal.out;
    out << name << ": " << number_of(family, "prefixes") << " prefixes, " << number_of(family, "installed")
        << " installed, " << number_of(family, "unusable") << " without a next hop that can be used, "
        << number_of(family, "refused") << " for which the FIB has no room\n";
    Table sources({{"  SOURCE"}, {"ROUTES", Align::right}, {"BEST", Align::right}});
    for (const auto& [source, of] : part_of(family, "sources").items())
        if (number_of(of, "routes") != 0)
            sources.add_row({"  " + source, std::to_string(number_of(of, "routes")),
                             std::to_string(number_of(of, "best"))});
    if (!sources.empty()) out << sources.render(session.terminal);
    Table lengths({{"  LENGTH", Align::right}, {"PREFIXES", Align::right}});
    for (const json& of : part_of(family, "lengths"))
        lengths.add_row(
            {"/" + std::to_string(number_of(of, "length")), std::to_string(number_of(of, "prefixes"))});
    if (!lengths.empty()) out << lengths.render(session.terminal);
}

}  // namespace

int show_ignored_routes(const Session& session) {
    const auto body = fetch(session, "/v1/routes/ignored");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"PREFIX"}, {"KIND"}, {"PROTOCOL"}, {"PACKETS"}, {"REASON", Align::left, true}});
    for (const json& route : part_of(*body, "routes"))
        table.add_row({text_of(route, "prefix"), text_of(route, "kind"), text_of(route, "protocol"),
                       flag_of(route, "to_kernel") ? "to Linux" : "other routes", text_of(route, "reason")});
    session.terminal.out << (table.empty() ? "all kernel routes are followed\n"
                                           : table.render(session.terminal));
    if (flag_of(*body, "more")) session.terminal.out << "and more\n";
    return exit_ok;
}

int show_routes_summary(const Session& session, const std::string& vrf) {
    Parameters parameters;
    if (!vrf.empty()) parameters.emplace_back("vrf", vrf);
    const auto body = fetch(session, "/v1/routes/summary", parameters);
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    print_family(session, "IPv4", part_of(*body, "ipv4"));
    print_family(session, "IPv6", part_of(*body, "ipv6"));
    return exit_ok;
}

int show_next_hop_groups(const Session& session) {
    const auto body = fetch(session, "/v1/next-hop-groups");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"SET", Align::right},
                 {"GROUP", Align::right},
                 {"PREFIXES", Align::right},
                 {"ROUTES", Align::right},
                 {""},
                 {"NEXT HOPS", Align::left, true}});
    for (const json& group : part_of(*body, "groups")) {
        const auto number = [&](const char* of) { return std::to_string(number_of(group, of)); };
        std::vector<Cell> head{number("id"), number("group"), number("prefixes"), number("routes")};
        const json& members = part_of(group, "next_hops");
        std::vector<Cell> hops = next_hop_cells(group);
        size_t row = 0;
        for (Cell& hop : hops) {
            // A gateway has what it resolves to beneath it, and is marked itself.
            const bool own = members.is_array() && hops.size() == members.size();
            const bool forwards = own ? flag_of(members[row], "forwards") : flag_of(group, "usable");
            std::vector<Cell> cells = row == 0 ? head : std::vector<Cell>{"", "", "", ""};
            cells.emplace_back(forwards ? ">" : "");
            cells.push_back(std::move(hop));
            table.add_row(std::move(cells));
            row++;
        }
    }
    session.terminal.out << (table.empty() ? "no next-hop groups\n" : table.render(session.terminal));
    return exit_ok;
}

int show_route(const Session& session, const std::string& address, const std::string& vrf) {
    Parameters parameters{{"to", address}};
    if (!vrf.empty()) parameters.emplace_back("vrf", vrf);
    const auto body = fetch(session, "/v1/route", parameters);
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
    out << label("prefix") << printable(prefix) << '\n';
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
