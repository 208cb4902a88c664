// SPDX-License-Identifier: BSD-3-Clause
// NetlinkKernel's requests; its events and dumps are in netlink.cpp.
// clang-format off: net/if.h, for if_indextoname(), goes together with linux/if.h only in this order
#include <net/if.h>
// clang-format on
#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "router/kernel/netlink.h"
#include "router/kernel/parse.h"

namespace pktpit::router {

namespace {

using netlink::Request;

std::span<const uint8_t> bytes_of(const IpAddress& address) {
    return {address.bytes.data(), address.size()};
}
uint8_t family_of(const IpAddress& address) {
    return address.is_v4() ? AF_INET : AF_INET6;
}

std::string on_device(uint32_t ifindex) {
    char name[IF_NAMESIZE];
    return if_indextoname(ifindex, name) ? std::string(" on ") + name
                                         : " on ifindex " + std::to_string(ifindex);
}

Request neighbour_request(uint16_t type, uint16_t flags, uint32_t ifindex, const IpAddress& address,
                          uint16_t state, uint8_t neighbour_flags) {
    Request request(type, flags);
    auto& header = request.header<ndmsg>();
    header.ndm_family = family_of(address);
    header.ndm_ifindex = static_cast<int>(ifindex);
    header.ndm_state = state;
    header.ndm_flags = neighbour_flags;
    request.put(NDA_DST, bytes_of(address));
    return request;
}

Request address_request(uint16_t type, uint16_t flags, uint32_t ifindex, const InterfaceAddress& address) {
    Request request(type, flags);
    auto& header = request.header<ifaddrmsg>();
    header.ifa_family = family_of(address.address);
    header.ifa_prefixlen = address.length;
    header.ifa_index = ifindex;
    header.ifa_scope = address.address.is_link_local() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    request.put(IFA_LOCAL, bytes_of(address.address));
    request.put(IFA_ADDRESS, bytes_of(address.address));
    return request;
}

/// `harmless`: an errno that says that what was asked for is so already.
Result<void> conclude(const Result<netlink::Answer>& answer, const std::string& what, int harmless = 0) {
    if (!answer) return tl::unexpected(answer.error());
    if (answer->error == 0 || answer->error == harmless) return {};
    std::string hint;
    if (answer->error == EPERM) hint = "needs CAP_NET_ADMIN";
    if (answer->error == ENODEV) hint = "the interface is gone";
    return fail("netlink", "cannot " + what + ": " + answer->to_string(), {}, hint);
}

}  // namespace

Result<void> NetlinkKernel::ask(Request& request, const std::string& what, int harmless) {
    return conclude(requests_->transact(request), what, harmless);
}

Result<void> NetlinkKernel::probe_neighbour(uint32_t ifindex, const IpAddress& address) {
    // neigh_add() makes the entry if there is none and, for NTF_USE, does what sending a packet would do:
    // neigh_event_send(). A new or failed entry is asked for at once, a stale one is verified after
    // delay_first_probe_time (5 s) unless traffic confirms it, a reachable one is left alone.
    // IPv6 asks from the link-local address: while that is tentative, or absent, it fails without asking.
    const std::string what = "resolve " + address.to_string() + on_device(ifindex);
    auto fresh =
        neighbour_request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_EXCL, ifindex, address, NUD_NONE, NTF_USE);
    const std::lock_guard lock(neighbours_);
    const auto answer = probes_->transact(fresh);
    if (!answer || answer->error != EEXIST) return conclude(answer, what);
    // Of a permanent entry NTF_USE would make an incomplete one (seen on 6.18), so look first.
    auto query = neighbour_request(RTM_GETNEIGH, 0, ifindex, address, NUD_NONE, 0);
    bool permanent = false;
    const auto looked = probes_->transact(query, [&](auto message) {
        const auto event = parse(message);
        const auto* known = event ? std::get_if<NeighbourEvent>(&*event) : nullptr;
        permanent |= known && known->state == NeighbourState::permanent;
    });
    if (!looked) return tl::unexpected(looked.error());
    if (permanent) return {};
    auto use = neighbour_request(RTM_NEWNEIGH, NLM_F_CREATE, ifindex, address, NUD_NONE, NTF_USE);
    return conclude(probes_->transact(use), what);
}

Result<void> NetlinkKernel::put_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac,
                                          uint16_t state) {
    auto request = neighbour_request(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, ifindex, address, state, 0);
    request.put(NDA_LLADDR, mac.bytes);
    const std::lock_guard lock(neighbours_);
    return ask(request, "set neighbour " + address.to_string() + on_device(ifindex));
}

Result<void> NetlinkKernel::set_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac) {
    return put_neighbour(ifindex, address, mac, NUD_PERMANENT);
}

Result<void> NetlinkKernel::set_stale_neighbour(uint32_t ifindex, const IpAddress& address,
                                                const MacAddress& mac) {
    return put_neighbour(ifindex, address, mac, NUD_STALE);
}

Result<void> NetlinkKernel::remove_neighbour(uint32_t ifindex, const IpAddress& address) {
    auto request = neighbour_request(RTM_DELNEIGH, 0, ifindex, address, NUD_NONE, 0);
    const std::lock_guard lock(neighbours_);
    return conclude(probes_->transact(request),
                    "remove neighbour " + address.to_string() + on_device(ifindex), ENOENT);
}

Result<void> NetlinkKernel::add_address(uint32_t ifindex, const InterfaceAddress& address) {
    // Duplicate address detection stays on, as RFC 4862 5.4 demands of routers too: an IPv6 address is
    // tentative for about a second, and a duplicate shows as an AddressEvent that stays tentative.
    auto request = address_request(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, address);
    if (address.address.is_v4() && address.length < 31) {  // RFC 3021: no broadcast address in a /31
        request.put(IFA_BROADCAST, bytes_of(address.net().last()));
    }
    mnl_attr_put_u8(request.message(), IFA_PROTO, address_protocol);
    const auto answer = requests_->transact(request);
    if (answer && answer->error == EEXIST) return check_existing(ifindex, address);
    return conclude(answer, "add " + address.to_string() + on_device(ifindex));
}

/// EEXIST is success if it is the same address. To IPv6 it also means the address with another prefix length.
Result<void> NetlinkKernel::check_existing(uint32_t ifindex, const InterfaceAddress& address) {
    const auto all = addresses(ifindex);
    if (!all) return tl::unexpected(all.error());
    if (std::ranges::find(*all, address) != all->end()) return {};
    const auto other =
        std::ranges::find_if(*all, [&](const auto& known) { return known.address == address.address; });
    if (other == all->end()) return {};
    return fail("netlink",
                "cannot add " + address.to_string() + on_device(ifindex) + ": it is there already as " +
                    other->to_string(),
                address.to_string(), "remove " + other->to_string() + " first");
}

Result<std::vector<InterfaceAddress>> NetlinkKernel::addresses(uint32_t ifindex) {
    Request request(RTM_GETADDR, 0);
    auto& header = request.header<ifaddrmsg>();
    header.ifa_family = AF_UNSPEC;
    header.ifa_index = ifindex;
    std::vector<InterfaceAddress> found;
    const auto dumped = requests_->dump(request, [&](auto message) {
        const auto event = parse(message);
        const auto* existing = event ? std::get_if<AddressEvent>(&*event) : nullptr;
        if (existing && existing->ifindex == ifindex) found.push_back(existing->address);
    });
    if (!dumped) return tl::unexpected(dumped.error());
    return found;
}

Result<void> NetlinkKernel::remove_address(uint32_t ifindex, const InterfaceAddress& address) {
    auto request = address_request(RTM_DELADDR, 0, ifindex, address);
    return ask(request, "remove " + address.to_string() + on_device(ifindex), EADDRNOTAVAIL);
}

Result<void> NetlinkKernel::set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) {
    Request request(RTM_NEWLINK, 0);
    auto& header = request.header<ifinfomsg>();
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = static_cast<int>(ifindex);
    header.ifi_change = IFF_UP;
    header.ifi_flags = up ? IFF_UP : 0;
    if (mtu) mnl_attr_put_u32(request.message(), IFLA_MTU, *mtu);
    const std::string what =
        mtu ? "set MTU " + std::to_string(*mtu) + (up ? " and bring up" : " and take down")
            : std::string(up ? "bring up" : "take down");
    return ask(request, what + on_device(ifindex));
}

// The alias is set by a request of its own: the one that makes a device passes it over.
Result<uint32_t> NetlinkKernel::add_vlan_link(const VlanPlace& place, const std::string& alias) {
    const std::string& name = place.name;
    if (name.empty() || name.size() >= IFNAMSIZ)
        return fail("netlink", "'" + name + "' cannot name an interface", "1 to 15 characters");
    Request request(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    request.header<ifinfomsg>().ifi_family = AF_UNSPEC;
    nlmsghdr* message = request.message();
    mnl_attr_put_strz(message, IFLA_IFNAME, name.c_str());
    mnl_attr_put_u32(message, IFLA_LINK, place.parent);
    nlattr* info = mnl_attr_nest_start(message, IFLA_LINKINFO);
    mnl_attr_put_strz(message, IFLA_INFO_KIND, "vlan");
    nlattr* data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
    mnl_attr_put_u16(message, IFLA_VLAN_ID, place.vid);
    mnl_attr_put_u16(message, IFLA_VLAN_PROTOCOL, htons(place.protocol));
    mnl_attr_nest_end(message, data);
    mnl_attr_nest_end(message, info);
    if (auto done = ask(request, "create VLAN device " + name); !done) {
        // "Unknown device type" of rtnl_newlink(): the module is neither there nor loadable.
        if (done.error().hint.empty())
            done.error().hint =
                "where the kernel has no VLAN devices (CONFIG_VLAN_8021Q), tag in the router alone";
        return tl::unexpected(done.error());
    }
    auto ifindex = index_of(name);
    if (!ifindex) {
        Request away(RTM_DELLINK, 0);
        away.header<ifinfomsg>().ifi_family = AF_UNSPEC;
        mnl_attr_put_strz(away.message(), IFLA_IFNAME, name.c_str());
        (void)ask(away, "remove VLAN device " + name);
        return ifindex;
    }
    Request label(RTM_NEWLINK, 0);
    label.header<ifinfomsg>().ifi_index = static_cast<int>(*ifindex);
    mnl_attr_put_strz(label.message(), IFLA_IFALIAS, alias.c_str());
    if (auto done = ask(label, "set the alias of VLAN device " + name); !done) {
        (void)remove_vlan_link(*ifindex);
        return tl::unexpected(done.error());
    }
    return ifindex;
}

Result<uint32_t> NetlinkKernel::index_of(const std::string& name) {
    Request request(RTM_GETLINK, 0);
    request.header<ifinfomsg>().ifi_family = AF_UNSPEC;
    mnl_attr_put_strz(request.message(), IFLA_IFNAME, name.c_str());
    uint32_t ifindex = 0;
    const auto answer = requests_->transact(request, [&](auto message) {
        const auto event = parse(message);
        if (const auto* link = event ? std::get_if<LinkEvent>(&*event) : nullptr) ifindex = link->ifindex;
    });
    if (auto done = conclude(answer, "find device " + name); !done) return tl::unexpected(done.error());
    if (ifindex == 0) return fail("netlink", "the kernel says no index of device " + name);
    return ifindex;
}

Result<void> NetlinkKernel::remove_vlan_link(uint32_t ifindex) {
    Request request(RTM_DELLINK, 0);
    auto& header = request.header<ifinfomsg>();
    header.ifi_family = AF_UNSPEC;
    header.ifi_index = static_cast<int>(ifindex);
    return ask(request, "remove the VLAN device" + on_device(ifindex), ENODEV);
}

}  // namespace pktpit::router
