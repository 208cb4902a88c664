// SPDX-License-Identifier: BSD-3-Clause
/// Routes that Pktpit puts into the kernel's tables, for the host's own traffic: as protocol `pktpit`, with a
/// metric that tells the routes of one instance from those of another. An interface, so that the control
/// plane is tested without root; netlink's is netlink_route_writer.h. One thread at a time; poll() and
/// descriptor() may be another one's.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace pktpit::router {

/// RTA_PROTOCOL of ours; a line of /etc/iproute2/rt_protos gives it its name. The same as IFA_PROTO's.
inline constexpr uint8_t route_protocol = 112;

/// Metrics of ours: high, so that every route that somebody else has installed goes before. FRR's zebra takes
/// the highest byte of a kernel route's metric for its distance, and the rest for its metric: 254 is the last
/// that it uses and redistributes (255 it does not hand on), so that any route of FRR's own goes before
/// there.
inline constexpr uint32_t lowest_route_metric = 0xfeff'0000;
/// Where those of earlier versions began: zebra took them for the best that there are.
inline constexpr uint32_t former_lowest_route_metric = 1'000'000;
uint32_t route_metric_of(const std::string& instance);

struct HostNextHop {
    uint32_t ifindex = 0;
    std::optional<IpAddress> gateway;  ///< absent: the destination itself is on the link
    uint16_t weight = 1;               ///< 1 to 256
    auto operator<=>(const HostNextHop&) const = default;
};

struct HostRoute {
    Prefix prefix;
    uint32_t table = 0;
    uint8_t type = 0;                    ///< RTN_UNICAST, RTN_BLACKHOLE, RTN_UNREACHABLE, RTN_PROHIBIT
    std::vector<HostNextHop> next_hops;  ///< sorted; empty unless unicast
    uint32_t mtu = 0;                    ///< 0: the devices'
    bool former = false;                 ///< stands at the metric of an earlier version
    bool operator==(const HostRoute&) const = default;
};

class RouteWriter {
  public:
    virtual ~RouteWriter() = default;

    /// Never replaces a route, whoever's it is: an Error if there is one of this prefix and metric.
    virtual Result<void> add(const HostRoute& route) = 0;
    /// Ours; it may be gone already.
    virtual Result<void> remove(uint32_t table, const Prefix& prefix) = 0;
    /// The one that an earlier version has left at its metric; it may be gone already.
    virtual Result<void> remove_former(uint32_t table, const Prefix& prefix) = 0;
    /// Ours in all tables, of this instance; also what an earlier version has left.
    virtual Result<std::vector<HostRoute>> installed() = 0;
    /// The protocol (RTPROT_*) whose route of the same prefix goes before ours; nothing if there is none, or
    /// if the kernel does not say.
    virtual std::optional<uint8_t> goes_before(uint32_t table, const Prefix& prefix) = 0;

    /// Readable when poll() has something to do.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// One of ours was removed or changed by somebody else; `by_kernel`: with its device or address.
    using Lost = std::function<void(uint32_t table, const Prefix& prefix, bool by_kernel)>;
    virtual void poll(const Lost& lost) = 0;
};

}  // namespace pktpit::router
