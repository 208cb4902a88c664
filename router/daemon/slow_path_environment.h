// SPDX-License-Identifier: BSD-3-Clause
/// The slow path's view of the running daemon: FIB image, transmission, neighbours. One thread.
#pragma once

#include "router/control/control_plane.h"
#include "router/control/neighbour_prober.h"
#include "router/dataplane/dataplane.h"
#include "router/routing/routing.h"
#include "router/slow_path/slow_path.h"

namespace pktpit::router {

class DaemonEnvironment : public SlowPathEnvironment {
  public:
    DaemonEnvironment(const ControlPlane& control, NeighbourProber& prober, Dataplane& dataplane,
                      RouteCounters& route_counters)
        : control_(control),
          routing_(control.routing()),
          prober_(prober),
          dataplane_(dataplane),
          route_counters_(route_counters) {}

    using Transmission = std::function<void(uint16_t port, std::span<const std::span<const uint8_t>> parts)>;
    /// Told of every frame that is sent, while set.
    void on_transmit(Transmission told) { on_transmit_ = std::move(told); }

    [[nodiscard]] ImageView image() const override;
    bool transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) override;
    void resolve(uint16_t interface, const IpAddress& next_hop) override;
    void withdraw(uint16_t interface, const IpAddress& next_hop) override;
    void count_route(uint16_t counter, size_t bytes) override { route_counters_.add(counter, bytes); }
    [[nodiscard]] std::optional<IpAddress> next_hop_of(uint32_t adjacency) const override;
    [[nodiscard]] std::optional<IpAddress> source_address(uint16_t interface, Family family,
                                                          bool link_local) const override;
    [[nodiscard]] std::optional<IpAddress> address_in_net_of(uint16_t interface,
                                                             const IpAddress& address) const override;
    [[nodiscard]] std::optional<IpAddress> router_address(Family family, uint16_t interface) const override;
    [[nodiscard]] bool is_broadcast(const IpAddress& address, uint16_t interface) const override {
        return routing_.is_broadcast(address, routing_.vrf_of(interface));
    }
    [[nodiscard]] std::optional<pp_fib_adjacency> link_of(uint16_t interface) const override;
    [[nodiscard]] std::optional<MacAddress> neighbour(uint16_t interface,
                                                      const IpAddress& address) const override;

  private:
    const ControlPlane& control_;
    const Routing& routing_;
    NeighbourProber& prober_;
    Dataplane& dataplane_;
    RouteCounters& route_counters_;
    Transmission on_transmit_;
};

}  // namespace pktpit::router
