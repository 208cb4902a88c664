// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/netlink.h"

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "bench/harness/failure.h"

namespace pktpit::bench::harness {
namespace {

constexpr size_t batch_bytes = 256 * 1024;
constexpr size_t largest_message = 512;

unsigned char family_of(const IpAddress& address) {
    return address.is_v4() ? AF_INET : AF_INET6;
}

void put_address(nlmsghdr* message, uint16_t type, const IpAddress& address) {
    mnl_attr_put(message, type, address.size(), address.bytes.data());
}

template <class Header>
Header* put_header(nlmsghdr* message, uint16_t type, uint16_t flags) {
    message->nlmsg_type = type;
    message->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | flags);
    return static_cast<Header*>(mnl_nlmsg_put_extra_header(message, sizeof(Header)));
}

}  // namespace

void Netlink::Close::operator()(mnl_socket* socket) const {
    mnl_socket_close(socket);
}

Netlink::Netlink() : socket_(mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC)) {
    if (!socket_ || mnl_socket_bind(socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0) fail_errno("open rtnetlink");
    const int bytes = 4 << 20;
    setsockopt(mnl_socket_get_fd(socket_.get()), SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes);
    setsockopt(mnl_socket_get_fd(socket_.get()), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
}

Netlink::~Netlink() = default;

void Netlink::send_batch(std::span<const char> messages, uint32_t last_sequence) {
    if (mnl_socket_sendto(socket_.get(), messages.data(), messages.size()) < 0)
        fail_errno("send to rtnetlink");
    // Messages are taken in order and only errors and the last one are answered.
    std::vector<char> buffer(64 * 1024);
    while (true) {
        const ssize_t bytes = mnl_socket_recvfrom(socket_.get(), buffer.data(), buffer.size());
        if (bytes < 0) fail_errno("receive from rtnetlink");
        int left = static_cast<int>(bytes);
        for (auto* answer = reinterpret_cast<nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(answer, left);
             answer = mnl_nlmsg_next(answer, &left)) {
            if (answer->nlmsg_type != NLMSG_ERROR) continue;
            const auto* error = static_cast<const nlmsgerr*>(mnl_nlmsg_get_payload(answer));
            if (error->error != 0) fail_with(error->error, "rtnetlink request refused");
            if (answer->nlmsg_seq == last_sequence) return;
        }
    }
}

void Netlink::request(nlmsghdr* message, const std::string& what) {
    message->nlmsg_flags |= NLM_F_ACK;
    message->nlmsg_seq = ++sequence_;
    try {
        send_batch({reinterpret_cast<const char*>(message), message->nlmsg_len}, message->nlmsg_seq);
    } catch (const Failure& failure) {
        throw Failure(what + ": " + failure.what());
    }
}

void Netlink::add_veth(const std::string& name, const MacAddress& mac, const std::string& peer,
                       const MacAddress& peer_mac, int peer_namespace) {
    std::vector<char> buffer(2048);
    nlmsghdr* message = mnl_nlmsg_put_header(buffer.data());
    put_header<ifinfomsg>(message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL)->ifi_family = AF_UNSPEC;
    mnl_attr_put_strz(message, IFLA_IFNAME, name.c_str());
    mnl_attr_put(message, IFLA_ADDRESS, mac.bytes.size(), mac.bytes.data());
    nlattr* info = mnl_attr_nest_start(message, IFLA_LINKINFO);
    mnl_attr_put_strz(message, IFLA_INFO_KIND, "veth");
    nlattr* data = mnl_attr_nest_start(message, IFLA_INFO_DATA);
    nlattr* other = mnl_attr_nest_start(message, VETH_INFO_PEER);
    static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(message, sizeof(ifinfomsg)))->ifi_family = AF_UNSPEC;
    mnl_attr_put_strz(message, IFLA_IFNAME, peer.c_str());
    mnl_attr_put(message, IFLA_ADDRESS, peer_mac.bytes.size(), peer_mac.bytes.data());
    mnl_attr_put_u32(message, IFLA_NET_NS_FD, static_cast<uint32_t>(peer_namespace));
    mnl_attr_nest_end(message, other);
    mnl_attr_nest_end(message, data);
    mnl_attr_nest_end(message, info);
    request(message, "create veth pair " + name + " - " + peer);
}

void Netlink::set_up(uint32_t ifindex) {
    std::vector<char> buffer(1024);
    nlmsghdr* message = mnl_nlmsg_put_header(buffer.data());
    auto* link = put_header<ifinfomsg>(message, RTM_NEWLINK, 0);
    link->ifi_index = static_cast<int>(ifindex);
    link->ifi_flags = IFF_UP;
    link->ifi_change = IFF_UP;
    request(message, "set a link up");
}

void Netlink::add_address(uint32_t ifindex, const InterfaceAddress& address) {
    change_address(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, ifindex, address, "add");
}

void Netlink::remove_address(uint32_t ifindex, const InterfaceAddress& address) {
    change_address(RTM_DELADDR, 0, ifindex, address, "remove");
}

void Netlink::change_address(uint16_t type, uint16_t flags, uint32_t ifindex, const InterfaceAddress& address,
                             const std::string& what) {
    std::vector<char> buffer(1024);
    nlmsghdr* message = mnl_nlmsg_put_header(buffer.data());
    auto* header = put_header<ifaddrmsg>(message, type, flags);
    header->ifa_family = family_of(address.address);
    header->ifa_prefixlen = address.length;
    header->ifa_index = ifindex;
    header->ifa_flags = IFA_F_NODAD;
    put_address(message, IFA_LOCAL, address.address);
    put_address(message, IFA_ADDRESS, address.address);
    request(message, what + " address " + address.to_string());
}

void Netlink::add_permanent_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac) {
    std::vector<char> buffer(1024);
    nlmsghdr* message = mnl_nlmsg_put_header(buffer.data());
    auto* header = put_header<ndmsg>(message, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE);
    header->ndm_family = family_of(address);
    header->ndm_ifindex = static_cast<int>(ifindex);
    header->ndm_state = NUD_PERMANENT;
    put_address(message, NDA_DST, address);
    mnl_attr_put(message, NDA_LLADDR, mac.bytes.size(), mac.bytes.data());
    request(message, "add neighbour " + address.to_string());
}

void Netlink::add_routes(std::span<const Prefix> prefixes, const IpAddress& gateway, uint32_t ifindex) {
    std::vector<char> buffer(batch_bytes);
    size_t used = 0;
    for (size_t i = 0; i < prefixes.size(); i++) {
        nlmsghdr* message = mnl_nlmsg_put_header(buffer.data() + used);
        auto* route = put_header<rtmsg>(message, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE);
        route->rtm_family = family_of(gateway);
        route->rtm_dst_len = prefixes[i].length;
        route->rtm_table = RT_TABLE_MAIN;
        route->rtm_protocol = RTPROT_STATIC;
        route->rtm_scope = RT_SCOPE_UNIVERSE;
        route->rtm_type = RTN_UNICAST;
        put_address(message, RTA_DST, prefixes[i].address);
        put_address(message, RTA_GATEWAY, gateway);
        mnl_attr_put_u32(message, RTA_OIF, ifindex);
        message->nlmsg_seq = ++sequence_;
        used += MNL_ALIGN(message->nlmsg_len);
        if (used + largest_message > buffer.size() || i + 1 == prefixes.size()) {
            message->nlmsg_flags |= NLM_F_ACK;
            send_batch({buffer.data(), used}, message->nlmsg_seq);
            used = 0;
        }
    }
}

}  // namespace pktpit::bench::harness
