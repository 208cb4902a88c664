// SPDX-License-Identifier: BSD-3-Clause
/// What the daemon needs from the kernel, as an interface: links, addresses, neighbours and routes come in as
/// events; a few requests go out. The netlink implementation is router/kernel/netlink.h; tests inject their
/// own, so that the control plane is tested without root.
///
/// One thread: events are delivered from poll(), work() and dump(), on the caller's thread. KernelState
/// (router/kernel/kernel_state.h) turns the events into tables and into changes of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/turn.h"
#include "router/kernel/route_writer.h"

namespace pktpit::router {

struct LinkEvent {
    bool removed = false;
    uint32_t ifindex = 0;
    std::string name;
    bool up = false;  ///< IFF_UP and carrier (IFF_LOWER_UP)
    MacAddress mac;
    uint32_t mtu = 0;
    std::string kind;            ///< "veth", "vlan", … ; empty for hardware
    uint32_t parent = 0;         ///< IFLA_LINK in the same namespace, else 0
    uint16_t vlan_id = 0;        ///< for kind "vlan"
    uint16_t vlan_protocol = 0;  ///< TPID, host byte order
    bool admin_up = false;       ///< IFF_UP: what `ip link set up` says, whatever the carrier
    bool running = false;        ///< IFF_RUNNING or IFF_LOWER_UP
    bool ethernet = false;       ///< ARPHRD_ETHER; `mac` is valid then
    std::string alias{};         ///< IFLA_IFALIAS: free text, which says whose a device is
    bool operator==(const LinkEvent&) const = default;
};

struct AddressEvent {
    bool removed = false;
    uint32_t ifindex = 0;
    InterfaceAddress address;
    std::optional<IpAddress> broadcast;
    bool tentative = false;  ///< IPv6 DAD has not finished or has failed
    bool ours = false;       ///< IFA_PROTO says that this daemon set it
    std::optional<IpAddress>
        peer;                  ///< other end of a point-to-point address: the connected net is peer/length
    uint32_t metric = 0;       ///< IFA_RT_PRIORITY, of its prefix route; 0: the family's own
    bool prefix_route = true;  ///< without IFA_F_NOPREFIXROUTE

    [[nodiscard]] Prefix net() const { return Prefix::of(peer.value_or(address.address), address.length); }
    bool operator==(const AddressEvent&) const = default;
};

/// Delay and probe count as stale: the address is still used while it is being verified. Unicast neighbours
/// of devices without ARP (NUD_NOARP) count as permanent.
enum class NeighbourState : uint8_t { none, incomplete, reachable, stale, failed, permanent };

struct NeighbourEvent {
    bool removed = false;
    uint32_t ifindex = 0;
    IpAddress address;
    MacAddress mac;  ///< valid in reachable, stale, permanent
    NeighbourState state = NeighbourState::none;
    /// An answer that says of a host that its MAC address is a group's: RFC 1812 3.3.2 forbids to believe it
    /// of ARP, RFC 4861 has no such link-layer address for a unicast one. What a person has set (permanent)
    /// counts, as it does for clusters that are reached by a multicast MAC address.
    [[nodiscard]] bool claims_group() const {
        return (mac.bytes[0] & 1) != 0 &&
               (state == NeighbourState::reachable || state == NeighbourState::stale);
    }
    bool operator==(const NeighbourEvent&) const = default;
};

struct KernelNextHop {
    uint32_t ifindex = 0;
    std::optional<IpAddress> gateway;
    uint16_t weight = 1;
    bool dead = false;  ///< RTNH_F_DEAD: its device is down; the kernel does not use it
    bool operator==(const KernelNextHop&) const = default;
};

struct RouteEvent {
    bool removed = false;
    Prefix prefix;
    uint32_t table = 0;
    uint8_t protocol = 0;  ///< RTPROT_*
    uint8_t type = 0;      ///< RTN_*
    uint8_t scope = 0;
    uint32_t metric = 0;
    bool replaces = false;  ///< NLM_F_REPLACE
    bool appends = false;   ///< NLM_F_APPEND: IPv6 multipath grew (next_hops is the whole set), IPv4: behind
    std::vector<KernelNextHop> next_hops;  ///< empty unless packets leave by them
    bool creates = false;                  ///< NLM_F_CREATE; alone, an IPv4 route goes before its equals
    bool exclusive = false;                ///< NLM_F_EXCL: there was no route of this metric before
    bool dumped = false;                   ///< part of a dump, not an event
    uint8_t preference = 0;                ///< RTA_PREF, RFC 4191: 0 medium, 1 high, 3 low
    uint32_t nexthop_id = 0;               ///< RTA_NH_ID; 0: none
    std::optional<IpAddress> source;       ///< RTA_PREFSRC
    /// Encapsulates (MPLS, SRv6, tunnels by RTA_ENCAP): only the kernel can forward by it.
    bool unsupported = false;
    uint32_t mtu = 0;  ///< RTAX_MTU, not below what its family asks of a link; 0: the device's
};

/// A route that packets do not meet by their destination alone: of one TOS, from some sources, or in a table
/// that a rule leads to.
struct SelectiveRouteEvent {
    bool removed = false;
    Prefix prefix;
    uint32_t table = 0;
    uint32_t metric = 0;
    uint8_t protocol = 0;  ///< RTPROT_*
    uint8_t tos = 0;
    std::optional<Prefix> from;
    bool operator==(const SelectiveRouteEvent&) const = default;
};

/// A policy rule (`ip rule`) that is none of those that every kernel begins with.
struct RuleEvent {
    bool removed = false;
    Family family = Family::ipv4;
    uint32_t priority = 0;
    uint32_t table = 0;
    auto operator<=>(const RuleEvent&) const = default;
};

/// Tables that the kernel's rules lead to, beside the one that is followed, as they are now: first when the
/// rules have been read, then, `read`, when all their routes have been told (SelectiveRouteEvent).
struct RuledTables {
    std::vector<uint32_t> tables;  ///< in order
    bool read = false;
};

/// A nexthop object (`ip nexthop`), as FRR makes them: one next hop, or a group of others.
struct NextHopEvent {
    struct Member {
        uint32_t id = 0;
        uint16_t weight = 1;
        bool operator==(const Member&) const = default;
    };
    bool removed = false;
    uint32_t id = 0;
    bool blackhole = false;
    bool unsupported = false;     ///< encapsulates
    KernelNextHop next_hop;       ///< unless blackhole or a group
    std::vector<Member> members;  ///< of a group
    bool dumped = false;
    bool resilient = false;  ///< a group that keeps flows in place when members come
    std::chrono::milliseconds idle_timer{
        0};  ///< of a resilient one: a flow without packets for so long may move
    bool operator==(const NextHopEvent&) const = default;
};

/// Between the two: links, then addresses, neighbours, nexthop objects, routes as they are (`dumped`); behind
/// the end the events that came meanwhile. At ResyncEnd: everything not mentioned since ResyncBegin no longer
/// exists, unless the dump was not complete: then nothing is to be concluded from what it left out, and
/// another one follows. So it is with a second ResyncBegin without ResyncEnd.
struct ResyncBegin {};
struct ResyncEnd {
    bool complete = true;
};

/// A comparison (Kernel::compare()): nexthop objects, then the routes of each family as the kernel has them,
/// a piece at a time with events in between. What a piece tells was so after the piece before the last had
/// been told; every event that was sent until the piece was read has been delivered before it.
struct ComparisonBegin {};
struct Compared {
    std::variant<NextHopEvent, RouteEvent> object;  ///< `dumped`
};
/// One is over.
struct ComparisonPiece {
    bool last = false;  ///< of a kind, or of an attempt at it
};
enum class ComparedKind : uint8_t { nexthops, ipv4, ipv6 };
/// All of a kind have been told; not `complete`: some may have been left out.
struct ComparedAll {
    ComparedKind kind{};
    bool complete = true;
};
/// A ResyncBegin ends one, too, without a result.
struct ComparisonEnd {};

using KernelEvent = std::variant<LinkEvent, AddressEvent, NeighbourEvent, RouteEvent, ResyncBegin, ResyncEnd,
                                 NextHopEvent, RuleEvent, SelectiveRouteEvent, RuledTables, ComparisonBegin,
                                 Compared, ComparisonPiece, ComparedAll, ComparisonEnd>;

/// A route that the kernel keeps for a device: a local one, whose packets are the host's, or the prefix route
/// of an address, which says that a net is on the device's link.
struct DeviceRoute {
    uint32_t ifindex = 0;
    Prefix prefix;
    uint32_t table = 0;
    uint32_t metric = 0;
    bool local = false;
    uint8_t protocol = 0;             ///< RTPROT_*
    std::optional<IpAddress> source;  ///< RTA_PREFSRC
    uint64_t order = 0;  ///< in which they came; of those of one prefix and metric the first is used
};
/// Is the event of such a route?
bool is_of_device(const RouteEvent& route);

/// Which of the kernel's routes are wanted.
struct RouteFilter {
    bool enabled = false;
    uint32_t table = 254;              ///< one table; 254 is main
    std::vector<uint8_t> protocols{};  ///< RTPROT_*; empty: all
    bool ruled_tables = false;         ///< what there is in tables that rules lead to is told, too
    /// In place of one table's routes those of all tables that belong to devices: local routes, and prefix
    /// routes of addresses (DeviceRoute). `enabled` is off then.
    bool of_devices = false;

    /// Never Pktpit's own, which would come back as somebody else's.
    [[nodiscard]] bool wants(uint8_t protocol) const {
        return protocol != route_protocol &&
               (protocols.empty() ||
                std::find(protocols.begin(), protocols.end(), protocol) != protocols.end());
    }
};

/// What a connection has seen, for people. Since it was opened.
struct KernelCounters {
    uint64_t events = 0;
    uint64_t ignored = 0;  ///< of other tables, of kinds that are not followed
    uint64_t malformed = 0;
    uint64_t unsupported = 0;
    uint64_t overflows = 0;       ///< times that messages were lost: each is followed by a resync
    uint64_t drops = 0;           ///< messages that the kernel has dropped then
    uint64_t resyncs = 0;         ///< dumps that were read to their end, the first one included
    uint64_t dumps_repeated = 0;  ///< of one kind of object, since changes came in between
    uint64_t waiting = 0;         ///< messages that have been read and not been handled yet
    uint64_t most_waiting = 0;    ///< the largest `waiting` was
    uint64_t receive_buffer = 0;  ///< bytes
    bool reading = false;         ///< a dump is under way

    /// Of two connections together.
    KernelCounters& operator+=(const KernelCounters& other) {
        events += other.events;
        ignored += other.ignored;
        malformed += other.malformed;
        unsupported += other.unsupported;
        overflows += other.overflows;
        drops += other.drops;
        resyncs += other.resyncs;
        dumps_repeated += other.dumps_repeated;
        waiting += other.waiting;
        most_waiting = std::max(most_waiting, other.most_waiting);
        receive_buffer += other.receive_buffer;
        reading = reading || other.reading;
        return *this;
    }
};

/// What a VLAN device is, or is to be.
struct VlanPlace {
    std::string name;
    uint32_t parent = 0;  ///< index of the device below
    uint16_t vid = 0;
    uint16_t protocol = 0;  ///< TPID, host byte order
};

class Kernel {
  public:
    using Deliver = std::function<void(const KernelEvent&)>;
    virtual ~Kernel() = default;

    /// File descriptor that becomes readable when poll() or work() has something to do.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// Dumps everything, between ResyncBegin and ResyncEnd; called once at the start, and by poll() itself
    /// when the kernel says that it lost events (ENOBUFS).
    virtual Result<void> dump(const Deliver& deliver) = 0;
    /// Delivers pending events, at most a batch; never blocks.
    virtual Result<void> poll(const Deliver& deliver) = 0;

    /// The same in turns, for tables that take longer than others can wait: begin_dump(), and the dump is
    /// read by work(), as after lost events. work() delivers what is pending until there is nothing more
    /// (false) or the turn is over (true). After an Error it goes on, too: it reads everything again after a
    /// while.
    virtual void begin_dump() = 0;
    virtual Result<bool> work(const Deliver& deliver, Turn& turn) = 0;
    [[nodiscard]] virtual KernelCounters counters() const { return {}; }
    /// Has work() compare what is known with what there is, beside the events and slowly. Again when one that
    /// is under way has ended. Nothing while everything is being dumped, which says it all.
    virtual void compare() = 0;

    /// Asks the kernel to resolve (or re-verify) a neighbour: RTM_NEWNEIGH with NTF_USE. By one thread at a
    /// time, which may be another one than that of all else.
    virtual Result<void> probe_neighbour(uint32_t ifindex, const IpAddress& address) = 0;
    /// Sets a permanent neighbour, whatever was known of it.
    virtual Result<void> set_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac) = 0;
    /// Makes it an ordinary one again, that is verified when it is used next.
    virtual Result<void> set_stale_neighbour(uint32_t ifindex, const IpAddress& address,
                                             const MacAddress& mac) = 0;
    virtual Result<void> add_address(uint32_t ifindex, const InterfaceAddress& address) = 0;
    /// Those of a device as they are now, which may not have been told yet.
    virtual Result<std::vector<InterfaceAddress>> addresses(uint32_t ifindex) = 0;
    // What is removed may be gone already.
    /// On any thread.
    virtual Result<void> remove_neighbour(uint32_t ifindex, const IpAddress& address) = 0;
    virtual Result<void> remove_address(uint32_t ifindex, const InterfaceAddress& address) = 0;
    virtual Result<void> set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) = 0;
    /// Creates a VLAN device with that alias, down, and returns its index; an Error whose hint says so where
    /// the kernel has no such devices.
    virtual Result<uint32_t> add_vlan_link(const VlanPlace& place, const std::string& alias) = 0;
    /// Removes a device that add_vlan_link() has made; it may be gone already.
    virtual Result<void> remove_vlan_link(uint32_t ifindex) = 0;
};

}  // namespace pktpit::router
