// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/control_plane.h"

#include <spdlog/spdlog.h>

namespace pktpit::router {
namespace {

constexpr uint64_t ticks_per_second = 10;
constexpr uint64_t resolve_every = 5 * ticks_per_second;

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
      dataplane_(environment.dataplane),
      slow_path_(environment.slow_path),
      asked_to_stop_(std::move(environment.asked_to_stop)),
      own_hash_seed_(environment.hash_seed),
      tables_(tables),
      state_(RouteFilter{}, *this),
      route_counters_(dataplane_.route_counters()),
      image_(std::move(image)),
      routing_(
          image_, [this](InterfaceId interface, const IpAddress& address) { resolve(interface, address); },
          [](const Error& error) { spdlog::error("route not installed: {}", error.to_string()); },
          tables.port),
      ports_(kernel_, state_, routing_, dataplane_, environment.switches, std::move(memory)),
      kernel_routes_(routing_, environment.watcher, std::move(environment.open_kernel)),
      cli_routes_(routing_, route_counters_, std::move(environment.cli_routes_path)) {}

ControlPlane::~ControlPlane() = default;

Result<void> ControlPlane::read_kernel() {
    auto dumped = kernel_.dump([this](const KernelEvent& event) { state_.consume(event); });
    state_.settle();
    return dumped;
}

void ControlPlane::tick() {
    if (++ticks_ % ticks_per_second == 0) ports_.retry();
    if (ticks_ % resolve_every == 0) routing_.resolve_missing();
}

Result<bool> ControlPlane::add_cli_route(const config::StaticRoute& route) {
    return changed_by_hand(cli_routes_.add(route));
}

Result<bool> ControlPlane::replace_cli_route(const config::StaticRoute& route) {
    return changed_by_hand(cli_routes_.replace(route));
}

Result<bool> ControlPlane::remove_cli_route(const Prefix& prefix) {
    return changed_by_hand(cli_routes_.remove(prefix));
}

Result<bool> ControlPlane::changed_by_hand(Result<bool> changed) {
    if (auto released = release_route_counters(); !released) spdlog::warn("{}", released.error().to_string());
    if (changed) routing_.resolve_missing();
    return changed;
}

}  // namespace pktpit::router
