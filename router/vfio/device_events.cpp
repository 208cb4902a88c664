// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/device_events.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"
#include "offload/pci/uevent.h"

namespace pktpit::router {

Result<DeviceEvents> DeviceEvents::open() {
    Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = 1;  // the kernel's own events
    if (!socket || bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return fail("uevents", "cannot be listened to: " + errno_text(errno), "a netlink socket", "");
    return DeviceEvents(std::move(socket));
}

bool DeviceEvents::poll(const Removed& removed) const {
    std::array<char, 8192> message;
    while (true) {
        sockaddr_nl sender{};
        socklen_t length = sizeof sender;
        const ssize_t got = recvfrom(socket_.get(), message.data(), message.size(), 0,
                                     reinterpret_cast<sockaddr*>(&sender), &length);
        if (got < 0) return errno != ENOBUFS;
        if (sender.nl_pid != 0) continue;  // only the kernel's word counts
        if (const auto function = offload::removed_function({message.data(), static_cast<size_t>(got)}))
            removed(*function);
    }
}

}  // namespace pktpit::router
