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
    /// Told when a set becomes usable or stops being so, for the RIB. False: its routes have not left it yet,
    /// and drained() will be called when they have.
    using UsableChanged = std::function<bool(fib::NextHopSetId id, bool usable)>;

    /// `routes_around`: where gateways without an interface are looked up, as Rib::for_each_containing().
    NextHopSets(fib::FibImage& image, const InterfaceTable& interfaces, Adjacencies& adjacencies,
                Gateways::ForEachContaining routes_around);
    NextHopSets(const NextHopSets&) = delete;
    NextHopSets& operator=(const NextHopSets&) = delete;
    void on_usable_changed(UsableChanged changed) { usable_changed_ = std::move(changed); }
    /// Told when a set that changes in place leads to other links by their interfaces alone, though no route
    /// has changed. In the middle of the change.
    void on_links_changed(std::function<void()> changed) { links_changed_ = std::move(changed); }

    /// The set's id, made if need be; one reference more. Errors: no room for a group or an adjacency.
    Result<fib::NextHopSetId> acquire(const NextHopSetSpec& spec);
    void add_reference(fib::NextHopSetId id) { sets_.at(id).references++; }
    void release(fib::NextHopSetId id);

    [[nodiscard]] fib::GroupId group_of(fib::NextHopSetId id) const { return sets_.at(id).group; }
    /// The group of prefixes whose best route has `first` and whose second best has `second`: packets leave
    /// by the one, and from the moment when it cannot be used by the other, with one store for all of these
    /// prefixes. One user more. Where the image has no room for it: the group of `first`, which has no users
    /// to count.
    fib::GroupId chain(fib::NextHopSetId first, fib::NextHopSetId second);
    /// The group of prefixes whose best route has `first`, whose packets are to leave by what is around them
    /// when it cannot be used: there, prefixes have the group `around`. The same as a chain, or `around`
    /// itself where that begins with `first`, too; one user more. An eighth of the image's groups is given
    /// out for that.
    fib::GroupId chain_around(fib::NextHopSetId first, fib::GroupId around);
    /// One user less, if it is a chain's. Of a group that no prefix leads to any more.
    void release_chain(fib::GroupId group);
    /// Sets that only chains had that are gone. Not while the RIB tells of routes, which it may change.
    void drop_unchained();
    /// The set that a group, a chain's too, begins with; 0: nobody's.
    [[nodiscard]] fib::NextHopSetId first_of(fib::GroupId group) const {
        return group < first_of_.size() ? first_of_[group] : 0;
    }
    /// Sets that stand in for it where it cannot be used, for some of its prefixes.
    [[nodiscard]] std::vector<fib::NextHopSetId> seconds_of(fib::NextHopSetId id) const;
    /// The set's routes have left it.
    void drained(fib::NextHopSetId id);
    [[nodiscard]] bool usable(fib::NextHopSetId id) const { return sets_.at(id).usable; }
    [[nodiscard]] const NextHopSetSpec& spec_of(fib::NextHopSetId id) const { return *sets_.at(id).spec; }
    /// Where packets go now, recursion done; also next hops whose neighbour does not answer.
    [[nodiscard]] const std::vector<ResolvedHop>& hops_of(fib::NextHopSetId id) const {
        return sets_.at(id).hops;
    }
    /// Those, and the ones that stand in for them or that they stand in for.
    [[nodiscard]] std::vector<ResolvedHop> known_hops_of(fib::NextHopSetId id);
    /// What a gateway that stands without an interface in some set resolves to; nullptr: there is no such.
    [[nodiscard]] const Resolution* resolution_of(const IpAddress& gateway, VrfId vrf = default_vrf) const {
        return gateways_.find({vrf, gateway});
    }
    [[nodiscard]] size_t size() const { return sets_.size(); }
    /// Computed from their numbers and those of their next hops.
    [[nodiscard]] size_t memory_bytes() const {
        constexpr size_t tree_node = 32;
        size_t bytes = chains_.size() * (sizeof(Chain) + 3 * tree_node) +
                       first_of_.capacity() * sizeof(fib::NextHopSetId);
        for (const auto& [spec, id] : ids_)
            bytes += 2 * tree_node + sizeof(spec) + spec.next_hops.capacity() * sizeof(NextHopSpec);
        for (const auto& [id, set] : sets_)
            bytes += 2 * tree_node + sizeof(set) + set.hops.capacity() * sizeof(ResolvedHop) +
                     (set.members.capacity() + set.held.capacity()) * sizeof(Members::value_type);
        return bytes;
    }
    /// Those behind `after` (0: all), in order, until `visit` returns false.
    void for_each_behind(fib::NextHopSetId after, const std::function<bool(fib::NextHopSetId)>& visit) const {
        for (auto at = sets_.upper_bound(after); at != sets_.end() && visit(at->first);)
            ++at;
    }

    /// The interface went up or down: sets that leave by it are resolved anew.
    void interface_changed(InterfaceId interface);
    /// A neighbour's reachability changed: sets with a member on it share their flows out anew.
    void neighbour_changed(const Adjacencies::NeighbourKey& key);
    /// A route of exactly this prefix was added, replaced or removed: sets with a gateway that it may lead to
    /// are resolved anew. To be called after the RIB has it, and before what it replaced is released.
    void route_changed(VrfId vrf, const Prefix& prefix) { refresh(gateways_.route_changed(vrf, prefix)); }
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
        Members held;           ///< of next hops that are not in use now, so that their neighbours are known
        bool backups = false;   ///< some next hops are
        bool draining = false;  ///< not usable, and its routes have not left it: members are as they were
    };
    /// Holds both: what is around a prefix may have other next hops before the prefix is told of it.
    struct Chain {
        fib::NextHopSetId first = 0;
        fib::NextHopSetId second = 0;
        uint32_t users = 0;
    };
    /// A new composition of a resilient set that is waited for.
    struct Coming {
        NextHopSetSpec spec;
        std::optional<std::chrono::steady_clock::time_point> due;  ///< from the next tick on
    };
    void change_resilient(fib::NextHopSetId id, const NextHopSetSpec& wanted);
    void recompose(fib::NextHopSetId id, const NextHopSetSpec& spec);
    std::vector<ResolvedHop> resolve(const NextHopSetSpec& spec, bool backups);
    std::vector<ResolvedHop> resolve(const NextHopSetSpec& spec);
    Result<Members> members_of(const NextHopSetSpec& spec, const std::vector<ResolvedHop>& hops);
    [[nodiscard]] AdjacencyKey key_of(const ResolvedHop& hop) const;
    [[nodiscard]] bool failed(const ResolvedHop& hop) const;
    [[nodiscard]] bool answers(const ResolvedHop& hop) const;
    void release_members(const Members& members);
    void watch(const NextHopSetSpec& spec, fib::NextHopSetId id);
    void unwatch(const NextHopSetSpec& spec, fib::NextHopSetId id);
    void refresh(const Gateways::SetIds& ids);
    void refresh(fib::NextHopSetId id, Set& set);
    void hold(Set& set, const std::vector<ResolvedHop>& hops);
    bool write(Set& set, Members members);
    void write_chains(fib::NextHopSetId id);
    bool write_chain(fib::GroupId group, const Chain& chain);

    fib::FibImage& image_;
    const InterfaceTable& interfaces_;
    Adjacencies& adjacencies_;
    Gateways gateways_;
    UsableChanged usable_changed_;
    std::function<void()> links_changed_;
    std::map<NextHopSetSpec, fib::NextHopSetId> ids_;
    std::map<fib::NextHopSetId, Set> sets_;
    std::map<InterfaceId, std::set<fib::NextHopSetId>> by_interface_;  ///< sets that name the interface
    /// By the id of the group and the MTU of its routes, which tells their sets apart.
    std::map<std::pair<uint64_t, uint32_t>, fib::NextHopSetId> resilient_;
    std::map<fib::NextHopSetId, Coming> coming_;
    std::map<fib::GroupId, Chain> chains_;
    std::map<std::pair<fib::NextHopSetId, fib::NextHopSetId>, fib::GroupId> chain_ids_;
    std::map<fib::NextHopSetId, std::set<fib::GroupId>> chains_of_;  ///< by either of their sets
    std::vector<fib::NextHopSetId> first_of_;                        ///< by group
    std::vector<fib::NextHopSetId> unchained_;  ///< of chains that are gone; each is a reference
    std::set<fib::NextHopSetId> unwritten_;     ///< their groups are older than their `hops`: no room
    fib::NextHopSetId next_id_ = 1;
};

}  // namespace pktpit::router
