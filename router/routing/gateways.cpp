// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/gateways.h"

#include <algorithm>

namespace pktpit::router {
namespace {

using State = Resolution::State;

/// The route that a reachable neighbour has. Neighbours come and go with traffic; a gateway on the same link
/// must not change its ways with them, and zebra has no such routes either.
bool is_neighbour_route(const fib::Route& route, const NextHopSetSpec& spec) {
    return route.source == fib::RouteSource::connected && spec.kind == PP_ADJ_FORWARD &&
           !spec.next_hops.empty() && spec.next_hops.front().via;
}

std::vector<ResolvedHop> limited(std::vector<ResolvedHop> hops, uint32_t mtu) {
    for (ResolvedHop& hop : hops)
        hop.limit(mtu);
    return hops;
}

State forbidden_by(pp_adjacency_kind kind) {
    if (kind == PP_ADJ_KERNEL) return State::kernels;
    return kind == PP_ADJ_HOST || kind == PP_ADJ_BROADCAST ? State::own_address : State::discards;
}

}  // namespace

/// One walk over the routes around one gateway. It ends with a resolution, or with another gateway that has
/// to be resolved before.
class Gateways::Attempt {
  public:
    Attempt(Gateways& all, Place gateway) : all_(all), gateway_(gateway) {}

    void run() {
        bool any = false;
        all_.routes_around_(gateway_->first.vrf, gateway_->first.address, [&](const fib::Route& route) {
            const NextHopSetSpec& spec = all_.spec_of_(route.next_hops);
            if (is_neighbour_route(route, spec)) return true;
            gateway_->second.shortest = route.prefix.length;
            if (route.prefix.length == 0 && !all_.via_default_) {
                if (!any) end(State::only_default, route.prefix);
                return false;
            }
            any = true;
            return try_route(route, spec);
        });
        if (done_ || missing_) return;
        if (any)
            end(State::unusable, gateway_->second.resolution.over);
        else
            end(State::no_route, std::nullopt);
        gateway_->second.shortest = -1;
    }

    /// A gateway that is not resolved yet, or is being resolved: then it is a loop.
    [[nodiscard]] const std::optional<Place>& missing() const { return missing_; }

  private:
    void end(State state, const std::optional<Prefix>& over, std::vector<ResolvedHop> hops = {},
             unsigned depth = 0) {
        Gateway& gateway = gateway_->second;
        gateway.resolution = {state, over, std::move(hops), depth};
        gateway.progress = Gateway::Progress::known;
        done_ = true;
    }

    /// False: no need to look at another route.
    bool try_route(const fib::Route& route, const NextHopSetSpec& spec) {
        Gateway& gateway = gateway_->second;
        gateway.examined.insert(route.next_hops);
        all_.examiners_[route.next_hops].insert(gateway_->first);
        // Kept also where the search goes on, or waits: what stands in the way is worth showing.
        gateway.resolution.over = route.prefix;
        if (spec.kind != PP_ADJ_FORWARD) {
            end(forbidden_by(spec.kind), route.prefix);
            return false;
        }
        std::vector<WeightedHops> parts;
        unsigned depth = 0;
        for (const bool backups : {false, true}) {
            if (!parts.empty()) break;
            if (!take_parts(spec, backups, parts, depth)) return false;
        }
        if (parts.empty()) return true;
        if (depth > deepest_recursion)
            end(State::too_deep, route.prefix);
        else
            end(State::resolved, route.prefix, limited(combine(parts), spec.mtu), depth);
        return false;
    }

    /// False: another gateway has to be resolved before.
    bool take_parts(const NextHopSetSpec& spec, bool backups, std::vector<WeightedHops>& parts,
                    unsigned& depth) {
        for (const NextHopSpec& hop : spec.next_hops) {
            if (hop.backup != backups) continue;
            if (hop.is_gateway_alone()) {
                const Place other = all_.gateways_.find(Key::of(hop));
                if (other->second.progress != Gateway::Progress::known) {
                    missing_ = other;
                    return false;
                }
                const Resolution& resolution = other->second.resolution;
                if (resolution.state != State::resolved) continue;
                depth = std::max(depth, resolution.depth + 1);
                parts.push_back({hop.weight, resolution.hops});
            } else if (const L3Interface* on = all_.interfaces_.find(hop.interface); on && on->up) {
                if (hop.via) depth = std::max(depth, 1U);
                parts.push_back(
                    {hop.weight, {{hop.interface, hop.via ? *hop.via : gateway_->first.address, 1}}});
            }
        }
        return true;
    }

    Gateways& all_;
    Place gateway_;
    bool done_ = false;
    std::optional<Place> missing_;
};

void Gateways::add(const Key& gateway, fib::NextHopSetId user) {
    const auto [place, added] = gateways_.try_emplace(gateway);
    if (added) beginning_with(gateway.address.family, gateway.address.bytes[0])++;
    place->second.users.insert(user);
}

void Gateways::remove(const Key& gateway, fib::NextHopSetId user) {
    const Place found = gateways_.find(gateway);
    if (found == gateways_.end()) return;
    found->second.users.erase(user);
    if (!found->second.users.empty()) return;
    beginning_with(gateway.address.family, gateway.address.bytes[0])--;
    forget_examined(found);
    gateways_.erase(found);
}

// Depth first, with the path in a list of its own: a chain of gateways as long as the table must not take the
// stack. Each gateway is tried anew once what it was missing is there.
const Resolution& Gateways::resolve(const Key& gateway) {
    const Place wanted = gateways_.find(gateway);
    if (wanted->second.progress == Gateway::Progress::known) return wanted->second.resolution;
    std::vector<Place> path{wanted};
    while (!path.empty()) {
        const Place top = path.back();
        forget_examined(top);
        top->second.progress = Gateway::Progress::in_progress;
        Attempt attempt(*this, top);
        attempt.run();
        if (!attempt.missing())
            path.pop_back();
        else if ((*attempt.missing())->second.progress == Gateway::Progress::in_progress)
            close_loop(path, *attempt.missing());
        else
            path.push_back(*attempt.missing());
    }
    return wanted->second.resolution;
}

/// The last of `path` needs `reached`, which needs it: everything in between is part of the loop.
void Gateways::close_loop(std::vector<Place>& path, Place reached) {
    Place last = gateways_.end();
    do {
        last = path.back();
        path.pop_back();
        last->second.resolution = {State::loop, last->second.resolution.over, {}, 0};
        last->second.progress = Gateway::Progress::known;
    } while (last != reached);
}

const Resolution* Gateways::find(const Key& gateway) const {
    const auto found = gateways_.find(gateway);
    if (found == gateways_.end() || found->second.progress != Gateway::Progress::known) return nullptr;
    return &found->second.resolution;
}

Gateways::SetIds Gateways::route_changed(VrfId vrf, const Prefix& prefix) {
    if (prefix.length >= 8 && beginning_with(prefix.address.family, prefix.address.bytes[0]) == 0) return {};
    std::vector<Place> touched;
    const Key last{vrf, prefix.last()};
    for (Place at = gateways_.lower_bound({vrf, prefix.address});
         at != gateways_.end() && !ByFamily()(last, at->first); ++at)
        if (int{prefix.length} >= at->second.shortest) touched.push_back(at);
    if (touched.empty()) return {};
    return forget(std::move(touched), {});
}

Gateways::SetIds Gateways::sets_changed(const SetIds& sets) {
    return forget({}, sets);
}

Gateways::SetIds Gateways::set_via_default(bool allowed) {
    if (via_default_ == allowed) return {};
    via_default_ = allowed;
    std::vector<Place> all;
    for (Place at = gateways_.begin(); at != gateways_.end(); ++at)
        all.push_back(at);
    return forget(std::move(all), {});
}

/// Sets need gateways, and gateways need the sets of the routes to them: forgets all that hangs on what is
/// void, and returns the sets among it.
Gateways::SetIds Gateways::forget(std::vector<Place> void_gateways, const SetIds& void_sets) {
    std::set<fib::NextHopSetId> affected;
    const auto add_set = [&](fib::NextHopSetId id) {
        if (!affected.insert(id).second) return;
        const auto examiners = examiners_.find(id);
        if (examiners == examiners_.end()) return;
        for (const auto& gateway : examiners->second)
            void_gateways.push_back(gateways_.find(gateway));
    };
    for (const auto id : void_sets)
        add_set(id);
    std::set<const Gateway*> seen;
    while (!void_gateways.empty()) {
        const Place gateway = void_gateways.back();
        void_gateways.pop_back();
        if (!seen.insert(&gateway->second).second) continue;
        gateway->second.progress = Gateway::Progress::unknown;
        for (const auto user : gateway->second.users)
            add_set(user);
    }
    return {affected.begin(), affected.end()};
}

void Gateways::forget_examined(Place gateway) {
    for (const auto id : gateway->second.examined) {
        const auto examiners = examiners_.find(id);
        if (examiners == examiners_.end()) continue;
        examiners->second.erase(gateway->first);
        if (examiners->second.empty()) examiners_.erase(examiners);
    }
    gateway->second.examined.clear();
}

}  // namespace pktpit::router
