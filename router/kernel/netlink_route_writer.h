// SPDX-License-Identifier: BSD-3-Clause
/// RouteWriter over rtnetlink: a socket for requests, and one that hears what becomes of routes of protocol
/// `pktpit` alone, which the kernel sorts out (a socket filter), so that a full table of somebody else's
/// costs nothing. Used by the daemon's loop; one thread. Needs CAP_NET_ADMIN.
#pragma once

#include <memory>

#include "router/kernel/route_writer.h"
#include "router/kernel/socket.h"

namespace pktpit::router {

class NetlinkRouteWriter : public RouteWriter {
  public:
    static Result<std::unique_ptr<NetlinkRouteWriter>> open(uint32_t metric);

    Result<void> add(const HostRoute& route) override;
    Result<void> remove(uint32_t table, const Prefix& prefix) override {
        return remove(table, prefix, metric_);
    }
    Result<void> remove_former(uint32_t table, const Prefix& prefix) override {
        return remove(table, prefix, former_metric_);
    }
    Result<std::vector<HostRoute>> installed() override;
    std::optional<uint8_t> goes_before(uint32_t table, const Prefix& prefix) override;
    [[nodiscard]] int descriptor() const override { return events_->descriptor(); }
    void poll(const Lost& lost) override;

  private:
    NetlinkRouteWriter(uint32_t metric, std::unique_ptr<netlink::Socket> requests,
                       std::unique_ptr<netlink::Socket> events)
        : metric_(metric),
          former_metric_(metric - lowest_route_metric + former_lowest_route_metric),
          requests_(std::move(requests)),
          events_(std::move(events)) {}

    Result<void> remove(uint32_t table, const Prefix& prefix, uint32_t metric);

    uint32_t metric_;
    uint32_t former_metric_;
    std::unique_ptr<netlink::Socket> requests_;
    std::unique_ptr<netlink::Socket> events_;
};

}  // namespace pktpit::router
