// SPDX-License-Identifier: BSD-3-Clause
/// The routes of one VRF that zebra sends by FPM, in its RIB as source `fpm`, with the next hops that they
/// point to. FpmRoutes has one of each VRF, reads the connection and tells them what it says. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "router/fpm/fpm_table.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// What could not be done of what zebra has sent, for all VRFs together: told in the log, and counted.
class FpmShortfalls {
  public:
    /// A full FIB refuses a whole table: one line in a thousand tells enough.
    void refuse(const std::string& what, const Error& error);
    /// The route's packets are the kernel's. `why` is a constant; once of each.
    void leave_to_kernel(const Prefix& prefix, const char* why);
    [[nodiscard]] uint64_t refused() const { return refused_; }
    [[nodiscard]] uint64_t left_to_kernel() const { return left_to_kernel_; }

  private:
    uint64_t refused_ = 0;
    uint64_t left_to_kernel_ = 0;
    std::set<std::string_view> told_;
};

class FpmVrfRoutes : private FpmTable::Listener {
  public:
    /// `kernel_table`: zebra's number of the VRF's table.
    FpmVrfRoutes(Routing& routing, FpmShortfalls& shortfalls, VrfId vrf, uint32_t kernel_table);
    /// Its routes stay in the RIB: they go with their VRF.
    ~FpmVrfRoutes() override;
    FpmVrfRoutes(const FpmVrfRoutes&) = delete;
    FpmVrfRoutes& operator=(const FpmVrfRoutes&) = delete;

    [[nodiscard]] FpmTable& table() { return table_; }
    [[nodiscard]] const FpmTable& table() const { return table_; }
    /// Of routes that come from now on; table().repeat() gives it to those that there are.
    void set_preference(uint8_t preference) { preference_ = preference; }
    /// Interfaces came or went: where the next hops lead is decided anew, whatever the number of routes.
    void refresh();
    [[nodiscard]] size_t next_hop_sets() const { return sets_.size(); }

  private:
    void body_made(FpmBodyId body) override;
    void body_changed(FpmBodyId body) override;
    void body_gone(FpmBodyId body) override;
    void route_set(const Prefix& prefix, FpmBodyId body, uint32_t metric) override;
    void route_removed(const Prefix& prefix) override;
    void route_is_kernels(const Prefix& prefix, const char* why) override;
    [[nodiscard]] bool is_routers(uint32_t ifindex) const override {
        return routing_.interfaces().by_ifindex(ifindex) != nullptr;
    }
    [[nodiscard]] NextHopSetSpec spec_of(FpmBodyId body) const;

    Routing& routing_;
    FpmShortfalls& shortfalls_;
    const VrfId vrf_;
    uint8_t preference_;
    FpmTable table_;
    std::unordered_map<FpmBodyId, fib::NextHopSetId> sets_;
};

}  // namespace pktpit::router
