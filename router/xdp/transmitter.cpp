// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/transmitter.h"

#include <linux/if_packet.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>

#include "base/errno_text.h"

namespace pktpit::router {

Result<Transmitter> Transmitter::open() {
    // Protocol 0: this socket sends and never receives.
    Fd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket)
        return fail("AF_PACKET", "cannot open a packet socket: " + errno_text(errno), "CAP_NET_RAW",
                    "run as root");
    return Transmitter(std::move(socket));
}

bool Transmitter::send(uint32_t ifindex, std::span<const std::span<const uint8_t>> parts) const {
    std::array<iovec, 4> vector{};
    if (parts.size() > vector.size()) return false;
    for (size_t i = 0; i < parts.size(); i++)
        vector[i] = {const_cast<uint8_t*>(parts[i].data()), parts[i].size()};
    sockaddr_ll to{};
    to.sll_family = AF_PACKET;
    to.sll_ifindex = static_cast<int>(ifindex);
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof to;
    message.msg_iov = vector.data();
    message.msg_iovlen = parts.size();
    return sendmsg(socket_.get(), &message, 0) >= 0;
}

}  // namespace pktpit::router
