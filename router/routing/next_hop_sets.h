/// Next-hop sets: what routes point to. Equal sets are one; each is one group of the FIB image. When a link,
/// an address or a neighbour changes, sets are resolved anew and their groups rewritten: the cost does not
/// depend on how many routes use them.
///
/// One thread. Reference-counted by routes.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "fib/image.h"
#include "fib/rib.h"
#include "router/routing/adjacencies.h"

namespace pktpit::router {

struct NextHopSpec {
    std::optional<IpAddress> via;  ///< absent: the destination itself is on the link
    InterfaceId interface = 0;     ///< 0: the interface whose net contains `via`
    uint16_t weight = 1;
    auto operator<=>(const NextHopSpec&) const = default;
};

/// kind PP_ADJ_FORWARD: the next hops. Other kinds: what becomes of packets instead; `next_hops` is then
/// empty, but for PP_ADJ_GLEAN and PP_ADJ_BROADCAST, which name their interface by one next hop without
/// `via`.
struct NextHopSetSpec {
    pp_adjacency_kind kind = PP_ADJ_FORWARD;
    std::vector<NextHopSpec> next_hops;
    auto operator<=>(const NextHopSetSpec&) const = default;
};

class NextHopSets {
  public:
    /// Told when a set becomes usable or stops being so, for Rib::set_usable().
    using UsableChanged = std::function<void(fib::NextHopSetId id, bool usable)>;

    NextHopSets(fib::FibImage& image, const InterfaceTable& interfaces, Adjacencies& adjacencies)
        : image_(image), interfaces_(interfaces), adjacencies_(adjacencies) {}
    void on_usable_changed(UsableChanged changed) { usable_changed_ = std::move(changed); }

    /// The set's id, made if need be; one reference more. Errors: no room for a group or an adjacency.
    Result<fib::NextHopSetId> acquire(const NextHopSetSpec& spec);
    void add_reference(fib::NextHopSetId id) { sets_.at(id).references++; }
    void release(fib::NextHopSetId id);

    [[nodiscard]] fib::GroupId group_of(fib::NextHopSetId id) const { return sets_.at(id).group; }
    [[nodiscard]] bool usable(fib::NextHopSetId id) const { return sets_.at(id).usable; }
    [[nodiscard]] const NextHopSetSpec& spec_of(fib::NextHopSetId id) const { return *sets_.at(id).spec; }
    /// The interface that a next hop leaves by now; 0 if it cannot.
    [[nodiscard]] InterfaceId interface_of(const NextHopSpec& hop) const;
    [[nodiscard]] size_t size() const { return sets_.size(); }

    /// An interface or an address changed: all sets are resolved anew.
    void topology_changed();
    /// A neighbour's reachability changed: sets with a member on it share their flows out anew.
    void neighbour_changed(const Adjacencies::NeighbourKey& key);

  private:
    using Members = std::vector<std::pair<fib::AdjacencyId, uint16_t>>;
    struct Set {
        const NextHopSetSpec* spec = nullptr;
        uint32_t references = 0;
        fib::GroupId group = 0;
        bool usable = false;
        Members members;
    };
    Result<Members> resolve(const NextHopSetSpec& spec);
    [[nodiscard]] std::optional<AdjacencyKey> key_of(const NextHopSetSpec& spec,
                                                     const NextHopSpec& hop) const;
    [[nodiscard]] bool failed(const AdjacencyKey& key) const;
    void release_members(const Members& members);
    void refresh(fib::NextHopSetId id, Set& set);

    fib::FibImage& image_;
    const InterfaceTable& interfaces_;
    Adjacencies& adjacencies_;
    UsableChanged usable_changed_;
    std::map<NextHopSetSpec, fib::NextHopSetId> ids_;
    std::map<fib::NextHopSetId, Set> sets_;
    fib::NextHopSetId next_id_ = 1;
};

}  // namespace pktpit::router
