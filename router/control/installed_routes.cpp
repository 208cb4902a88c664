// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/installed_routes.h"

#include <linux/rtnetlink.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "config/protocols.h"
#include "router/control/transaction.h"

namespace pktpit::router {
namespace {

// Of this thread, to find what is to be changed.
constexpr std::chrono::milliseconds step{5};
constexpr uint32_t heaviest = 256;  // rtnh_hops is a byte

std::optional<uint8_t> type_of(pp_adjacency_kind kind) {
    switch (kind) {
        case PP_ADJ_FORWARD:
            return RTN_UNICAST;
        case PP_ADJ_BLACKHOLE:
            return RTN_BLACKHOLE;
        case PP_ADJ_UNREACHABLE:
            return RTN_UNREACHABLE;
        case PP_ADJ_PROHIBIT:
            return RTN_PROHIBIT;
        default:
            return std::nullopt;
    }
}

void fit_weights(std::vector<HostNextHop>& hops) {
    uint32_t largest = 1;
    for (const auto& hop : hops)
        largest = std::max<uint32_t>(largest, hop.weight);
    if (hops.size() == 1) hops[0].weight = 1;
    if (hops.size() == 1 || largest <= heaviest) return;
    for (auto& hop : hops)
        hop.weight = static_cast<uint16_t>(std::max<uint32_t>(1, hop.weight * heaviest / largest));
}

}  // namespace

InstalledRoutes::~InstalledRoutes() {
    if (!writer_ || !active_) return;
    watcher_.unwatch(writer_->descriptor());
    end_batch();
    if (!take_down_) return;
    for (const auto& [place, installed] : installed_) {
        (void)writer_->remove(installed.route.table, place.prefix);
        if (installed.route.former) (void)writer_->remove_former(installed.route.table, place.prefix);
    }
    for (const VrfPrefix& place : doubtful_)
        if (const auto table = table_of(place.vrf)) (void)writer_->remove(*table, place.prefix);
}

Result<void> InstalledRoutes::configured(const config::Config& config) {
    if (!writer_) return {};
    if (!std::exchange(active_, true)) listen();
    wanted_at_all_ = config.kernel_routes.install;
    configured_.clear();
    if (wanted_at_all_)
        for (const auto& route : config.routes)
            configured_.insert(place_of(route));
    lost_.clear();
    refused_.clear();
    end_batch();
    doubtful_.clear();
    tables_ = {{"", config.kernel_routes.table}};
    for (const auto& [name, vrf] : config.vrfs)
        tables_.emplace(name, vrf.table);
    vrfs_.clear();
    for (const auto& [name, table] : tables_)
        vrfs_.emplace(table, name);
    auto adopted = adopt();
    begin_anew();
    // The first of them are there when the reload is over.
    RouteBatch first(*writer_);
    plan_step(first);
    const auto begun = carry_out_now(first);
    return adopted ? begun : adopted;
}

// Also what somebody has removed since, and what has changed unheard.
Result<void> InstalledRoutes::adopt() {
    auto found = writer_->installed();
    if (!found) return tl::unexpected(found.error());
    const auto before = std::exchange(installed_, {});
    BestEffort effort;
    for (auto& route : *found) {
        const auto vrf = vrfs_.find(route.table);
        if (vrf == vrfs_.end()) {
            effort.attempt("route " + route.prefix.to_string(), [&] {
                return route.former ? writer_->remove_former(route.table, route.prefix)
                                    : writer_->remove(route.table, route.prefix);
            });
            continue;
        }
        const VrfPrefix place{vrf->second, route.prefix};
        // It may stand at both metrics.
        if (const auto other = installed_.find(place); other != installed_.end())
            route.former |= other->second.route.former;
        const auto known = before.find(place);
        const bool was_behind = known != before.end() && known->second.behind;
        std::optional<uint8_t> behind;
        if (was_behind)
            effort.attempt("route " + route.prefix.to_string(),
                           [&] { behind = writer_->goes_before(route.table, route.prefix); });
        installed_.insert_or_assign(place, Installed{std::move(route), behind});
    }
    return effort.result();
}

void InstalledRoutes::listen() {
    watcher_.watch(writer_->descriptor(), [this] {
        writer_->poll([this](uint32_t table, const Prefix& prefix, bool by_kernel) {
            if (const auto vrf = vrfs_.find(table); vrf != vrfs_.end())
                note_lost({vrf->second, prefix}, by_kernel);
        });
    });
}

void InstalledRoutes::note_lost(const VrfPrefix& place, bool by_kernel) {
    const bool under_way = batch_ && batch_->concerns(place);
    if (installed_.erase(place) == 0 && !under_way) return;
    // Whoever did it may have meant it: it is said, and put right by a reload.
    if (!by_kernel && wanted(place)) lost_.insert(place);
    // Before it was changed, or after?
    if (by_kernel && under_way) lost_meanwhile_.insert(place);
    if (by_kernel) refresh();
}

void InstalledRoutes::changed(std::span<const config::StaticRoute> routes) {
    if (!writer_ || !active_) return;
    constexpr size_t at_once = 16;
    std::set<VrfPrefix> places;
    for (const auto& route : routes) {
        const VrfPrefix place = place_of(route);
        lost_.erase(place);
        refused_.erase(place);
        if (places.size() <= at_once) places.insert(place);
    }
    if (places.size() > at_once || batch_) return refresh();
    RouteBatch few(*writer_);
    for (const VrfPrefix& place : places)
        plan(few, place);
    if (const auto done = carry_out_now(few); !done) spdlog::warn("{}", done.error().to_string());
}

// What a call throws keeps nobody from knowing what was done before.
Result<void> InstalledRoutes::carry_out_now(RouteBatch& batch) {
    BestEffort effort;
    effort.attempt("routes", [&] { batch.carry_out(); });
    take_in(batch.changes());
    return effort.result();
}

void InstalledRoutes::device_changed(uint32_t ifindex) {
    if (!writer_ || !active_) return;
    (swept_ ? shaken_later_ : shaken_).insert(ifindex);
    refresh();
}

// A round that has begun goes on to its end: begun anew at each refresh, a large table would never come to
// its last routes.
void InstalledRoutes::refresh() {
    sweeping_ = active_;
    another_round_ = swept_.has_value();
}

void InstalledRoutes::begin_anew() {
    swept_.reset();
    shaken_.merge(std::exchange(shaken_later_, {}));
    refresh();
}

void InstalledRoutes::end_round() {
    swept_.reset();
    shaken_ = std::exchange(shaken_later_, {});
    sweeping_ = std::exchange(another_round_, false);
}

void InstalledRoutes::tick() {
    if (sweeping_) sweep();
}

std::optional<uint32_t> InstalledRoutes::table_of(const std::string& vrf) const {
    const auto found = tables_.find(vrf);
    return found == tables_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<fib::Route> InstalledRoutes::chosen(const VrfPrefix& place) const {
    const auto vrf = routing_.vrf_by_name(place.vrf);
    if (!vrf) return std::nullopt;
    const auto config = configured_.contains(place)
                            ? routing_.route(place.prefix, fib::RouteSource::config, *vrf)
                            : std::nullopt;
    const auto cli =
        wanted_at_all_ ? routing_.route(place.prefix, fib::RouteSource::cli, *vrf) : std::nullopt;
    if (!config || !cli) return config ? config : cli;
    const auto rank = [](const fib::Route& route) { return std::pair{route.preference, route.metric}; };
    return rank(*config) < rank(*cli) ? config : cli;
}

// What of it the kernel can be given now; nothing while no next hop can be used.
std::optional<HostRoute> InstalledRoutes::wanted(const VrfPrefix& place) const {
    const auto route = chosen(place);
    const auto table = table_of(place.vrf);
    if (!route || !table) return std::nullopt;
    const auto type = type_of(routing_.next_hop_sets().spec_of(route->next_hops).kind);
    if (!type) return std::nullopt;
    HostRoute wanted{place.prefix, *table, *type, {}};
    if (*type != RTN_UNICAST) return wanted;
    for (const auto& hop : routing_.next_hop_sets().hops_of(route->next_hops)) {
        const L3Interface* on = routing_.interfaces().find(hop.interface);
        if (on && on->up && on->ifindex != 0) wanted.next_hops.push_back({on->ifindex, hop.via, hop.weight});
    }
    if (wanted.next_hops.empty()) return std::nullopt;
    wanted.mtu = routing_.next_hop_sets().spec_of(route->next_hops).mtu;
    fit_weights(wanted.next_hops);
    std::ranges::sort(wanted.next_hops);
    return wanted;
}

std::optional<VrfPrefix> InstalledRoutes::next_after(const std::optional<VrfPrefix>& place) const {
    const VrfPrefix* next = nullptr;
    const auto consider = [&](const auto& container, const auto& key_of) {
        const auto at = place ? container.upper_bound(*place) : container.begin();
        if (at != container.end() && (!next || key_of(*at) < *next)) next = &key_of(*at);
    };
    const auto itself = [](const VrfPrefix& key) -> const VrfPrefix& { return key; };
    const auto key = [](const auto& entry) -> const VrfPrefix& { return entry.first; };
    consider(configured_, itself);
    consider(doubtful_, itself);
    consider(installed_, key);
    if (wanted_at_all_) consider(by_hand_.all(), key);
    return next ? std::optional(*next) : std::nullopt;
}

void InstalledRoutes::sweep() {
    if (!writer_ || batch_) return;
    auto batch = std::make_shared<RouteBatch>(*writer_);
    plan_step(*batch);
    if (batch->empty()) return;
    batch_ = std::move(batch);
    send_off();
}

// The table that goes may be larger than one batch: the next one follows when all that is due has had its
// turn.
void InstalledRoutes::send_off() {
    watcher_.aside([batch = batch_] { batch->carry_out(); },
                   [batch = batch_, self = std::weak_ptr(self_)] {
                       const auto here = self.lock();
                       if (!here || (*here)->batch_ != batch) return;
                       InstalledRoutes& routes = **here;
                       routes.end_batch();
                       if (!routes.sweeping_) return;
                       routes.watcher_.after_others([self] {
                           const auto still_here = self.lock();
                           if (still_here && (*still_here)->sweeping_) (*still_here)->sweep();
                       });
                   });
}

void InstalledRoutes::end_batch() {
    if (!batch_) return;
    batch_->end();
    const auto batch = std::exchange(batch_, nullptr);
    take_in(batch->changes());
    lost_meanwhile_.clear();
}

void InstalledRoutes::plan_step(RouteBatch& batch) {
    if (!sweeping_) return;
    const auto deadline = now_() + step;
    constexpr unsigned between_looks_at_the_clock = 16;
    for (unsigned count = 1; !batch.full(); count++) {
        const auto next = next_after(swept_);
        if (!next) return end_round();
        swept_ = *next;
        plan(batch, *next);
        if (count % between_looks_at_the_clock == 0 && now_() >= deadline) return;
    }
}

void InstalledRoutes::plan(RouteBatch& batch, const VrfPrefix& place) {
    const bool again = forced(place);
    doubtful_.erase(place);
    const auto table = table_of(place.vrf);
    if (!table || lost_.contains(place)) return;
    auto now = wanted(place);
    const auto known = installed_.find(place);
    if (!again && known == installed_.end() && !now) return;
    if (!again && known != installed_.end() && now == known->second.route) return;
    batch.put({.place = place,
               .table = *table,
               .remove = again || known != installed_.end(),
               .former = known != installed_.end() && known->second.route.former,
               .add = std::move(now),
               .forced = again});
}

bool InstalledRoutes::forced(const VrfPrefix& place) const {
    if (doubtful_.contains(place)) return true;
    const auto known = installed_.find(place);
    return known != installed_.end() && !shaken_.empty() &&
           std::ranges::any_of(known->second.route.next_hops,
                               [&](const auto& hop) { return shaken_.contains(hop.ifindex); });
}

// What has not been done is found again by the next sweep.
void InstalledRoutes::take_in(std::span<RouteBatch::Change> changes) {
    for (auto& change : changes) {
        if (change.done) note(change);
        const bool in_doubt =
            change.done ? lost_meanwhile_.contains(change.place) : change.forced || change.begun;
        if (in_doubt) doubtful_.insert(change.place);
        if (in_doubt || !change.done) refresh();
        if (lost_.contains(change.place)) installed_.erase(change.place);
    }
}

void InstalledRoutes::note(RouteBatch::Change& change) {
    const VrfPrefix& place = change.place;
    const bool former_is_left = change.former && !change.removed;
    if (change.remove) {
        if (!former_is_left) installed_.erase(place);
        if (!change.removed) {
            tell(place, change.removed.error().to_string());
            doubtful_.insert(place);  // until the next sweep tries again
        }
    }
    if (!change.add) return;
    if (!change.added) {
        if (refused_.insert_or_assign(place, change.added.error().message).second)
            tell(place, "not installed in the kernel: " + change.added.error().to_string());
        return;
    }
    refused_.erase(place);
    if (change.behind)
        tell(place, "the kernel has another route for it, of protocol " +
                        config::protocol_name(*change.behind) + ", which the router's own traffic takes");
    change.add->former = former_is_left;
    installed_.insert_or_assign(place, Installed{*std::move(change.add), change.behind});
}

// One line in a thousand tells enough of a whole table.
void InstalledRoutes::tell(const VrfPrefix& place, const std::string& what) {
    constexpr uint64_t always = 20;
    constexpr uint64_t then_every = 1000;
    if (++told_ <= always || told_ % then_every == 0)
        spdlog::warn("route {}: {} ({} so far)", place.to_string(), what, told_);
}

void InstalledRoutes::find_drift(std::vector<DriftItem>& found) const {
    for (const auto& place : lost_)
        found.push_back({"kernel route", place.to_string(), "installed", "removed by somebody else"});
    for (const auto& [place, why] : refused_)
        found.push_back({"kernel route", place.to_string(), "installed", why, false});
    for (const auto& [place, installed] : installed_)
        if (installed.behind)
            found.push_back(
                {"kernel route", place.to_string(), "used by the router's own traffic",
                 "a route of protocol " + config::protocol_name(*installed.behind) + " goes before", false});
}

}  // namespace pktpit::router
