// SPDX-License-Identifier: BSD-3-Clause
/// What happened between two answers of /v1/counters, per second. Pure; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <string>

namespace pktpit::router::cli {

struct PortRates {
    double rx_packets = 0, rx_bits = 0, tx_packets = 0, tx_bits = 0;  ///< a second
    std::map<std::string, double> verdicts;                           ///< a second; those not zero
};

struct Rates {
    double interval = 0;  ///< seconds between the two
    std::map<std::string, PortRates> ports;
    PortRates totals;
    std::map<std::string, double> slow_path;  ///< a second; those not zero
};

/// By the daemon's clock (`time`); by `elapsed`, seconds on ours, where that went back because the daemon was
/// started anew. A counter that is lower than before has begun anew too.
Rates rates_between(const nlohmann::json& before, const nlohmann::json& after, double elapsed);

nlohmann::json to_json(const Rates& rates);

}  // namespace pktpit::router::cli
