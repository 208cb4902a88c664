// SPDX-License-Identifier: BSD-3-Clause
/// Next-hop sets: what routes point to. Equal sets are one; each is one group of the FIB image. When a link,
/// a neighbour or a route to a gateway changes, the sets that it can matter to are resolved anew and their
/// groups rewritten: the cost does not depend on how many routes use them.
///
/// One thread. Reference-counted by routes.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "fib/image.h"
#include "fib/rib.h"
#include "router/routing/adjacencies.h"
#include "router/routing/gateways.h"
#include "router/routing/next_hop_spec.h"
#include "router/routing/resolved_hops.h"

namespace pktpit::router {

class NextHopSets {
  public:
    /// Told when a set becomes usable or stops being so, for Rib::set_usable().
    using UsableChanged = std::function<void(fib::NextHopSetId id, bool usable)>;

    /// `routes_around`: where gateways without an interface are looked up, as Rib::for_each_containing().
    NextHopSets(fib::FibImage& image, const InterfaceTable& interfaces, Adjacencies& adjacencies,
                Gateways::ForEachContaining routes_around);
    NextHopSets(const NextHopSets&) = delete;
    NextHopSets& operator=(const NextHopSets&) = delete;
    void on_usable_changed(UsableChanged changed) { usable_changed_ = std::move(changed); }

    /// The set's id, made if need be; one reference more. Errors: no room for a group or an adjacency.
    Result<fib::NextHopSetId> acquire(const NextHopSetSpec& spec);
    void add_reference(fib::NextHopSetId id) { sets_.at(id).references++; }
    void release(fib::NextHopSetId id);

    [[nodiscard]] fib::GroupId group_of(fib::NextHopSetId id) const { return sets_.at(id).group; }
    [[nodiscard]] bool usable(fib::NextHopSetId id) const { return sets_.at(id).usable; }
    [[nodiscard]] const NextHopSetSpec& spec_of(fib::NextHopSetId id) const { return *sets_.at(id).spec; }
    /// Where packets go now, recursion done; also next hops whose neighbour does not answer.
    [[nodiscard]] const std::vector<ResolvedHop>& hops_of(fib::NextHopSetId id) const {
        return sets_.at(id).hops;
    }
    /// What a gateway that stands without an interface in some set resolves to; nullptr: there is no such.
    [[nodiscard]] const Resolution* resolution_of(const IpAddress& gateway) const {
        return gateways_.find(gateway);
    }
    [[nodiscard]] size_t size() const { return sets_.size(); }

    /// The interface went up or down: sets that leave by it are resolved anew.
    void interface_changed(InterfaceId interface);
    /// A neighbour's reachability changed: sets with a member on it share their flows out anew.
    void neighbour_changed(const Adjacencies::NeighbourKey& key);
    /// A route of exactly this prefix was added, replaced or removed: sets with a gateway that it may lead to
    /// are resolved anew. To be called after the RIB has it, and before what it replaced is released.
    void route_changed(const Prefix& prefix) { refresh(gateways_.route_changed(prefix)); }
    void set_via_default(bool allowed) { refresh(gateways_.set_via_default(allowed)); }
    [[nodiscard]] bool via_default() const { return gateways_.via_default(); }
    /// Members that resilient sets have waited long enough for. Call every 100 ms or so; `now` only grows.
    void tick(std::chrono::steady_clock::time_point now);
    /// Sets that could not be rewritten, since the image had no room, are tried again.
    void retry();

  private:
    using Members = std::vector<std::pair<fib::AdjacencyId, uint16_t>>;
    struct Set {
        const NextHopSetSpec* spec = nullptr;
        uint32_t references = 0;
        fib::GroupId group = 0;
        bool usable = false;
        std::vector<ResolvedHop> hops;
        Members members;
    };
    /// A new composition of a resilient set that is waited for.
    struct Coming {
        NextHopSetSpec spec;
        std::optional<std::chrono::steady_clock::time_point> due;  ///< from the next tick on
    };
    void change_resilient(fib::NextHopSetId id, const NextHopSetSpec& wanted);
    void recompose(fib::NextHopSetId id, const NextHopSetSpec& spec);
    std::vector<ResolvedHop> resolve(const NextHopSetSpec& spec);
    Result<Members> members_of(const NextHopSetSpec& spec, const std::vector<ResolvedHop>& hops);
    [[nodiscard]] bool failed(const ResolvedHop& hop) const;
    void release_members(const Members& members);
    void watch(const NextHopSetSpec& spec, fib::NextHopSetId id);
    void unwatch(const NextHopSetSpec& spec, fib::NextHopSetId id);
    void refresh(const Gateways::SetIds& ids);
    void refresh(fib::NextHopSetId id, Set& set);

    fib::FibImage& image_;
    const InterfaceTable& interfaces_;
    Adjacencies& adjacencies_;
    Gateways gateways_;
    UsableChanged usable_changed_;
    std::map<NextHopSetSpec, fib::NextHopSetId> ids_;
    std::map<fib::NextHopSetId, Set> sets_;
    std::map<InterfaceId, std::set<fib::NextHopSetId>> by_interface_;  ///< sets that name the interface
    std::map<uint64_t, fib::NextHopSetId> resilient_;                  ///< by the id of the group
    std::map<fib::NextHopSetId, Coming> coming_;
    std::set<fib::NextHopSetId> unwritten_;  ///< their groups are older than their `hops`: no room
    fib::NextHopSetId next_id_ = 1;
};

}  // namespace pktpit::router
