// SPDX-License-Identifier: BSD-3-Clause
/// Routes and rules of the kernel that Pktpit does not follow, each with the reason, for people: `pktpit show
/// routes --ignored`. Fed by KernelRoutes; one thread. How many are kept, and counted, is bounded: more()
/// says that there are others.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "router/kernel/kernel.h"

namespace pktpit::router {

class IgnoredRoutes {
  public:
    enum class Kind : uint8_t { tos, from, thrown, encapsulated, device, other, rule };
    static constexpr size_t kinds = 7;
    static constexpr size_t most = 10'000;

    /// Of a rule: `prefix` is the default route of its family, and `metric` its priority.
    struct Route {
        Prefix prefix;
        uint32_t table = 0;
        uint32_t metric = 0;
        uint8_t tos = 0;
        std::optional<Prefix> from{};
        bool rule = false;
        auto operator<=>(const Route&) const = default;
    };

    /// True: it is the first of its kind.
    bool add(const Route& route, Kind kind, uint8_t protocol) {
        auto& [count, seen] = counts_[static_cast<size_t>(kind)];
        const auto known = routes_.find(route);
        if (known != routes_.end()) {
            counts_[static_cast<size_t>(known->second.kind)].first--;
            known->second = {kind, protocol, generation_};
        } else if (routes_.size() < most) {
            routes_.emplace(route, Entry{kind, protocol, generation_});
        } else {
            more_ = true;
            return false;
        }
        count++;
        return !std::exchange(seen, true);
    }
    void remove(const Route& route) {
        const auto known = routes_.find(route);
        if (known == routes_.end()) return;
        counts_[static_cast<size_t>(known->second.kind)].first--;
        routes_.erase(known);
    }
    /// What no dump has mentioned since the last call is gone: of those that select by more than a prefix,
    /// which nobody else keeps.
    void resynced() {
        for (auto at = routes_.begin(); at != routes_.end();) {
            const auto next = std::next(at);
            const bool selects = at->second.kind == Kind::tos || at->second.kind == Kind::from;
            if (selects && at->second.generation != generation_) remove(Route(at->first));
            at = next;
        }
        generation_++;
    }
    struct Entry {
        Kind kind = Kind::other;
        uint8_t protocol = 0;
        uint32_t generation = 0;
    };
    [[nodiscard]] const std::map<Route, Entry>& all() const { return routes_; }
    [[nodiscard]] size_t count(Kind kind) const { return counts_[static_cast<size_t>(kind)].first; }
    [[nodiscard]] bool more() const { return more_; }  ///< than are kept

  private:
    std::map<Route, Entry> routes_;
    std::array<std::pair<size_t, bool>, kinds> counts_{};  ///< how many, and has there been one?
    uint32_t generation_ = 1;
    bool more_ = false;
};

const char* to_string(IgnoredRoutes::Kind kind);
/// Packets of its routes are handed to the kernel; those of the others are routed as if there were none.
bool is_kernels(IgnoredRoutes::Kind kind);
/// In words, of one route.
std::string reason_of(const IgnoredRoutes::Route& route, IgnoredRoutes::Kind kind);

}  // namespace pktpit::router
