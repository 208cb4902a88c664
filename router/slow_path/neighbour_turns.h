// SPDX-License-Identifier: BSD-3-Clause
/// Whose turn it is to be asked for.
///
/// One thread; it knows neighbours, not packets. Every neighbour that is being asked for holds a slot, since
/// it is an entry of the kernel's table, which a scan of a connected net must not fill (RFC 6583 sections 6
/// and 7.1). Slots are counted for each interface and family, and for each family in all: the kernel has a
/// table for each family.
///
/// The others wait in the order in which they came, those that have answered before in front. They wait in
/// groups: each family and pair of ingress and egress interface is one. A free slot goes to the group that
/// holds fewest, so that one that asks for many takes nothing from others. While others wait, a slot comes
/// back after `slot_time`.
#pragma once

#include <array>
#include <chrono>
#include <list>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "router/slow_path/answered_before.h"
#include "router/slow_path/neighbour_key.h"
#include "router/slow_path/rate_limiter.h"

namespace pktpit::router {

class NeighbourTurns {
  public:
    /// How long a slot is held at least. The kernel asks the wire once a second.
    static constexpr Clock::duration slot_time = std::chrono::seconds(1);
    /// Slots of a family in all, unless one interface may have more. With 512 entries (gc_thresh2), the
    /// kernel begins to throw out neighbours that are known.
    static constexpr size_t slots_of_family = 256;
    /// Requests a second in all: each is a system call, and a scan of a connected net asks for every address.
    static constexpr uint32_t request_rate = 2000;
    static constexpr uint32_t request_burst = 200;

    /// `slots`: of an interface, for each family.
    explicit NeighbourTurns(uint32_t slots) : slots_(slots) {}
    void set_slots(uint32_t slots) { slots_ = slots; }

    /// Takes a slot if there is one and nobody waits for it; else the neighbour gets a place among those that
    /// wait for their turn.
    bool ask_or_wait(const NeighbourKey& key, uint16_t ingress, Clock::time_point now);
    /// Takes a slot if there is one and nobody waits for it.
    bool ask(const NeighbourKey& key, uint16_t ingress, Clock::time_point now);
    /// May a neighbour that holds a slot be asked for once more?
    bool ask_again(Clock::time_point now);
    void wait(const NeighbourKey& key, uint16_t ingress, Clock::time_point now);
    /// No turn any more, and no slot.
    void leave(const NeighbourKey& key);

    /// The neighbours whose turn has come. They hold slots now.
    std::vector<NeighbourKey> next(Clock::time_point now);
    struct GivenUp {
        NeighbourKey key;
        uint16_t ingress = 0;  ///< of the group that held the slot
    };
    struct Round {
        std::vector<NeighbourKey> ask;
        std::vector<GivenUp> given_up;  ///< they hold no slot any more, and do not wait
    };
    /// The same, after slots have come back that others wait for.
    Round round(Clock::time_point now);

    /// The neighbour answers, or does not. It gives back its slot, if it holds one.
    void answered(const NeighbourKey& key);
    void failed(const NeighbourKey& key);

    [[nodiscard]] bool has_slot(const NeighbourKey& key) const;
    [[nodiscard]] bool waits(const NeighbourKey& key) const;
    /// Neighbours of an interface that hold a slot.
    [[nodiscard]] size_t slots(uint16_t interface, Family family) const;
    [[nodiscard]] size_t waiting() const { return of_family_[0].waiting + of_family_[1].waiting; }

  private:
    struct Waiter {
        NeighbourKey key;
        Clock::time_point since;
    };
    using Line = std::list<Waiter>;
    struct Group {
        Line answered_before;
        Line others;
        size_t slots = 0;
        [[nodiscard]] size_t waiting() const { return answered_before.size() + others.size(); }
    };
    using Groups = std::map<NeighbourGroup, Group>;
    struct Slot {
        NeighbourKey key;
        NeighbourGroup group;
        Clock::time_point since;
    };
    using Slots = std::list<Slot>;  // the oldest first
    struct Place {
        NeighbourGroup group;
        Line* line = nullptr;
        Line::iterator waiter;
    };
    struct Entry {
        std::vector<Place> places;  ///< one in each group whose packets wait for it
        std::optional<Slots::iterator> slot;
    };
    using Entries = std::unordered_map<NeighbourKey, Entry, NeighbourKeyHash>;
    struct Count {
        size_t slots = 0;
        size_t waiting = 0;
    };
    using Interface = std::pair<Family, uint16_t>;

    static Interface interface_of(const NeighbourGroup& group) { return {group.family, group.egress}; }
    [[nodiscard]] const Count& of_family(Family family) const {
        return of_family_[family == Family::ipv6 ? 1 : 0];
    }
    Count& of_family(Family family) { return of_family_[family == Family::ipv6 ? 1 : 0]; }
    [[nodiscard]] Count of_interface(const Interface& interface) const;
    [[nodiscard]] bool is_interface_full(const NeighbourGroup& group) const;
    [[nodiscard]] bool is_family_full(Family family) const;
    [[nodiscard]] bool is_wanted_by_others(const NeighbourGroup& holder) const;
    void count_waiting(const NeighbourGroup& group, size_t more, size_t less);
    void count_slots(const NeighbourGroup& group, size_t more, size_t less);
    void take_slot(const NeighbourKey& key, const NeighbourGroup& group, Clock::time_point now);
    void free_slot(Entry& entry);
    void leave_lines(Entry& entry);
    void forget_if_idle(Entries::iterator entry);
    Groups::iterator first_in_turn();
    void hand_out(std::vector<NeighbourKey>& to, Clock::time_point now);

    uint32_t slots_;
    AnsweredBefore answered_before_;
    Entries entries_;
    Groups groups_;  // those that wait or hold slots
    Slots taken_;
    std::map<Interface, Count> interfaces_;  // those with something to count
    std::array<Count, 2> of_family_{};
    TokenBucket requests_;
    const TokenBucket::Rate request_limit_ = TokenBucket::rate(request_rate, request_burst);
};

}  // namespace pktpit::router
