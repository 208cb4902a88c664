/// What the daemon needs from the kernel, as an interface: links, addresses, neighbours and routes come in as
/// events; a few requests go out. The netlink implementation is router/kernel/netlink.h; tests inject their
/// own, so that the control plane is tested without root.
///
/// One thread: events are delivered from poll(), on the caller's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "fib/address.h"
#include "fib/result.h"

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
};

struct AddressEvent {
    bool removed = false;
    uint32_t ifindex = 0;
    InterfaceAddress address;
    std::optional<IpAddress> broadcast;
    bool tentative = false;  ///< IPv6 DAD has not finished or has failed
    bool ours = false;       ///< IFA_PROTO says that this daemon set it
};

enum class NeighbourState : uint8_t { none, incomplete, reachable, stale, failed, permanent };

struct NeighbourEvent {
    bool removed = false;
    uint32_t ifindex = 0;
    IpAddress address;
    MacAddress mac;  ///< valid in reachable, stale, permanent
    NeighbourState state = NeighbourState::none;
};

struct KernelNextHop {
    uint32_t ifindex = 0;
    std::optional<IpAddress> gateway;
    uint16_t weight = 1;
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
    bool appends = false;   ///< NLM_F_APPEND: IPv6 multipath grows by this next hop
    std::vector<KernelNextHop> next_hops;
};

/// After a dump: everything not mentioned since `ResyncBegin` no longer exists.
struct ResyncBegin {};
struct ResyncEnd {};

using KernelEvent = std::variant<LinkEvent, AddressEvent, NeighbourEvent, RouteEvent, ResyncBegin, ResyncEnd>;

class Kernel {
  public:
    virtual ~Kernel() = default;

    /// File descriptor that becomes readable when poll() has something to do.
    [[nodiscard]] virtual int descriptor() const = 0;
    /// Dumps everything, between ResyncBegin and ResyncEnd; called once at the start, and by poll() itself
    /// when the kernel says that it lost events (ENOBUFS).
    virtual Result<void> dump(const std::function<void(const KernelEvent&)>& deliver) = 0;
    /// Delivers pending events, at most a batch; never blocks.
    virtual Result<void> poll(const std::function<void(const KernelEvent&)>& deliver) = 0;

    /// Asks the kernel to resolve (or re-verify) a neighbour: RTM_NEWNEIGH with NTF_USE.
    virtual Result<void> probe_neighbour(uint32_t ifindex, const IpAddress& address) = 0;
    virtual Result<void> set_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac) = 0;
    virtual Result<void> remove_neighbour(uint32_t ifindex, const IpAddress& address) = 0;
    virtual Result<void> add_address(uint32_t ifindex, const InterfaceAddress& address) = 0;
    virtual Result<void> remove_address(uint32_t ifindex, const InterfaceAddress& address) = 0;
    virtual Result<void> set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) = 0;
    /// Creates a VLAN device; an Error whose hint says so where the kernel has no such devices.
    virtual Result<void> add_vlan_link(const std::string& name, uint32_t parent, uint16_t vid,
                                       uint16_t protocol) = 0;
};

}  // namespace pktpit::router
