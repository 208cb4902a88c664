// SPDX-License-Identifier: BSD-3-Clause
/// Routes and rules of the kernel that Pktpit does not follow, each with the reason, for people: `pktpit show
/// routes --ignored`. Fed by KernelRoutes; one thread. How many are kept, and counted, is bounded: more()
/// says that there are others.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "router/kernel/kernel.h"

namespace pktpit::router {

class IgnoredRoutes {
  public:
    enum class Kind : uint8_t { tos, from, thrown, encapsulated, device, other, rule, table };
    static constexpr size_t kinds = 8;
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
            known->second = {kind, protocol, generation_of(kind)};
        } else if (routes_.size() < most) {
            routes_.emplace(route, Entry{kind, protocol, generation_of(kind)});
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
        remove_where([this](const Route&, const Entry& entry) {
            const bool selects = entry.kind == Kind::tos || entry.kind == Kind::from;
            return selects && entry.generation != generation_;
        });
        generation_++;
    }
    /// Of the tables that rules lead to: those of others are gone, and, `read`, what has not been mentioned
    /// since the last call that said so.
    void ruled_tables(std::span<const uint32_t> tables, bool read) {
        remove_where([&](const Route& route, const Entry& entry) {
            return entry.kind == Kind::table && ((read && entry.generation != ruled_generation_) ||
                                                 std::ranges::find(tables, route.table) == tables.end());
        });
        ruled_generation_ += read;
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
    [[nodiscard]] uint32_t generation_of(Kind kind) const {
        return kind == Kind::table ? ruled_generation_ : generation_;
    }
    template <class Unwanted>
    void remove_where(Unwanted unwanted) {
        for (auto at = routes_.begin(); at != routes_.end();) {
            const auto next = std::next(at);
            if (unwanted(at->first, at->second)) remove(Route(at->first));
            at = next;
        }
    }

    std::map<Route, Entry> routes_;
    std::array<std::pair<size_t, bool>, kinds> counts_{};  ///< how many, and has there been one?
    uint32_t generation_ = 1;
    uint32_t ruled_generation_ = 1;
    bool more_ = false;
};

const char* to_string(IgnoredRoutes::Kind kind);
/// Packets of its routes are handed to the kernel; those of the others are routed as if there were none.
bool is_kernels(IgnoredRoutes::Kind kind);
/// In words, of one route.
std::string reason_of(const IgnoredRoutes::Route& route, IgnoredRoutes::Kind kind);

}  // namespace pktpit::router
