// SPDX-License-Identifier: BSD-3-Clause
/// Configured routes, and those given by hand, in the kernel's table of their VRF, for the host's own
/// traffic. Keeps the kernel at what the routing core makes of them: gateways resolved, links that are down
/// left out.
///
/// What is to be changed is found in steps that are bounded in time, however many routes there are, and done
/// a batch at a time aside (route_batch.h); a few routes given by hand are there when the call returns.
/// Called by the control plane; one thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "router/control/cli_routes.h"
#include "router/control/descriptor_watcher.h"
#include "router/control/drift.h"
#include "router/control/route_batch.h"
#include "router/kernel/route_writer.h"
#include "router/routing/routing.h"

namespace pktpit::router {

class InstalledRoutes {
  public:
    using Clock = std::chrono::steady_clock;
    using Now = std::function<Clock::time_point()>;
    /// `writer`: null where there is no kernel to install in. `now` bounds the steps.
    InstalledRoutes(const Routing& routing, const CliRoutes& by_hand, DescriptorWatcher& watcher,
                    RouteWriter* writer, Now now = Clock::now)
        : routing_(routing), by_hand_(by_hand), watcher_(watcher), writer_(writer), now_(std::move(now)) {}
    /// Leaves what is installed, unless told to take it out.
    ~InstalledRoutes();
    InstalledRoutes(const InstalledRoutes&) = delete;
    InstalledRoutes& operator=(const InstalledRoutes&) = delete;
    void take_down() { take_down_ = true; }

    /// A configuration has been taken over. What an earlier daemon has left is adopted at the first; at every
    /// later one the kernel is asked what has become of the routes.
    Result<void> configured(const config::Config& config);
    /// Routes given by hand have changed: few are brought to the kernel at once, many in steps.
    void changed(std::span<const config::StaticRoute> routes);
    /// The device's routes may have gone, with its link or its addresses: the kernel does not tell of each.
    void device_changed(uint32_t ifindex);
    /// Next hops may have changed.
    void refresh();
    /// Every 100 ms.
    void tick();

    /// Routes that somebody has removed, that the kernel does not take, or that another one goes before.
    void find_drift(std::vector<DriftItem>& found) const;
    [[nodiscard]] size_t size() const { return installed_.size(); }

  private:
    struct Installed {
        HostRoute route;
        std::optional<uint8_t> behind;  ///< protocol of a route of somebody else that goes before
    };
    Result<void> adopt();
    Result<void> carry_out_now(RouteBatch& batch);
    void listen();
    [[nodiscard]] std::optional<HostRoute> wanted(const VrfPrefix& place) const;
    [[nodiscard]] std::optional<fib::Route> chosen(const VrfPrefix& place) const;
    [[nodiscard]] std::optional<VrfPrefix> next_after(const std::optional<VrfPrefix>& place) const;
    void begin_anew();
    void end_round();
    void sweep();
    void plan_step(RouteBatch& batch);
    void plan(RouteBatch& batch, const VrfPrefix& place);
    [[nodiscard]] bool forced(const VrfPrefix& place) const;
    void send_off();
    void take_in(std::span<RouteBatch::Change> changes);
    void end_batch();
    void note(RouteBatch::Change& change);
    void note_lost(const VrfPrefix& place, bool by_kernel);
    void tell(const VrfPrefix& place, const std::string& what);
    [[nodiscard]] std::optional<uint32_t> table_of(const std::string& vrf) const;

    const Routing& routing_;
    const CliRoutes& by_hand_;
    DescriptorWatcher& watcher_;
    RouteWriter* writer_;
    Now now_;
    bool active_ = false;  ///< a configuration has been taken over
    bool take_down_ = false;
    bool wanted_at_all_ = false;
    std::map<std::string, uint32_t> tables_{{"", 254}};  ///< of VRFs, by name
    std::map<uint32_t, std::string> vrfs_{{254, ""}};    ///< the reverse
    std::set<VrfPrefix> configured_;
    std::map<VrfPrefix, Installed> installed_;
    std::map<VrfPrefix, std::string> refused_;
    std::set<VrfPrefix> lost_;   ///< to somebody, who may have meant it: until the next reload
    std::set<uint32_t> shaken_;  ///< devices whose routes are installed again, whatever was known of them
    std::set<uint32_t> shaken_later_;  ///< the same, of the next round
    std::set<VrfPrefix> doubtful_;     ///< routes that are, too
    bool sweeping_ = false;
    std::optional<VrfPrefix> swept_;  ///< up to here; nothing: the round begins
    bool another_round_ = false;      ///< follows this one
    uint64_t told_ = 0;
    std::shared_ptr<RouteBatch> batch_;   ///< under way
    std::set<VrfPrefix> lost_meanwhile_;  ///< of its prefixes, by the kernel's doing
    /// Answers that come later do not find it.
    std::shared_ptr<InstalledRoutes*> self_ = std::make_shared<InstalledRoutes*>(this);
};

}  // namespace pktpit::router
