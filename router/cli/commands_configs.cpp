// SPDX-License-Identifier: BSD-3-Clause
// Configurations that were applied before, and interfaces as they do now.
#include <chrono>
#include <ostream>
#include <thread>

#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/rates.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

std::string day_and_time(double seconds) {
    return format_time(seconds, "%F %T");
}

Parameters back_of(size_t back) {
    return {{"back", std::to_string(back)}};
}

}  // namespace

int show_config_difference(const Session& session, size_t back) {
    const auto body = fetch(session, "/v1/configs/diff", back_of(back));
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    const json& changes = part_of(*body, "changes");
    for (const json& change : changes)
        if (change.is_string()) session.terminal.out << printable(change.get<std::string>()) << '\n';
    if (changes.empty()) session.terminal.out << "no difference\n";
    return exit_ok;
}

int show_saved_config(const Session& session, size_t back) {
    const auto body = fetch(session, "/v1/configs", back_of(back));
    if (!body) return body.error();
    if (session.json)
        print_json(session, *body);
    else
        session.terminal.out << text_of(*body, "text", "");
    return exit_ok;
}

int show_configs(const Session& session) {
    const auto body = fetch(session, "/v1/configs");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    Table table(
        {{"BACK", Align::right}, {"NUMBER", Align::right}, {"APPLIED"}, {""}, {"FILE", Align::left, true}});
    for (const json& one : part_of(*body, "configs")) {
        const uint64_t back = number_of(one, "back");
        std::string state = back == 0 ? "runs" : "";
        if (!flag_of(one, "confirmed")) state += ", not confirmed";
        if (!flag_of(one, "kept"))
            state += state.empty() ? "too large to go back to" : ", too large to go back to";
        table.add_row({std::to_string(back), std::to_string(number_of(one, "number")),
                       day_and_time(static_cast<double>(number_of(one, "time"))), state,
                       text_of(one, "file")});
    }
    session.terminal.out << (table.empty() ? "no configurations are kept\n" : table.render(session.terminal));
    if (const uint64_t by = number_of(*body, "confirm_by"); by != 0)
        session.terminal.out << "the newest goes back by itself at " << day_and_time(static_cast<double>(by))
                             << " unless it is confirmed: pktpit confirm\n";
    return exit_ok;
}

namespace {

/// "strict, 100 Mbit/s": how sources are checked, and the rate of what comes in.
std::string guards_of(const json& interface) {
    const json& guards = part_of(interface, "guards");
    std::string text = text_of(guards, "rpf", "off");
    if (text == "off") text.clear();
    if (const std::string rate = text_of(guards, "police_in", ""); !rate.empty())
        text += (text.empty() ? "" : ", ") + rate;
    return text;
}

}  // namespace

int show_interfaces(const Session& session, std::chrono::duration<double> interval) {
    const auto before = fetch(session, "/v1/counters");
    if (!before) return before.error();
    std::this_thread::sleep_for(interval);
    const auto after = fetch(session, "/v1/counters");
    if (!after) return after.error();
    auto body = fetch(session, "/v1/ports");
    if (!body) return body.error();
    const Rates rates = rates_between(*before, *after, interval.count());
    if (session.json) {
        json answer{{"interval", rates.interval}, {"ports", part_of(*body, "ports")}};
        const json told = to_json(rates);
        for (json& port : answer["ports"])
            if (port.is_object())
                port["rates"] = part_of(part_of(told, "ports"), text_of(port, "name").c_str());
        print_json(session, answer);
        return exit_ok;
    }
    Table table({{"INTERFACE"},
                 {"STATE"},
                 {"RX", Align::right},
                 {"", Align::right},
                 {"TX", Align::right},
                 {"", Align::right},
                 {"DROPS", Align::right},
                 {"GUARDS"},
                 {"LAST FLAP"},
                 {"FLAPS", Align::right},
                 {"DESCRIPTION", Align::left, true}});
    for (const json& port : part_of(*body, "ports")) {
        const std::string name = text_of(port, "name");
        const auto found = rates.ports.find(name);
        const PortRates rate = found == rates.ports.end() ? PortRates() : found->second;
        const json& changes = part_of(port, "link_changes");
        const bool ever = number_of(changes, "count") != 0;
        const bool here = number_of(port, "ifindex") != 0;
        const Cell state = !here                 ? Cell("absent", Colour::red)
                           : flag_of(port, "up") ? Cell("up", Colour::green)
                                                 : Cell("down", Colour::red);
        table.add_row({name, state, format_packet_rate(rate.rx_packets), format_bit_rate(rate.rx_bits),
                       format_packet_rate(rate.tx_packets), format_bit_rate(rate.tx_bits),
                       format_count(number_of(port, "drops")), guards_of(port),
                       ever ? day_and_time(real_of(changes, "last")) : "never",
                       std::to_string(number_of(changes, "count")), text_of(port, "description", "")});
        for (const json& vlan : part_of(port, "vlans"))
            table.add_row({"  " + text_of(vlan, "name"), "", "", "", "", "", "", guards_of(vlan), "", "",
                           text_of(vlan, "description", "")});
    }
    session.terminal.out << modelled_line(*body)
                         << (table.empty() ? "no interfaces\n" : table.render(session.terminal));
    return exit_ok;
}

}  // namespace pktpit::router::cli
