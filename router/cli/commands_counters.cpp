// SPDX-License-Identifier: BSD-3-Clause
#include <chrono>
#include <ctime>
#include <ostream>
#include <thread>

#include "bpf/verdict.h"
#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/cli/rates.h"
#include "router/cli/table.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

const char* meaning_of(const std::string& verdict) {
#define PP_MEANING(name, action, text, meaning) \
    if (verdict == (text)) return meaning;
    PP_VERDICTS(PP_MEANING)
#undef PP_MEANING
    return "";
}

Colour colour_of(const std::string& verdict) {
#define PP_COLOUR(name, action, text, meaning) \
    if (verdict == (text)) return PP_ACTION_##action == PP_ACTION_DROP ? Colour::yellow : Colour::none;
    PP_VERDICTS(PP_COLOUR)
#undef PP_COLOUR
    return Colour::none;
}

std::string clock_time() {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    char text[16];
    std::strftime(text, sizeof(text), "%H:%M:%S", &local);
    return text;
}

/// A port's rates, and one row a verdict below it.
std::string rates_table(const Session& session, const Rates& rates) {
    Table table({{"PORT"},
                 {"RX", Align::right},
                 {"", Align::right},
                 {"TX", Align::right},
                 {"", Align::right},
                 {"VERDICT"},
                 {"", Align::right}});
    const auto add = [&](const std::string& name, const PortRates& port) {
        std::vector<Cell> row = {name, format_packet_rate(port.rx_packets), format_bit_rate(port.rx_bits),
                                 format_packet_rate(port.tx_packets), format_bit_rate(port.tx_bits)};
        for (const auto& [verdict, rate] : port.verdicts) {
            row.emplace_back(verdict, colour_of(verdict));
            row.emplace_back(format_packet_rate(rate));
            table.add_row(std::exchange(row, {"", "", "", "", ""}));
        }
        if (port.verdicts.empty()) table.add_row(std::move(row));
    };
    for (const auto& [name, port] : rates.ports)
        add(name, port);
    if (rates.ports.size() != 1) add("all ports", rates.totals);
    std::string text = table.render(session.terminal);
    if (rates.slow_path.empty()) return text;
    Table slow({{"SLOW PATH"}, {"", Align::right}});
    for (const auto& [name, rate] : rates.slow_path)
        slow.add_row({name, format_packet_rate(rate)});
    return text + "\n" + slow.render(session.terminal);
}

/// One line a port: "12:00:01 eth0 rx 1.2 Mpps 614 Mbit/s tx … forwarded 1.2 Mpps".
std::string rates_lines(const Rates& rates) {
    std::string text;
    const auto add = [&](const std::string& name, const PortRates& port) {
        text += clock_time() + " " + printable(name) + " rx " + format_packet_rate(port.rx_packets) + " " +
                format_bit_rate(port.rx_bits) + " tx " + format_packet_rate(port.tx_packets) + " " +
                format_bit_rate(port.tx_bits);
        for (const auto& [verdict, rate] : port.verdicts)
            text += " " + printable(verdict) + " " + format_packet_rate(rate);
        text += "\n";
    };
    for (const auto& [name, port] : rates.ports)
        add(name, port);
    return text;
}

/// Draws over what it drew before, on a terminal; never more than fits, since what has scrolled stays.
class Redrawn {
  public:
    explicit Redrawn(const Terminal& terminal) : terminal_(terminal) {}

    void draw(const std::string& text) {
        std::string frame;
        if (lines_ > 0) frame += "\x1b[" + std::to_string(lines_) + "A\r\x1b[J";
        const size_t most = terminal_.rows > 2 ? terminal_.rows - 1 : 1000;
        lines_ = 0;
        size_t start = 0;
        while (start < text.size()) {
            const size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
            if (++lines_ == most && end < text.size()) {
                frame += "…\n";
                break;
            }
            frame.append(text, start, end - start);
            start = end;
        }
        terminal_.out << frame << std::flush;
    }

  private:
    const Terminal& terminal_;
    size_t lines_ = 0;
};

}  // namespace

int show_counters(const Session& session) {
    const auto body = fetch(session, "/v1/counters");
    if (!body) return body.error();
    if (session.json) {
        print_json(session, *body);
        return exit_ok;
    }
    std::ostream& out = session.terminal.out;
    Table ports({{"PORT"},
                 {"RX PACKETS", Align::right},
                 {"BYTES", Align::right},
                 {"TX PACKETS", Align::right},
                 {"BYTES", Align::right}});
    Table verdicts({{"PORT"}, {"VERDICT"}, {"COUNT", Align::right}, {"", Align::left, true}});
    const auto& per_port = part_of(*body, "ports");
    for (const auto& [name, port] : per_port.items()) {
        ports.add_row({name, format_count(number_of(port, "rx_packets")),
                       format_bytes(number_of(port, "rx_bytes")), format_count(number_of(port, "tx_packets")),
                       format_bytes(number_of(port, "tx_bytes"))});
        for (const auto& [verdict, count] : part_of(port, "verdicts").items()) {
            if (count == 0) continue;
            verdicts.add_row({name, Cell(verdict, colour_of(verdict)),
                              count.is_number_unsigned() ? count.dump() : "-",
                              Cell(meaning_of(verdict), Colour::dim)});
        }
    }
    out << (ports.empty() ? "no ports\n" : ports.render(session.terminal));
    if (!verdicts.empty()) out << '\n' << verdicts.render(session.terminal);
    Table routes({{"ROUTE"}, {"SOURCE"}, {"PACKETS", Align::right}, {"BYTES", Align::right}});
    for (const auto& route : part_of(*body, "routes"))
        routes.add_row({text_of(route, "prefix") + in_vrf(text_of(route, "vrf", "default")),
                        text_of(route, "source"), format_count(number_of(route, "packets")),
                        format_bytes(number_of(route, "bytes"))});
    if (!routes.empty()) out << '\n' << routes.render(session.terminal);
    Table slow({{"SLOW PATH"}, {"COUNT", Align::right}});
    for (const auto& [name, count] : part_of(*body, "slow_path").items()) {
        if (count.is_number_unsigned() && count != 0) slow.add_row({name, count.dump()});
    }
    if (!slow.empty()) out << '\n' << slow.render(session.terminal);
    Table kernel({{"KERNEL ROUTES"}, {"COUNT", Align::right}});
    for (const auto& [name, count] : part_of(*body, "kernel_routes").items())
        if (count.is_number_unsigned() && count != 0) kernel.add_row({name, count.dump()});
    if (!kernel.empty()) out << '\n' << kernel.render(session.terminal);
    return exit_ok;
}

int watch_counters(const Session& session, std::chrono::duration<double> interval,
                   std::optional<unsigned> count) {
    auto before = fetch(session, "/v1/counters");
    if (!before) return before.error();
    auto asked = Clock::now();
    Redrawn screen(session.terminal);
    int status = exit_ok;
    for (unsigned shown = 0; !count || shown < *count; shown++) {
        std::this_thread::sleep_for(interval);
        const auto reply = session.client.get("/v1/counters");
        const auto now = Clock::now();
        if (!reply || !reply->good()) {
            // The data path outlives the daemon, so the next answer covers the gap: a restart is worth
            // watching.
            const std::string text = clock_time() + " no answer from the daemon, asking again\n";
            status = exit_unusable;
            if (session.terminal.interactive && !session.json) {
                screen.draw(text);
            } else {
                session.terminal.err << text << std::flush;
            }
            continue;
        }
        status = exit_ok;
        const double elapsed = std::chrono::duration<double>(now - asked).count();
        const Rates rates = rates_between(*before, reply->body, elapsed);
        if (session.json) {
            session.terminal.out << to_json(rates).dump(-1, ' ', false, json::error_handler_t::replace)
                                 << std::endl;
        } else if (session.terminal.interactive) {
            screen.draw(clock_time() + "\n" + rates_table(session, rates));
        } else {
            session.terminal.out << rates_lines(rates) << std::flush;
        }
        if (!session.terminal.out.good()) return exit_unusable;
        *before = reply->body;
        asked = now;
    }
    return status;
}

}  // namespace pktpit::router::cli
