// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/list_routes.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/protocols.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

std::string text_of(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

/// The RIB of a VRF for as long as the VRF is there: between two pieces it may go, and another come in its
/// place.
class RibOf {
  public:
    RibOf(const Routing& routing, std::string vrf)
        : routing_(routing), name_(std::move(vrf)), id_(routing.vrf_by_name(name_)) {}
    [[nodiscard]] bool gone() const { return !id_ || routing_.vrf_by_name(name_) != id_; }
    // Not of one that has gone.
    [[nodiscard]] const fib::Rib& rib() const { return routing_.rib(*id_); }
    [[nodiscard]] fib::TableId table() const { return routing_.table_of(*id_); }

  private:
    const Routing& routing_;
    std::string name_;
    std::optional<VrfId> id_;
};

/// A place in the RIB.
class RibWalk {
  public:
    RibWalk(std::optional<Family> family, const std::optional<Prefix>& within)
        : within_(within),
          family_(within ? within->address.family : family.value_or(Family::ipv4)),
          both_(!family && !within) {
        if (!within) return;
        at_ = *within;
        with_at_ = true;
        at_end_ = family && *family != family_;
    }

    /// Before the first step: goes on behind this prefix.
    void go_behind(const Prefix& prefix) {
        if (prefix.address.family < family_) return;
        if (prefix.address.family > family_ && !both_) {
            at_end_ = true;
            return;
        }
        family_ = prefix.address.family;
        at_ = prefix;
        with_at_ = false;
    }

    /// Calls `visit` with prefixes until it says that it is enough, or the turn is over.
    void go_on(const fib::Rib& rib, Turn& turn, const std::function<bool(const Prefix&)>& visit) {
        bool stopped = false;
        while (!at_end_ && !stopped) {
            bool inside = true;
            rib.for_each_from(family_, at_, with_at_, [&](const Prefix& prefix) {
                inside = !within_ || within_->contains(prefix);
                if (!inside) return false;
                at_ = prefix;
                with_at_ = false;
                stopped = !visit(prefix);
                at_end_ = stopped;
                stopped = turn.over_after_much() || stopped;
                return !stopped;
            });
            if (stopped) return;
            if (inside && both_ && family_ == Family::ipv4) {
                family_ = Family::ipv6;
                at_.reset();
            } else {
                at_end_ = true;
            }
        }
    }
    [[nodiscard]] bool at_end() const { return at_end_; }

  private:
    std::optional<Prefix> within_;
    Family family_;
    bool both_;
    std::optional<Prefix> at_;
    bool with_at_ = false;
    bool at_end_ = false;
};

class RouteList final : public LongAnswer {
  public:
    RouteList(const Routing& routing, const RouteQuery& query, RouteForm form, const RouteCounters* counters,
              ProtocolOf protocol_of, PieceTime piece_time)
        : routing_(routing),
          query_(query),
          form_(form),
          counters_(counters),
          protocol_of_(std::move(protocol_of)),
          piece_time_(std::move(piece_time)),
          walk_(query.family, query.within),
          vrf_(routing, query.vrf),
          counts_(query.within.has_value()) {
        if (query.source)
            for (size_t i = 0; i < fib::route_source_count; i++)
                if (fib::to_string(static_cast<fib::RouteSource>(i)) == *query.source)
                    source_ = static_cast<fib::RouteSource>(i);
        // What is counted on the way is counted from the beginning.
        if (!counts_ && query_.after) walk_.go_behind(*query_.after);
    }

    Piece next() override {
        Piece piece;
        if (form_ == RouteForm::page && !begun_) piece.text = "{\"routes\": [";
        begun_ = true;
        next_hops_.clear();  // they may be others by now
        Turn turn = piece_time_();
        // Its routes have gone with it.
        const bool gone = vrf_.gone();
        if (!gone)
            walk_.go_on(vrf_.rib(), turn, [&](const Prefix& prefix) { return visit(prefix, piece.text); });
        piece.last = gone || walk_.at_end();
        if (piece.last) end(piece.text);
        return piece;
    }

  private:
    bool visit(const Prefix& prefix, std::string& text) {
        const auto candidates = vrf_.rib().candidates(prefix);
        size_t matching = 0;
        for (const auto& route : candidates)
            matching += wanted(route);
        if (matching == 0) return true;
        total_ += matching;
        if (query_.after && counts_ && place_of(prefix) <= place_of(*query_.after)) return true;
        if (listed_ == query_.limit) {
            more_ = true;
            return counts_;
        }
        listed_++;
        last_ = prefix;
        const auto best = vrf_.rib().best(prefix);
        for (const auto& route : candidates)
            if (wanted(route)) add(route, best && best->source == route.source, text);
        return true;
    }

    void add(const fib::Route& route, bool best, std::string& text) {
        if (form_ == RouteForm::page) text += routes_++ == 0 ? "\n" : ",\n";
        const NextHopSetSpec& spec = routing_.next_hop_sets().spec_of(route.next_hops);
        auto [next_hops, added] = next_hops_.try_emplace(route.next_hops);
        if (added) next_hops->second = text_of(show_next_hops(routing_, spec));
        std::optional<uint8_t> protocol;
        if (route.source == fib::RouteSource::fpm && protocol_of_) protocol = protocol_of_(route.prefix);
        text += best ? "{\"best\":true,\"counters\":" : "{\"best\":false,\"counters\":";
        text += counters_ && spec.counter ? text_of(count_of(counters_->read(spec.counter))) : "null";
        text += ",\"metric\":" + std::to_string(route.metric);
        text += ",\"mtu\":" + (spec.mtu != 0 ? std::to_string(spec.mtu) : "null");
        text.append(",\"next_hops\":").append(next_hops->second);
        text += ",\"preference\":" + std::to_string(route.preference);
        text.append(",\"prefix\":\"").append(route.prefix.to_string()).append("\",\"protocol\":");
        text += protocol ? text_of(config::protocol_name(*protocol)) : "null";
        text.append(",\"source\":\"").append(fib::to_string(route.source));
        text.append("\",\"type\":\"").append(type_name(spec.kind)).append("\"}");
        if (form_ == RouteForm::lines) text += '\n';
    }

    void end(std::string& text) {
        const json next = more_ && last_ ? json(last_->to_string()) : json();
        const size_t total = counts_ ? total_ : size();
        if (form_ == RouteForm::lines)
            text += text_of({{"end", {{"next", next}, {"total", total}}}}) + "\n";
        else
            text += "\n], \"total\": " + std::to_string(total) + ", \"next\": " + text_of(next) + "}";
    }

    /// Of all that match, without a walk.
    [[nodiscard]] size_t size() const {
        size_t size = 0;
        if (vrf_.gone()) return size;
        for (const Family family : {Family::ipv4, Family::ipv6})
            for (size_t i = 0; i < fib::route_source_count; i++)
                if (const auto source = static_cast<fib::RouteSource>(i);
                    (!query_.family || *query_.family == family) && (!source_ || *source_ == source))
                    size += vrf_.rib().size(family, source);
        return size;
    }
    [[nodiscard]] bool wanted(const fib::Route& route) const { return !source_ || *source_ == route.source; }
    static std::pair<Family, Prefix> place_of(const Prefix& prefix) {
        return {prefix.address.family, prefix};
    }

    const Routing& routing_;
    RouteQuery query_;
    RouteForm form_;
    const RouteCounters* counters_;
    ProtocolOf protocol_of_;
    PieceTime piece_time_;
    RibWalk walk_;
    RibOf vrf_;
    bool counts_;  ///< the walk counts what matches: else that is known
    std::optional<fib::RouteSource> source_;
    bool begun_ = false;
    std::unordered_map<fib::NextHopSetId, std::string> next_hops_;  ///< of one piece
    size_t routes_ = 0;
    size_t listed_ = 0;  ///< prefixes
    size_t total_ = 0;
    std::optional<Prefix> last_;
    bool more_ = false;
};

class RouteSummary final : public LongAnswer {
  public:
    RouteSummary(const Routing& routing, const std::string& vrf, PieceTime piece_time)
        : routing_(routing), vrf_(routing, vrf), piece_time_(std::move(piece_time)) {}

    Piece next() override {
        Turn turn = piece_time_();
        const bool gone = vrf_.gone();
        if (!gone)
            walk_.go_on(vrf_.rib(), turn, [this](const Prefix& prefix) {
                count(prefix);
                return true;
            });
        if (!gone && !walk_.at_end()) return {};
        return {text_of({{"ipv4", show(families_[0])}, {"ipv6", show(families_[1])}}), true};
    }

  private:
    struct Of {
        size_t routes = 0;
        size_t best = 0;
    };
    struct OfFamily {
        size_t prefixes = 0;
        size_t installed = 0;
        size_t unusable = 0;
        size_t refused = 0;
        std::array<Of, fib::route_source_count> sources{};
        std::map<unsigned, size_t> lengths;
    };

    void count(const Prefix& prefix) {
        OfFamily& family = families_[prefix.address.family == Family::ipv6];
        family.prefixes++;
        family.lengths[prefix.length]++;
        for (const auto& route : vrf_.rib().candidates(prefix))
            family.sources[static_cast<size_t>(route.source)].routes++;
        const auto best = vrf_.rib().best(prefix);
        if (best) family.sources[static_cast<size_t>(best->source)].best++;
        (!best                                         ? family.unusable
         : routing_.image().find(prefix, vrf_.table()) ? family.installed
                                                       : family.refused)++;
    }

    static json show(const OfFamily& family) {
        json sources = json::object();
        for (size_t i = 0; i < fib::route_source_count; i++)
            sources[std::string(fib::to_string(static_cast<fib::RouteSource>(i)))] = {
                {"routes", family.sources[i].routes}, {"best", family.sources[i].best}};
        json lengths = json::array();
        for (const auto& [length, prefixes] : family.lengths)
            lengths.push_back({{"length", length}, {"prefixes", prefixes}});
        return {{"prefixes", family.prefixes},   {"installed", family.installed},
                {"unusable", family.unusable},   {"refused", family.refused},
                {"sources", std::move(sources)}, {"lengths", std::move(lengths)}};
    }

    const Routing& routing_;
    RibOf vrf_;
    PieceTime piece_time_;
    RibWalk walk_{std::nullopt, std::nullopt};
    std::array<OfFamily, 2> families_;
};

class NextHopGroups final : public LongAnswer {
  public:
    NextHopGroups(const Routing& routing, PieceTime piece_time)
        : routing_(routing), piece_time_(std::move(piece_time)), left_(routing.vrfs()) {}

    Piece next() override {
        Turn turn = piece_time_();
        count_users(turn);
        Piece piece;
        if (!std::exchange(begun_, true)) piece.text = "{\"groups\": [";
        if (!left_.empty()) return piece;
        bool more = false;
        routing_.next_hop_sets().for_each_behind(at_, [&](fib::NextHopSetId id) {
            piece.text += (at_ == 0 ? "\n" : ",\n") + text_of(show(id));
            at_ = id;
            more = turn.over_after_much();
            return !more;
        });
        piece.last = !more;
        if (piece.last) piece.text += "\n]}";
        return piece;
    }

  private:
    /// VRF by VRF; those that have gone meanwhile have no routes.
    void count_users(Turn& turn) {
        const auto there = routing_.vrfs();
        while (!left_.empty()) {
            if (std::ranges::find(there, left_.back()) != there.end()) {
                const fib::Rib& rib = routing_.rib(left_.back());
                walk_.go_on(rib, turn, [&](const Prefix& prefix) {
                    for (const auto& route : rib.candidates(prefix))
                        users_[route.next_hops].routes++;
                    if (const auto best = rib.best(prefix)) users_[best->next_hops].prefixes++;
                    return true;
                });
                if (!walk_.at_end()) return;
            }
            left_.pop_back();
            walk_ = RibWalk(std::nullopt, std::nullopt);
        }
    }

    struct Users {
        size_t routes = 0;
        size_t prefixes = 0;
    };

    /// Where packets go now: what the port stages read.
    using Leaving = std::map<std::pair<InterfaceId, std::optional<IpAddress>>, uint32_t>;
    [[nodiscard]] Leaving leaving_by(fib::GroupId group) const {
        Leaving leaving;
        for (const auto& [adjacency, buckets] : members_of(routing_.image(), group))
            if (const auto key = routing_.adjacencies().key_of(adjacency))
                leaving[{key->interface, key->gateway}] += buckets;
        return leaving;
    }

    [[nodiscard]] bool forwards(const NextHopSpec& hop, const Leaving& leaving) const {
        if (!hop.is_gateway_alone()) return leaving.contains({hop.interface, hop.via});
        const Resolution* resolution = routing_.next_hop_sets().resolution_of(*hop.via, hop.vrf);
        return resolution && std::ranges::any_of(resolution->hops, [&](const ResolvedHop& resolved) {
                   return leaving.contains({resolved.interface, resolved.via});
               });
    }

    [[nodiscard]] json show(fib::NextHopSetId id) const {
        const NextHopSets& sets = routing_.next_hop_sets();
        const NextHopSetSpec& spec = sets.spec_of(id);
        const Leaving leaving = leaving_by(sets.group_of(id));
        json members = show_next_hops(routing_, spec);
        for (size_t i = 0; i < members.size(); i++) {
            members[i]["forwards"] = sets.usable(id) && forwards(spec.next_hops[i], leaving);
            members[i]["backup"] = spec.next_hops[i].backup;
        }
        json now = json::array();
        uint32_t all = 0;
        for (const auto& [key, buckets] : leaving)
            all += buckets;
        for (const auto& [key, buckets] : leaving) {
            const L3Interface* interface = routing_.interfaces().find(key.first);
            now.push_back({{"via", key.second ? json(key.second->to_string()) : json()},
                           {"interface", interface ? json(interface->name) : json()},
                           {"share", static_cast<double>(buckets) / all}});
        }
        const auto users = users_.find(id);
        return {{"id", id},
                {"group", sets.group_of(id)},
                {"type", type_name(spec.kind)},
                {"usable", sets.usable(id)},
                {"mtu", spec.mtu != 0 ? json(spec.mtu) : json()},
                {"resilient", spec.resilient != 0},
                {"second_best", sets.seconds_of(id)},
                {"prefixes", users == users_.end() ? 0 : users->second.prefixes},
                {"routes", users == users_.end() ? 0 : users->second.routes},
                {"next_hops", std::move(members)},
                {"now", spec.kind == PP_ADJ_FORWARD ? std::move(now) : json::array()}};
    }

    const Routing& routing_;
    PieceTime piece_time_;
    std::vector<VrfId> left_;  ///< to be counted, the one that is walked last
    RibWalk walk_{std::nullopt, std::nullopt};
    std::unordered_map<fib::NextHopSetId, Users> users_;
    bool begun_ = false;
    fib::NextHopSetId at_ = 0;
};

}  // namespace

Turn piece_time() {
    return Turn::lasting(std::chrono::milliseconds(3));
}

std::unique_ptr<LongAnswer> list_routes(const Routing& routing, const RouteQuery& query, RouteForm form,
                                        const RouteCounters* counters, const ProtocolOf& protocol_of,
                                        const PieceTime& piece_time) {
    return std::make_unique<RouteList>(routing, query, form, counters, protocol_of, piece_time);
}

std::unique_ptr<LongAnswer> summarise_routes(const Routing& routing, const std::string& vrf,
                                             const PieceTime& piece_time) {
    return std::make_unique<RouteSummary>(routing, vrf, piece_time);
}

std::unique_ptr<LongAnswer> list_next_hop_groups(const Routing& routing, const PieceTime& piece_time) {
    return std::make_unique<NextHopGroups>(routing, piece_time);
}

}  // namespace pktpit::router
