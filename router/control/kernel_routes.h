// SPDX-License-Identifier: BSD-3-Clause
/// Routes of one of the kernel's tables (`ip route`, BIRD, FRR's zebra), followed live into the RIB of a VRF
/// as source `kernel`.
///
/// It has a netlink connection of its own, so that another table can be followed after a reload without
/// disturbing what is known of links and neighbours, and so that these are never behind a million routes. One
/// thread, in turns of a few milliseconds: after each of them everybody else has theirs.
///
/// What holds between two turns:
///
/// Links, addresses and neighbours are as the kernel has them now, routes as it had them a while ago. A route
/// whose device is down or gone is not used, whatever the table says: next-hop sets follow the interfaces.
/// One whose device is not known stays in the table; refresh() installs it when the interface has come.
///
/// Every route of source `kernel` in the RIB is one that the table, or a former one, has told; RIB and image
/// agree. A prefix goes from its former route to the next in one step.
///
/// The kernel changes some routes without a word. Those that are known are followed by rule
/// (router/kernel/route_devices.cpp); the others are found by compare(), which a reload asks for, and the
/// control plane now and then.
///
/// What a former table had and the new one has not goes when the new one has been read to its end; where
/// there is no new one, at once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/turn.h"
#include "config/config.h"
#include "router/control/descriptor_watcher.h"
#include "router/control/event_log.h"
#include "router/control/ignored_routes.h"
#include "router/control/transaction.h"
#include "router/kernel/kernel_state.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// Opens a connection that reports routes after the filter.
using OpenKernel = std::function<Result<std::unique_ptr<Kernel>>(const RouteFilter& filter)>;

class KernelRoutes : public KernelListener {
  public:
    /// `vrf`: lives longer. Of the default one: what is said of all tables, such as rules, is said here.
    KernelRoutes(Routing& routing, DescriptorWatcher& watcher, OpenKernel open, EventLog& events,
                 VrfId vrf = default_vrf)
        : routing_(routing), watcher_(watcher), open_(std::move(open)), events_(events), vrf_(vrf) {}
    ~KernelRoutes() override { unwatch(connection_); }
    KernelRoutes(const KernelRoutes&) = delete;
    KernelRoutes& operator=(const KernelRoutes&) = delete;

    /// Follows the kernel after these settings. What it has is read in the turns that follow.
    Result<void> configure(const config::KernelRoutes& wanted, Transaction& transaction);
    /// Reads on until the table is complete, or `enough` says that it has lasted too long. For a start that
    /// takes over a data path, which forwards by its own table until then.
    void read_now(const std::function<bool()>& enough);
    /// Interfaces came or went: which kernel routes can be used is decided anew, in turns.
    void refresh();

    /// Compares what is followed with what the kernel has, in the turns that follow, and puts right what
    /// differs. Nothing while the table is read.
    void compare();

    /// For people. Counts of the connection begin anew with each one.
    struct Status {
        bool followed = false;
        bool complete = false;  ///< the whole table has been read, and no resync is under way
        size_t routes = 0;      ///< prefixes that the table has now
        size_t waiting = 0;     ///< messages, and prefixes, that are to be handled in turns to come
        uint64_t turns = 0;
        std::chrono::microseconds longest_turn{0};
        uint64_t comparisons = 0;  ///< with the kernel's table, since the start
        uint64_t differences = 0;  ///< that they found, and put right
        KernelCounters netlink;
    };
    [[nodiscard]] Status status() const;
    /// Of the tables that are followed, or were.
    [[nodiscard]] size_t memory_bytes() const {
        size_t bytes = connection_ ? connection_->state->routes().memory_bytes() : 0;
        for (const auto& former : former_)
            bytes += former->state->routes().memory_bytes();
        return bytes;
    }
    /// Of the table that is followed; none where none is.
    [[nodiscard]] const IgnoredRoutes& ignored() const {
        static const IgnoredRoutes none;
        return connection_ ? connection_->ignored : none;
    }

  private:
    struct Connection {
        std::unique_ptr<Kernel> kernel;  ///< null: a former one's, which is not followed any more
        std::unique_ptr<KernelState> state;
        config::KernelRoutes settings;
        RouteFilter filter;
        bool begun = false;
        // Of the connection, so that a way back finds them: what selects by more than a prefix is told once.
        IgnoredRoutes ignored;
        std::set<RuleEvent> rules_told;
    };
    void route_set(const Prefix& prefix, const KernelRoute& route) override;
    void route_removed(const Prefix& prefix) override;
    void rule_changed(const RuleEvent& rule) override;
    void selective_route(const SelectiveRouteEvent& route) override;
    void ruled_tables(const RuledTables& tables) override;
    void resynced() override;
    void compared(const ComparisonResult& result) override;
    void note_ignored(const Prefix& prefix, const KernelRoute& route);
    [[nodiscard]] bool concerns(const Prefix& prefix, const KernelRoute& route) const;
    [[nodiscard]] NextHopSetSpec spec_of(const KernelRoute& route) const;
    void install(const Prefix& prefix, const KernelRoute& route);
    Result<std::shared_ptr<Connection>> connect(const config::KernelRoutes& wanted);
    void exchange(const std::shared_ptr<Connection>& next);
    void unwatch(const std::shared_ptr<Connection>& connection);
    void close_former();
    void ask_for_turn();
    bool work(Turn& turn);
    bool install_again(Turn& turn);
    bool forget_former(Turn& turn);
    void tell_losses();
    [[nodiscard]] std::string of_vrf() const;

    Routing& routing_;
    DescriptorWatcher& watcher_;
    OpenKernel open_;
    EventLog& events_;
    VrfId vrf_;
    std::shared_ptr<Connection> connection_;
    std::vector<std::shared_ptr<Connection>> former_;  ///< whose routes may be in the RIB
    RouteTable::Cursor forgotten_;                     ///< of the first of them
    bool refreshing_ = false;
    RouteTable::Cursor refreshed_;
    bool turn_is_due_ = false;
    uint64_t turns_ = 0;
    std::chrono::microseconds longest_turn_{0};
    uint64_t comparisons_ = 0;
    uint64_t differences_ = 0;
    uint64_t losses_told_ = 0;
    bool recovering_ = false;  ///< messages were lost, and the resync is not complete yet
    uint64_t refused_ = 0;
    /// The loop may hold a turn that was asked for longer than this lives.
    std::shared_ptr<KernelRoutes*> self_ = std::make_shared<KernelRoutes*>(this);
};

}  // namespace pktpit::router
