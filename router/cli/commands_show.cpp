// SPDX-License-Identifier: BSD-3-Clause
#include <ostream>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

std::string packets_and_bytes(const json& object, const std::string& direction) {
    const uint64_t packets = number_of(object, (direction + "_packets").c_str());
    const uint64_t bytes = number_of(object, (direction + "_bytes").c_str());
    return format_count(packets) + " (" + format_bytes(bytes) + ")";
}

Cell state_of_port(const json& port) {
    if (number_of(port, "ifindex") == 0) return {"absent", Colour::red};
    return flag_of(port, "up") ? Cell("up", Colour::green) : Cell("down", Colour::red);
}

Cell state_of_neighbour(const json& neighbour) {
    const std::string state = text_of(neighbour, "state");
    if (state == "reachable" || state == "permanent") return {state, Colour::green};
    if (state == "failed") return {state, Colour::red};
    return {state, state == "incomplete" ? Colour::yellow : Colour::none};
}

std::string mtu_of(const json& object) {
    const uint64_t mtu = number_of(object, "mtu");
    return mtu ? std::to_string(mtu) : "-";
}

/// A NIC that the daemon itself drives, and where its payloads wait.
std::string nic_line(const std::string& name, const json& nic) {
    const std::string line = name + ": " + text_of(nic, "model") + " at " +
                             text_of(nic, nic.contains("pci") ? "pci" : "device") + ", payloads in " +
                             text_of(nic, "payload");
    const std::string bounced = joined(part_of(nic, "bounced_to"), ", ");
    return printable(line + (bounced.empty() ? "" : "; bounced through main memory to " + bounced)) + "\n";
}

/// "kernel routes: reading, 412345 so far"; nothing where they are not followed.
std::string kernel_routes_line(const json& body) {
    const auto& progress = part_of(body, "kernel_routes");
    const std::string state = text_of(progress, "state");
    const std::string routes = std::to_string(number_of(progress, "routes"));
    const auto waiting = number_of(progress, "waiting");
    if (state == "reading") return "kernel routes: reading, " + routes + " so far\n";
    if (state != "complete") return "";
    return "kernel routes: complete, " + routes +
           (waiting == 0 ? "\n" : ", " + std::to_string(waiting) + " changes wait\n");
}

/// The kernel, and what the dataplane does without there. An older daemon says nothing of it.
std::string kernel_lines(const json& kernel) {
    const std::string release = text_of(kernel, "release", "");
    if (release.empty()) return "";
    std::string lines = "Linux " + printable(release) + "\n";
    for (const json& fallback : part_of(kernel, "fallbacks")) {
        const std::string since = text_of(fallback, "since", "");
        lines += "  no " + printable(text_of(fallback, "what")) +
                 (since.empty() ? "" : " (since " + printable(since) + ")") + ": " +
                 printable(text_of(fallback, "instead")) + "\n";
    }
    return lines;
}

}  // namespace

int show_version(const Session& session) {
    const auto body = fetch(session, "/v1/version");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    session.terminal.out << "pktpitd " << printable(text_of(*body, "version")) << ", instance "
                         << printable(text_of(*body, "instance")) << ", dataplane "
                         << printable(text_of(*body, "dataplane")) << "\npid " << number_of(*body, "pid")
                         << ", up " << format_duration(real_of(*body, "uptime")) << ", configuration "
                         << number_of(*body, "generation") << "\nmap layout " << number_of(*body, "abi")
                         << ", FIB layout " << number_of(*body, "layout") << '\n'
                         << kernel_lines(part_of(*body, "kernel")) << kernel_routes_line(*body)
                         << modelled_line(*body);
    return exit_ok;
}

int show_ports(const Session& session) {
    const auto body = fetch(session, "/v1/ports");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"PORT"},
                 {"ID", Align::right},
                 {"STATE"},
                 {"MODE"},
                 {"MTU", Align::right},
                 {"MAC"},
                 {"ADDRESSES", Align::left, true},
                 {"RX", Align::right},
                 {"TX", Align::right},
                 {"DROPS", Align::right}});
    for (const json& port : part_of(*body, "ports")) {
        const uint64_t drops = number_of(port, "drops");
        std::string mode = text_of(port, "mode");
        if (text_of(port, "attach") == "dispatcher") mode += ", dispatcher";
        const std::string forwarding = text_of(port, "forwarding");
        if (forwarding == "split" || forwarding == "auto") mode += ", " + forwarding;
        if (const std::string by = text_of(port, "sent_by", "redirect"); by != "redirect")
            mode += ", sent to by the " + by;
        if (flag_of(part_of(port, "stand_in"), "now")) mode += ", stands in";
        table.add_row({text_of(port, "name"), std::to_string(number_of(port, "port")), state_of_port(port),
                       mode, mtu_of(port), text_of(port, "mac"),
                       joined(part_of(port, "addresses"), " ") + in_vrf(text_of(port, "vrf", "default")),
                       packets_and_bytes(port, "rx"), packets_and_bytes(port, "tx"),
                       Cell(format_count(drops), drops ? Colour::yellow : Colour::none)});
        for (const json& vlan : part_of(port, "vlans")) {
            table.add_row(
                {"  " + text_of(vlan, "name"), "", "", "vlan " + joined(part_of(vlan, "vlan"), "."),
                 mtu_of(vlan), "",
                 joined(part_of(vlan, "addresses"), " ") + in_vrf(text_of(vlan, "vrf", "default"))});
        }
    }
    session.terminal.out << modelled_line(*body);
    session.terminal.out << (table.empty() ? "no ports\n" : table.render(session.terminal));
    for (const json& port : part_of(*body, "ports"))
        if (const std::string why = text_of(port, "not_redirected", ""); !why.empty())
            session.terminal.out << printable(text_of(port, "name")) << ": " << printable(why) << ", so "
                                 << (text_of(port, "sent_by") == "stack" ? "the kernel's stack"
                                                                         : "the daemon")
                                 << " sends what other ports have for it\n";
    for (const json& port : part_of(*body, "ports"))
        if (const std::string warning = text_of(port, "warning", ""); !warning.empty())
            session.terminal.out << printable(text_of(port, "name") + ": " + warning) << "\n";
    for (const json& port : part_of(*body, "ports"))
        if (port.contains("nic")) session.terminal.out << nic_line(text_of(port, "name"), port.at("nic"));
    for (const json& port : part_of(*body, "ports"))
        if (const json& stand_in = part_of(port, "stand_in"); number_of(stand_in, "times") != 0)
            session.terminal.out << printable(text_of(port, "name")) << ": its worker stood still "
                                 << format_count(number_of(stand_in, "times"))
                                 << " times; the port stage decided about "
                                 << format_count(number_of(stand_in, "packets")) << " packets meanwhile\n";
    return exit_ok;
}

int show_neighbours(const Session& session) {
    const auto body = fetch(session, "/v1/neighbours");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table(
        {{"ADDRESS", Align::left, true}, {"INTERFACE"}, {"MAC"}, {"STATE"}, {"WAITING", Align::right}});
    for (const json& neighbour : part_of(*body, "neighbours")) {
        const uint64_t waiting = number_of(neighbour, "waiting");
        Cell state = state_of_neighbour(neighbour);
        if (flag_of(neighbour, "static")) state.text += ", static";
        table.add_row({text_of(neighbour, "address"), text_of(neighbour, "interface"),
                       text_of(neighbour, "mac"), state, waiting ? std::to_string(waiting) : "-"});
    }
    session.terminal.out << (table.empty() ? "no neighbours\n" : table.render(session.terminal));
    return exit_ok;
}

int show_vrfs(const Session& session) {
    const auto body = fetch(session, "/v1/vrfs");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"VRF"},
                 {"TABLE", Align::right},
                 {"IPv4", Align::right},
                 {"IPv6", Align::right},
                 {"INTERFACES", Align::left, true}});
    for (const json& vrf : part_of(*body, "vrfs")) {
        const json& routes = part_of(vrf, "routes");
        const auto number = number_of(vrf, "table");
        table.add_row({text_of(vrf, "name"), number == 0 ? "-" : std::to_string(number),
                       std::to_string(number_of(routes, "ipv4")), std::to_string(number_of(routes, "ipv6")),
                       joined(part_of(vrf, "interfaces"), ", ")});
    }
    session.terminal.out << table.render(session.terminal);
    return exit_ok;
}

int show_filters(const Session& session) {
    const auto body = fetch(session, "/v1/filters");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table({{"FILTER"},
                 {"RULE", Align::right},
                 {"", Align::left, true},
                 {"PACKETS", Align::right},
                 {"BYTES", Align::right}});
    for (const json& filter : part_of(*body, "filters")) {
        const auto add = [&](const std::string& number, const std::string& text, const json& counts) {
            table.add_row({text_of(filter, "name"), number, text,
                           std::to_string(number_of(counts, "packets")),
                           std::to_string(number_of(counts, "bytes"))});
        };
        for (const json& rule : part_of(filter, "rules"))
            add(std::to_string(number_of(rule, "rule")), text_of(rule, "text"), rule);
        add("-", "accept what no rule matches", part_of(filter, "unmatched"));
    }
    session.terminal.out << (table.empty() ? "no filters\n" : table.render(session.terminal));
    return exit_ok;
}

int show_drift(const Session& session) {
    const auto body = fetch(session, "/v1/drift");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table(
        {{"WHERE"}, {"WHAT"}, {"EXPECTED", Align::left, true}, {"FOUND", Align::left, true}, {"RELOAD"}});
    for (const json& item : part_of(*body, "drift"))
        table.add_row({text_of(item, "where"), text_of(item, "what"), text_of(item, "expected"),
                       Cell(text_of(item, "found"), Colour::yellow),
                       flag_of(item, "mended_by_reload") ? "mends it" : "-"});
    session.terminal.out << (table.empty() ? "no drift: all is as the configuration wants it\n"
                                           : table.render(session.terminal));
    return exit_ok;
}

int show_fpm(const Session& session) {
    const auto body = fetch(session, "/v1/fpm");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    const std::string listen = text_of(*body, "listen", "");
    if (listen.empty()) {
        session.terminal.out << "no FPM: /fpm of the configuration is not there\n";
        return exit_ok;
    }
    const std::string peer = text_of(*body, "peer", "");
    const auto count = [](const json& of, const char* key) { return format_count(number_of(of, key)); };
    const json& counters = part_of(*body, "counters");
    session.terminal.out << "listening at " << printable(listen) << ", "
                         << (peer.empty() ? "nobody is connected" : "connected: " + printable(peer)) << "\n"
                         << count(*body, "routes4") << " IPv4 and " << count(*body, "routes6")
                         << " IPv6 routes, " << count(*body, "stale") << " of them stale; "
                         << count(*body, "next_hops") << " next-hop objects, "
                         << count(*body, "next_hop_sets") << " next-hop sets in use\n";
    Table table({{"COUNTER"}, {"COUNT", Align::right}});
    for (const char* name :
         {"connections", "refused_connections", "errors", "messages", "route_messages", "next_hop_messages",
          "ignored", "malformed", "unsupported", "refused_routes", "swept", "turns"})
        table.add_row({name, count(counters, name)});
    session.terminal.out << table.render(session.terminal);
    if (const std::string error = text_of(*body, "last_error", ""); !error.empty())
        session.terminal.out << "last error: " << printable(error) << "\n";
    return exit_ok;
}

int show_config(const Session& session) {
    const auto body = fetch(session, "/v1/config");
    if (!body) return body.error();
    print_json(session, *body);
    return exit_ok;
}

}  // namespace pktpit::router::cli
