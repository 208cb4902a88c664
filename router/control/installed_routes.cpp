// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/installed_routes.h"

#include <linux/rtnetlink.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "config/protocols.h"

namespace pktpit::router {
namespace {

using std::chrono::steady_clock;

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
    for (const auto& [prefix, installed] : installed_)
        (void)writer_->remove(installed.route.table, prefix);
    for (const Prefix& prefix : doubtful_)
        (void)writer_->remove(table_, prefix);
}

Result<void> InstalledRoutes::configured(const config::Config& config) {
    if (!writer_) return {};
    if (!std::exchange(active_, true)) listen();
    table_ = config.kernel_routes.table;
    wanted_at_all_ = config.kernel_routes.install;
    configured_.clear();
    if (wanted_at_all_)
        for (const auto& route : config.routes)
            if (route.vrf.empty()) configured_.insert(configured_.end(), route.prefix);
    lost_.clear();
    refused_.clear();
    end_batch();
    auto adopted = adopt();
    refresh();
    // The first of them are there when the reload is over.
    RouteBatch first(*writer_, table_);
    plan(first, steady_clock::now() + step);
    first.carry_out();
    take_in(first.changes());
    return adopted;
}

// Also what somebody has removed since, and what has changed unheard.
Result<void> InstalledRoutes::adopt() {
    auto found = writer_->installed();
    if (!found) return tl::unexpected(found.error());
    const auto before = std::exchange(installed_, {});
    for (auto& route : *found) {
        if (route.table != table_) {
            (void)writer_->remove(route.table, route.prefix);
            continue;
        }
        const auto known = before.find(route.prefix);
        const bool was_behind = known != before.end() && known->second.behind;
        const auto behind = was_behind ? writer_->goes_before(table_, route.prefix) : std::nullopt;
        const Prefix prefix = route.prefix;
        installed_.insert_or_assign(prefix, Installed{std::move(route), behind});
    }
    return {};
}

void InstalledRoutes::listen() {
    watcher_.watch(writer_->descriptor(), [this] {
        writer_->poll([this](uint32_t table, const Prefix& prefix, bool by_kernel) {
            if (table == table_) note_lost(prefix, by_kernel);
        });
    });
}

void InstalledRoutes::note_lost(const Prefix& prefix, bool by_kernel) {
    const bool under_way = batch_ && batch_->concerns(prefix);
    if (installed_.erase(prefix) == 0 && !under_way) return;
    // Whoever did it may have meant it: it is said, and put right by a reload.
    if (!by_kernel && wanted(prefix)) lost_.insert(prefix);
    // Before it was changed, or after?
    if (by_kernel && under_way) lost_meanwhile_.insert(prefix);
    if (by_kernel) refresh();
}

void InstalledRoutes::changed(std::span<const config::StaticRoute> routes) {
    if (!writer_ || !active_) return;
    constexpr size_t at_once = 16;
    std::set<Prefix> prefixes;
    for (const auto& route : routes) {
        lost_.erase(route.prefix);
        refused_.erase(route.prefix);
        if (prefixes.size() <= at_once) prefixes.insert(route.prefix);
    }
    if (prefixes.size() > at_once || batch_) return refresh();
    RouteBatch few(*writer_, table_);
    for (const Prefix& prefix : prefixes)
        plan(few, prefix);
    few.carry_out();
    take_in(few.changes());
}

void InstalledRoutes::device_changed(uint32_t ifindex) {
    if (!writer_ || !active_) return;
    shaken_.insert(ifindex);
    refresh();
}

void InstalledRoutes::refresh() {
    sweeping_ = active_;
    swept_.reset();
}

void InstalledRoutes::tick() {
    if (sweeping_) sweep();
}

std::optional<fib::Route> InstalledRoutes::chosen(const Prefix& prefix) const {
    const auto config =
        configured_.contains(prefix) ? routing_.route(prefix, fib::RouteSource::config) : std::nullopt;
    const auto cli = wanted_at_all_ ? routing_.route(prefix, fib::RouteSource::cli) : std::nullopt;
    if (!config || !cli) return config ? config : cli;
    const auto rank = [](const fib::Route& route) { return std::pair{route.preference, route.metric}; };
    return rank(*config) < rank(*cli) ? config : cli;
}

// What of it the kernel can be given now; nothing while no next hop can be used.
std::optional<HostRoute> InstalledRoutes::wanted(const Prefix& prefix) const {
    const auto route = chosen(prefix);
    if (!route) return std::nullopt;
    const auto type = type_of(routing_.next_hop_sets().spec_of(route->next_hops).kind);
    if (!type) return std::nullopt;
    HostRoute wanted{prefix, table_, *type, {}, 0};
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

std::optional<Prefix> InstalledRoutes::next_after(const std::optional<Prefix>& prefix) const {
    std::optional<Prefix> next;
    const auto consider = [&](const auto& container, const auto& key_of) {
        const auto at = prefix ? container.upper_bound(*prefix) : container.begin();
        if (at != container.end() && (!next || key_of(*at) < *next)) next = key_of(*at);
    };
    consider(configured_, [](const Prefix& key) { return key; });
    consider(doubtful_, [](const Prefix& key) { return key; });
    consider(installed_, [](const auto& entry) { return entry.first; });
    if (wanted_at_all_) consider(by_hand_.all(), [](const auto& entry) { return entry.first; });
    return next;
}

void InstalledRoutes::sweep() {
    if (!writer_ || batch_) return;
    auto batch = std::make_shared<RouteBatch>(*writer_, table_);
    plan(*batch, steady_clock::now() + step);
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

void InstalledRoutes::plan(RouteBatch& batch, Deadline deadline) {
    if (!sweeping_) return;
    constexpr unsigned between_looks_at_the_clock = 16;
    for (unsigned count = 1; !batch.full(); count++) {
        const auto next = next_after(swept_);
        if (!next) {
            sweeping_ = false;
            swept_.reset();
            shaken_.clear();
            return;
        }
        swept_ = *next;
        plan(batch, *next);
        if (count % between_looks_at_the_clock == 0 && steady_clock::now() >= deadline) return;
    }
}

void InstalledRoutes::plan(RouteBatch& batch, const Prefix& prefix) {
    const bool again = forced(prefix);
    doubtful_.erase(prefix);
    if (lost_.contains(prefix)) return;
    auto now = wanted(prefix);
    const auto known = installed_.find(prefix);
    if (!again && known == installed_.end() && !now) return;
    if (!again && known != installed_.end() && now == known->second.route) return;
    batch.put({.prefix = prefix,
               .remove = again || known != installed_.end(),
               .add = std::move(now),
               .forced = again});
}

bool InstalledRoutes::forced(const Prefix& prefix) const {
    if (doubtful_.contains(prefix)) return true;
    const auto known = installed_.find(prefix);
    return known != installed_.end() && !shaken_.empty() &&
           std::ranges::any_of(known->second.route.next_hops,
                               [&](const auto& hop) { return shaken_.contains(hop.ifindex); });
}

// What has not been done is found again by the next sweep.
void InstalledRoutes::take_in(std::span<RouteBatch::Change> changes) {
    for (auto& change : changes) {
        if (change.done) note(change);
        const bool in_doubt =
            change.done ? lost_meanwhile_.contains(change.prefix) : change.forced || change.begun;
        if (in_doubt) doubtful_.insert(change.prefix);
        if (in_doubt || !change.done) refresh();
        if (lost_.contains(change.prefix)) installed_.erase(change.prefix);
    }
}

void InstalledRoutes::note(RouteBatch::Change& change) {
    const Prefix& prefix = change.prefix;
    if (change.remove) {
        if (!change.removed) tell(prefix, change.removed.error().to_string());
        installed_.erase(prefix);
    }
    if (!change.add) return;
    if (!change.added) {
        if (refused_.insert_or_assign(prefix, change.added.error().message).second)
            tell(prefix, "not installed in the kernel: " + change.added.error().to_string());
        return;
    }
    refused_.erase(prefix);
    if (change.behind)
        tell(prefix, "the kernel has another route for it, of protocol " +
                         config::protocol_name(*change.behind) + ", which the router's own traffic takes");
    installed_.insert_or_assign(prefix, Installed{*std::move(change.add), change.behind});
}

// One line in a thousand tells enough of a whole table.
void InstalledRoutes::tell(const Prefix& prefix, const std::string& what) {
    constexpr uint64_t always = 20;
    constexpr uint64_t then_every = 1000;
    if (++told_ <= always || told_ % then_every == 0)
        spdlog::warn("route {}: {} ({} so far)", prefix.to_string(), what, told_);
}

void InstalledRoutes::find_drift(std::vector<DriftItem>& found) const {
    for (const auto& prefix : lost_)
        found.push_back({"kernel route", prefix.to_string(), "installed", "removed by somebody else"});
    for (const auto& [prefix, why] : refused_)
        found.push_back({"kernel route", prefix.to_string(), "installed", why, false});
    for (const auto& [prefix, installed] : installed_)
        if (installed.behind)
            found.push_back(
                {"kernel route", prefix.to_string(), "used by the router's own traffic",
                 "a route of protocol " + config::protocol_name(*installed.behind) + " goes before", false});
}

}  // namespace pktpit::router
