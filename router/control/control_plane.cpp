// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/control_plane.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/turn.h"

namespace pktpit::router {
namespace {

constexpr uint64_t ticks_per_second = 10;
constexpr uint64_t resolve_every = 5 * ticks_per_second;
constexpr uint64_t drift_every = 2 * ticks_per_second;
constexpr uint64_t compare_every = 300 * ticks_per_second;

}  // namespace

config::Errors Refusal::all() const {
    config::Errors together = errors;
    together.insert(together.end(), left.begin(), left.end());
    return together;
}

Result<std::unique_ptr<ControlPlane>> ControlPlane::make(Environment environment) {
    Dataplane& dataplane = environment.dataplane;
    fib::FibImage image(dataplane.image_memory(), dataplane.geometry(), dataplane.reclamation());
    const auto port_table = image.add_table();
    if (!port_table) return tl::unexpected(port_table.error());
    const auto hot_table = image.add_table();
    if (!hot_table) return tl::unexpected(hot_table.error());
    if (PortStages* stages = dataplane.port_stages()) {
        stages->set_port_table(*port_table);
        stages->set_hot_table(*hot_table);
    }
    auto memory = SwitchMemory::open(environment.run_state_path);
    if (!memory) return tl::unexpected(memory.error());
    return std::unique_ptr<ControlPlane>(new ControlPlane(std::move(environment), std::move(image),
                                                          {*port_table, *hot_table}, std::move(*memory)));
}

ControlPlane::ControlPlane(Environment environment, fib::FibImage image, const Tables& tables,
                           SwitchMemory memory)
    : kernel_(environment.kernel),
      open_kernel_(environment.open_kernel),
      dataplane_(environment.dataplane),
      slow_path_(environment.slow_path),
      asked_to_stop_(std::move(environment.asked_to_stop)),
      own_hash_seed_(environment.hash_seed),
      tables_(tables),
      state_(RouteFilter{.of_devices = true}, *this),
      route_counters_(dataplane_.route_counters()),
      prober_(kernel_, environment.watcher),
      image_(std::move(image)),
      routing_(
          image_, [this](InterfaceId interface, const IpAddress& address) { resolve(interface, address); },
          [](const Error& error) { spdlog::error("route not installed: {}", error.to_string()); },
          tables.port),
      ports_(kernel_, state_, routing_, dataplane_, environment.switches, std::move(memory), events_,
             environment.instance),
      kernel_routes_(routing_, environment.watcher, std::move(environment.open_kernel), events_),
      fpm_routes_(routing_, environment.watcher, events_, std::move(environment.listen_for_zebra)),
      cli_routes_(routing_, route_counters_, std::move(environment.cli_routes_path)),
      installed_(routing_, cli_routes_, environment.watcher, environment.route_writer),
      watcher_(environment.watcher) {
    // What a link or a neighbour means for a million prefixes is done in turns, too.
    routing_.leave_work([this, &watcher = environment.watcher] { settle_routing(watcher); });
}

ControlPlane::~ControlPlane() {
    watcher_.finish_aside();
}

void ControlPlane::settle_routing(DescriptorWatcher& watcher) {
    if (std::exchange(turn_is_due_, true)) return;
    watcher.after_others([&watcher, self = std::weak_ptr(self_)] {
        const auto here = self.lock();
        if (!here) return;
        ControlPlane& control = **here;
        control.turn_is_due_ = false;
        if (!control.settle_for_one_turn()) control.settle_routing(watcher);
    });
}

bool ControlPlane::settle_for_one_turn() {
    constexpr std::chrono::milliseconds turn_time{2};
    constexpr size_t prefixes_per_step = 128;
    Turn turn = Turn::lasting(turn_time);
    while (!routing_.settle(prefixes_per_step))
        if (turn.over_after_much()) return false;
    return true;
}

Result<void> ControlPlane::read_kernel() {
    auto dumped = kernel_.dump([this](const KernelEvent& event) { state_.consume(event); });
    state_.settle();
    return dumped;
}

void ControlPlane::tick() {
    routing_.tick(std::chrono::steady_clock::now());
    if (++ticks_ % ticks_per_second == 0) ports_.retry();
    if (ticks_ % resolve_every == 0) {
        routing_.resolve_missing();
        installed_.refresh();
    }
    if (ticks_ % drift_every == 0) {
        BestEffort effort;
        effort.attempt("drift", [this] { watch_drift(); });
        if (auto watched = effort.result(); !watched) spdlog::warn("{}", watched.error().to_string());
    }
    if (ticks_ % compare_every == 0) compare_kernel_routes();
    ports_.follow_reachability();
    fpm_routes_.tick(std::chrono::steady_clock::now());
    installed_.tick();
}

std::vector<DriftItem> ControlPlane::find_drift() {
    if (auto followed = follow_kernel(); !followed) spdlog::warn("netlink: {}", followed.error().to_string());
    std::vector<DriftItem> found;
    ports_.find_drift(found);
    ports_.find_unheard_drift(found);
    installed_.find_drift(found);
    find_rules(found);
    return found;
}

// The kernel is asked aside, since an answer may take as long as a full table's coming; only where something
// is not what it was, it is asked once more here, where the port that is meant cannot change meanwhile.
void ControlPlane::watch_drift() {
    if (std::exchange(looking_, true)) return;
    const auto seen = std::make_shared<std::string>();
    watcher_.aside([seen, look = ports_.unheard_look()] { *seen = look(); },
                   [seen, self = std::weak_ptr(self_)] {
                       const auto here = self.lock();
                       if (!here) return;
                       ControlPlane& control = **here;
                       control.looking_ = false;
                       if (control.looked_like_ != *seen) {
                           control.unheard_drift_.clear();
                           control.ports_.find_unheard_drift(control.unheard_drift_);
                           control.looked_like_ = *seen;
                       }
                       control.tell_drift();
                   });
}

// Each thing once, and once more when it is right again.
void ControlPlane::tell_drift() {
    if (auto followed = follow_kernel(); !followed) spdlog::warn("netlink: {}", followed.error().to_string());
    std::vector<DriftItem> found = unheard_drift_;
    ports_.find_drift(found);
    installed_.find_drift(found);
    std::set<DriftItem> now(found.begin(), found.end());
    // Of devices that come and go ports tell, of refused routes who refuses.
    std::erase_if(now, [](const DriftItem& item) { return !item.mended_by_reload; });
    constexpr size_t most = 20;
    size_t lines = 0;
    for (const auto& item : now)
        if (!drift_told_.contains(item) && lines++ < most)
            spdlog::warn("{}; somebody else has changed it, `pktpit reload` puts it right", item.to_string());
    if (lines > most) spdlog::warn("and {} more: pktpit show drift", lines - most);
    for (const auto& item : drift_told_)
        if (!now.contains(item) && lines++ < most)
            spdlog::info("{}: {} {} is right again", item.where, item.what, item.expected);
    drift_told_ = std::move(now);
}

tl::expected<size_t, CliRoutes::Refusal> ControlPlane::change_cli_routes(
    CliRoutes::Edit edit, std::span<const config::StaticRoute> routes) {
    const bool any_counted = std::ranges::any_of(routes, &config::StaticRoute::counters);
    const auto changed = cli_routes_.change(edit, routes);
    if (any_counted || (changed && changed->counters))
        if (auto released = release_route_counters(); !released)
            spdlog::warn("{}", released.error().to_string());
    if (!changed) return tl::unexpected(changed.error());
    installed_.changed(routes);
    for (const auto next_hops : changed->next_hops)
        routing_.resolve_missing_of(next_hops);
    // Who is told that a route is another may send a packet that it matters to before the loop's next turn.
    (void)settle_for_one_turn();
    return changed->count;
}

}  // namespace pktpit::router
