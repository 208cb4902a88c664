// SPDX-License-Identifier: BSD-3-Clause
// What is not as the configuration has it, and what of the kernel's is not obeyed.
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include <array>

#include "config/protocols.h"
#include "router/daemon/daemon.h"
#include "router/kernel/nftables.h"

namespace pktpit::router {

using nlohmann::json;

namespace {

std::string words_of(const ForwardChain& chain) {
    return std::to_string(chain.rules) + (chain.rules == 1 ? " rule" : " rules") +
           (chain.drops ? ", and drops all else" : "");
}

}  // namespace

void Daemon::warn_of_nftables() {
    const auto chains = nftables_forward_chains();
    if (!chains) return spdlog::debug("{}", chains.error().to_string());
    for (const ForwardChain& chain : *chains)
        spdlog::warn(
            "nftables: chain {} has {} in the forward hook, where packets that Pktpit forwards do not pass: "
            "/filters of the configuration, and `pktpit filter import nftables`",
            chain.name, words_of(chain));
}

json Daemon::drift() {
    json items = json::array();
    for (const auto& item : control_->find_drift())
        items.push_back({{"what", item.what},
                         {"where", item.where},
                         {"expected", item.expected},
                         {"found", item.found},
                         {"mended_by_reload", item.mended_by_reload}});
    if (const auto chains = nftables_forward_chains())
        for (const ForwardChain& chain : *chains)
            items.push_back({{"what", "nftables"},
                             {"where", chain.name},
                             {"expected", "nothing in the forward hook"},
                             {"found", words_of(chain) + ": forwarded packets do not pass there"},
                             {"mended_by_reload", false}});
    return {{"drift", std::move(items)}};
}

json Daemon::ignored_routes() {
    constexpr size_t most = 1000;
    std::array<size_t, IgnoredRoutes::kinds> counted{};
    json routes = json::array();
    bool more = false;
    for (const auto& [vrf, ignored] : control_->ignored_routes()) {
        for (size_t i = 0; i < counted.size(); i++)
            counted[i] += ignored->count(static_cast<IgnoredRoutes::Kind>(i));
        more = more || ignored->more();
        for (const auto& [route, entry] : ignored->all()) {
            if (routes.size() == most) {
                more = true;
                break;
            }
            routes.push_back({{"vrf", vrf.empty() ? "default" : vrf},
                              {"prefix", route.rule ? json() : json(route.prefix.to_string())},
                              {"kind", to_string(entry.kind)},
                              {"protocol", route.rule ? json() : json(config::protocol_name(entry.protocol))},
                              {"to_kernel", is_kernels(entry.kind)},
                              {"reason", reason_of(route, entry.kind)}});
        }
    }
    json counts = json::object();
    for (size_t i = 0; i < counted.size(); i++)
        counts[to_string(static_cast<IgnoredRoutes::Kind>(i))] = counted[i];
    return {{"counts", std::move(counts)}, {"more", more}, {"routes", std::move(routes)}};
}

}  // namespace pktpit::router
