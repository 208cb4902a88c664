// SPDX-License-Identifier: BSD-3-Clause
/// What FpmTable has told, as the routing core would know it. Stops at the first call that makes no sense.
#pragma once

#include <cstdlib>
#include <map>
#include <set>

#include "router/fpm/fpm_table.h"

namespace pktpit::router {

class FpmMirror : public FpmTable::Listener {
  public:
    void body_made(FpmBodyId body) override { require(bodies.insert(body).second); }
    void body_changed(FpmBodyId body) override {
        require(bodies.contains(body));
        changes++;
    }
    void body_gone(FpmBodyId body) override {
        require(bodies.erase(body) == 1);
        for (const auto& [prefix, route] : routes)
            require(route.first != body);
    }
    void route_set(const Prefix& prefix, FpmBodyId body, uint32_t metric) override {
        require(bodies.contains(body));
        routes[prefix] = {body, metric};
        sets++;
    }
    void route_removed(const Prefix& prefix) override { require(routes.erase(prefix) == 1); }
    void route_is_kernels(const Prefix& prefix, const char*) override { require(routes.contains(prefix)); }
    [[nodiscard]] bool is_routers(uint32_t ifindex) const override { return !foreign.contains(ifindex); }

    std::map<Prefix, std::pair<FpmBodyId, uint32_t>> routes;
    std::set<FpmBodyId> bodies;
    std::set<uint32_t> foreign;  ///< devices that are none of the router's
    size_t changes = 0;
    size_t sets = 0;

  private:
    static void require(bool condition) {
        if (!condition) std::abort();
    }
};

}  // namespace pktpit::router
