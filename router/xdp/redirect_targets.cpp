// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/redirect_targets.h"

#include <linux/genetlink.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cstring>
#include <functional>
#include <span>

#include "router/xdp/ethtool.h"

namespace pktpit::router {
namespace {

// linux/netdev.h, which Debian 12's kernel headers do not have yet.
constexpr uint8_t netdev_cmd_dev_get = 1;
constexpr uint16_t netdev_a_dev_ifindex = 1;
constexpr uint16_t netdev_a_dev_xdp_features = 3;
constexpr uint64_t netdev_xdp_act_ndo_xmit = 4;
constexpr const char* events_group = "mgmt";

using Visit = std::function<void(const nlattr*)>;

void for_each_attribute(const char* at, const char* end, const Visit& visit) {
    while (at < end) {
        const auto* attribute = reinterpret_cast<const nlattr*>(at);
        if (!mnl_attr_ok(attribute, static_cast<int>(end - at))) return;
        visit(attribute);
        at += MNL_ALIGN(attribute->nla_len);
    }
}

void for_each_nested(const nlattr* in, const Visit& visit) {
    const auto* payload = static_cast<const char*>(mnl_attr_get_payload(in));
    for_each_attribute(payload, payload + mnl_attr_get_payload_len(in), visit);
}

/// Sends the request that lies in `buffer`, and shows every attribute of its answer. False: refused, or no
/// answer within a second.
bool ask(mnl_socket* socket, uint32_t sequence, nlmsghdr* request, const Visit& visit) {
    request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    request->nlmsg_seq = sequence;
    if (mnl_socket_sendto(socket, request, request->nlmsg_len) < 0) return false;
    alignas(8) std::array<char, 16384> buffer{};
    while (true) {
        const ssize_t length = mnl_socket_recvfrom(socket, buffer.data(), buffer.size());
        if (length <= 0) return false;
        int left = static_cast<int>(length);
        for (const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
             mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
            if (message->nlmsg_seq != sequence) continue;
            if (message->nlmsg_type == NLMSG_ERROR) {
                int error = 0;
                std::memcpy(&error, mnl_nlmsg_get_payload(message), sizeof error);
                return error == 0;
            }
            for_each_attribute(
                static_cast<const char*>(mnl_nlmsg_get_payload_offset(message, sizeof(genlmsghdr))),
                static_cast<const char*>(mnl_nlmsg_get_payload_tail(message)), visit);
        }
    }
}

nlmsghdr* begin(std::span<char> buffer, uint16_t type, uint8_t command) {
    nlmsghdr* message = mnl_nlmsg_put_header(buffer.data());
    message->nlmsg_type = type;
    auto* header = static_cast<genlmsghdr*>(mnl_nlmsg_put_extra_header(message, sizeof(genlmsghdr)));
    header->cmd = command;
    header->version = 1;
    return message;
}

struct NetlinkFamily {
    uint16_t id = 0;
    uint32_t events = 0;
};

void read_groups(const nlattr* groups, NetlinkFamily& family) {
    for_each_nested(groups, [&](const nlattr* group) {
        uint32_t id = 0;
        bool wanted = false;
        for_each_nested(group, [&](const nlattr* attribute) {
            if (mnl_attr_get_type(attribute) == CTRL_ATTR_MCAST_GRP_ID) id = mnl_attr_get_u32(attribute);
            if (mnl_attr_get_type(attribute) == CTRL_ATTR_MCAST_GRP_NAME)
                wanted = std::strcmp(mnl_attr_get_str(attribute), events_group) == 0;
        });
        if (wanted) family.events = id;
    });
}

std::optional<NetlinkFamily> find_family(mnl_socket* socket) {
    alignas(8) std::array<char, 256> buffer{};
    nlmsghdr* request = begin(buffer, GENL_ID_CTRL, CTRL_CMD_GETFAMILY);
    mnl_attr_put_strz(request, CTRL_ATTR_FAMILY_NAME, "netdev");
    NetlinkFamily family;
    const bool answered = ask(socket, 1, request, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == CTRL_ATTR_FAMILY_ID) family.id = mnl_attr_get_u16(attribute);
        if (mnl_attr_get_type(attribute) == CTRL_ATTR_MCAST_GROUPS) read_groups(attribute, family);
    });
    return answered && family.id != 0 ? std::optional(family) : std::nullopt;
}

}  // namespace

std::unique_ptr<RedirectTargets> RedirectTargets::open() {
    Socket requests(mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC));
    Socket events(mnl_socket_open2(NETLINK_GENERIC, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!requests || !events || mnl_socket_bind(requests.get(), 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_bind(events.get(), 0, MNL_SOCKET_AUTOPID) < 0)
        return nullptr;
    const timeval patience{1, 0};
    setsockopt(mnl_socket_get_fd(requests.get()), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const auto family = find_family(requests.get());
    if (!family) return nullptr;
    if (family->events != 0) {
        int group = static_cast<int>(family->events);
        (void)mnl_socket_setsockopt(events.get(), NETLINK_ADD_MEMBERSHIP, &group, sizeof group);
    }
    return std::unique_ptr<RedirectTargets>(
        new RedirectTargets(std::move(requests), std::move(events), family->id));
}

bool RedirectTargets::changed() {
    std::array<char, 8192> buffer{};
    bool any = false;
    while (mnl_socket_recvfrom(events_.get(), buffer.data(), buffer.size()) > 0)
        any = true;
    return any;
}

std::optional<bool> RedirectTargets::takes_redirects(uint32_t ifindex) {
    alignas(8) std::array<char, 256> buffer{};
    nlmsghdr* request = begin(buffer, family_, netdev_cmd_dev_get);
    mnl_attr_put_u32(request, netdev_a_dev_ifindex, ifindex);
    std::optional<uint64_t> features;
    const bool answered = ask(requests_.get(), ++sequence_, request, [&](const nlattr* attribute) {
        if (mnl_attr_get_type(attribute) == netdev_a_dev_xdp_features &&
            mnl_attr_get_payload_len(attribute) == sizeof(uint64_t))
            features = mnl_attr_get_u64(attribute);
    });
    if (!answered || !features) return std::nullopt;
    return (*features & netdev_xdp_act_ndo_xmit) != 0;
}

bool wants_headroom(const std::string& device) {
    return Ethtool(device).driver() == "virtio_net";
}

std::string why_no_headroom() {
    return "its device takes no frames that other ports receive with zero-copy (virtio_net wants room in "
           "front of them)";
}

std::string why_no_redirects(const std::string& device) {
    const std::string what = "its device takes no redirected frames";
    if (Ethtool(device).driver() == "veth")
        return what +
               " (the far end of the veth pair has neither GRO nor an XDP program; there: ethtool -K DEVICE "
               "gro on)";
    return what + " (its driver sends none for XDP)";
}

}  // namespace pktpit::router
