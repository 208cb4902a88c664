// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/rates.h"

#include "router/cli/json_text.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

double per_second(const json& before, const json& after, const char* name, double interval) {
    const uint64_t from = number_of(before, name);
    const uint64_t to = number_of(after, name);
    return static_cast<double>(to >= from ? to - from : to) / interval;
}

std::map<std::string, double> all_per_second(const json& before, const json& after, double interval) {
    std::map<std::string, double> rates;
    if (!after.is_object()) return rates;
    for (const auto& [name, value] : after.items()) {
        const double rate = per_second(before, after, name.c_str(), interval);
        if (rate > 0) rates[name] = rate;
    }
    return rates;
}

PortRates port_rates(const json& before, const json& after, double interval) {
    return {.rx_packets = per_second(before, after, "rx_packets", interval),
            .rx_bits = per_second(before, after, "rx_bytes", interval) * 8,
            .tx_packets = per_second(before, after, "tx_packets", interval),
            .tx_bits = per_second(before, after, "tx_bytes", interval) * 8,
            .verdicts = all_per_second(part_of(before, "verdicts"), part_of(after, "verdicts"), interval)};
}

json to_json(const PortRates& rates) {
    return {{"rx_packets", rates.rx_packets},
            {"rx_bits", rates.rx_bits},
            {"tx_packets", rates.tx_packets},
            {"tx_bits", rates.tx_bits},
            {"verdicts", rates.verdicts}};
}

}  // namespace

Rates rates_between(const json& before, const json& after, double elapsed) {
    const double by_daemon = real_of(after, "time") - real_of(before, "time");
    Rates rates;
    rates.interval = by_daemon > 0 ? by_daemon : elapsed;
    if (rates.interval <= 0) return rates;
    for (const auto& [name, port] : part_of(after, "ports").items()) {
        rates.ports[name] = port_rates(part_of(part_of(before, "ports"), name.c_str()), port, rates.interval);
    }
    rates.totals = port_rates(part_of(before, "totals"), part_of(after, "totals"), rates.interval);
    rates.slow_path =
        all_per_second(part_of(before, "slow_path"), part_of(after, "slow_path"), rates.interval);
    return rates;
}

json to_json(const Rates& rates) {
    json ports = json::object();
    for (const auto& [name, port] : rates.ports)
        ports[name] = to_json(port);
    return {{"interval", rates.interval},
            {"ports", std::move(ports)},
            {"totals", to_json(rates.totals)},
            {"slow_path", rates.slow_path}};
}

}  // namespace pktpit::router::cli
