// SPDX-License-Identifier: BSD-3-Clause
/// What KernelState reports: normalised changes of the kernel's tables. Implemented by the daemon; called on
/// the thread that feeds KernelState, from within consume() or settle(). Must not call back into either.
#pragma once

#include <cstdint>
#include <vector>

#include "router/kernel/kernel.h"

namespace pktpit::router {

/// The route that counts for a prefix: lowest metric, then the kernel's order.
struct KernelRoute {
    uint8_t protocol = 0;  ///< RTPROT_*
    uint8_t type = 0;      ///< RTN_*; a blackhole nexthop object makes it RTN_BLACKHOLE
    uint8_t scope = 0;
    uint32_t metric = 0;
    bool unsupported = false;  ///< encapsulates: only the kernel can forward by it
    /// Those in use: nexthop objects resolved, dead ones left out. Empty unless packets leave by them.
    std::vector<KernelNextHop> next_hops;
    uint32_t mtu = 0;        ///< bytes of an IP packet: nothing larger leaves by it; 0: the device's
    uint32_t resilient = 0;  ///< by this resilient group; 0: by none
    std::chrono::milliseconds idle_timer{0};
    bool operator==(const KernelRoute&) const = default;
};

/// Where a table was not what the kernel has (KernelEvent's ComparisonBegin and what follows): the kernel had
/// changed it without a word. It has been put right, and told as any change is.
struct ComparisonResult {
    uint64_t prefixes = 0;  ///< whose routes differed
    uint64_t nexthops = 0;  ///< nexthop objects that did
    std::string first;      ///< one of them, in words
    bool complete = true;   ///< else some of what is gone may not have been found
    [[nodiscard]] uint64_t differences() const { return prefixes + nexthops; }
};

class KernelListener {
  public:
    virtual ~KernelListener() = default;

    /// New (`before` is null), or something about it changed.
    virtual void link_changed(const LinkEvent& /*link*/, const LinkEvent* /*before*/) {}
    /// Its addresses and neighbours have been reported as removed before; its routes follow at settle().
    virtual void link_removed(const LinkEvent& /*link*/) {}
    /// New, or its flags, broadcast address or peer changed. A tentative address must not be used yet.
    virtual void address_changed(const AddressEvent& /*address*/) {}
    virtual void address_removed(const AddressEvent& /*address*/) {}
    /// New, or its state or MAC changed, or resolution failed once more. The kernel does not tell when
    /// resolution starts: `incomplete` is seen in dumps only.
    virtual void neighbour_changed(const NeighbourEvent& /*neighbour*/) {}
    virtual void neighbour_removed(const NeighbourEvent& /*neighbour*/) {}
    /// This is now the route of the prefix: replaces what was set before. May repeat what is known already.
    virtual void route_set(const Prefix& /*prefix*/, const KernelRoute& /*route*/) {}
    virtual void route_removed(const Prefix& /*prefix*/) {}
    /// New, or told again by a dump, with its order. Those of a device go before it does.
    virtual void device_route_set(const DeviceRoute& /*route*/) {}
    virtual void device_route_removed(const DeviceRoute& /*route*/) {}
    /// Of those that are none of the kernel's own. May repeat what is known already.
    virtual void rule_changed(const RuleEvent& /*rule*/) {}
    /// May repeat what is known already; and of what went with its device nothing is said before the next
    /// dump.
    virtual void selective_route(const SelectiveRouteEvent& /*route*/) {}
    /// Which tables selective routes may be told of, and that all of them have been.
    virtual void ruled_tables(const RuledTables& /*tables*/) {}
    /// A dump is complete: everything has been reported.
    virtual void resynced() {}
    /// A comparison has ended.
    virtual void compared(const ComparisonResult& /*result*/) {}
};

}  // namespace pktpit::router
