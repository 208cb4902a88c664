// SPDX-License-Identifier: BSD-3-Clause
/// Routes of the kernel's table (`ip route`, BIRD, FRR's zebra), followed live into the RIB as source
/// `kernel`.
///
/// It has a netlink connection of its own, so that another table can be followed after a reload without
/// disturbing what is known of links and neighbours. One thread.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "config/config.h"
#include "router/control/descriptor_watcher.h"
#include "router/control/transaction.h"
#include "router/kernel/kernel_state.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// Opens a connection that reports routes after the filter.
using OpenKernel = std::function<Result<std::unique_ptr<Kernel>>(const RouteFilter& filter)>;

class KernelRoutes : public KernelListener {
  public:
    KernelRoutes(Routing& routing, DescriptorWatcher& watcher, OpenKernel open)
        : routing_(routing), watcher_(watcher), open_(std::move(open)) {}
    ~KernelRoutes() override { close(connection_); }
    KernelRoutes(const KernelRoutes&) = delete;
    KernelRoutes& operator=(const KernelRoutes&) = delete;

    /// Follows the kernel after these settings; the RIB holds what the kernel has when it returns.
    Result<void> configure(const config::KernelRoutes& wanted, Transaction& transaction);
    /// Interfaces came or went: which kernel routes can be used is decided anew.
    void refresh();

  private:
    struct Connection {
        std::unique_ptr<Kernel> kernel;
        std::unique_ptr<KernelState> state;
        config::KernelRoutes settings;
    };
    void route_set(const Prefix& prefix, const KernelRoute& route) override;
    void route_removed(const Prefix& prefix) override;
    void rule_changed(const RuleEvent& rule) override;
    void tell_not_followed(const Prefix& prefix, const KernelRoute& route);
    [[nodiscard]] std::optional<NextHopSetSpec> usable(const Prefix& prefix, const KernelRoute& route) const;
    void install(const Prefix& prefix, const KernelRoute& route);
    Result<std::shared_ptr<Connection>> connect(const config::KernelRoutes& wanted);
    void exchange(std::shared_ptr<Connection> next);
    void close(const std::shared_ptr<Connection>& connection);

    Routing& routing_;
    DescriptorWatcher& watcher_;
    OpenKernel open_;
    std::shared_ptr<Connection> connection_;
    uint64_t refused_ = 0;
    std::set<std::pair<Prefix, std::string>> not_followed_;  ///< told already; bounded
    std::set<RuleEvent> rules_told_;
    bool silent_ = false;  ///< while a new connection fills its table, before it is the one that counts
};

}  // namespace pktpit::router
