// SPDX-License-Identifier: BSD-3-Clause
#include "router/aggregation/group_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/errno_text.h"

namespace pktpit::router {

Result<GroupSocket> GroupSocket::open(uint16_t port) {
    const std::string where = "UDP port " + std::to_string(port);
    Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    if (!socket || setsockopt(socket.get(), IPPROTO_IP, IP_PKTINFO, &on, sizeof on) != 0)
        return fail(where, "cannot open a socket: " + errno_text(errno));
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(port);
    if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
        return fail(where, "cannot listen there: " + errno_text(errno), "a port that nobody else has",
                    errno == EADDRINUSE ? "ss -ulnp names who has it" : "");
    return GroupSocket(std::move(socket));
}

void GroupSocket::receive(unsigned most,
                          const std::function<void(const WorkerPeer&, std::span<const uint8_t>)>& handler) {
    std::array<uint8_t, 512> bytes{};
    for (; most > 0; most--) {
        sockaddr_in from{};
        iovec vector{bytes.data(), bytes.size()};
        alignas(cmsghdr) std::array<char, 128> control{};
        msghdr message{};
        message.msg_name = &from;
        message.msg_namelen = sizeof from;
        message.msg_iov = &vector;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t length = recvmsg(socket_.get(), &message, 0);
        if (length < 0) return;
        WorkerPeer peer{from.sin_addr.s_addr, from.sin_port, 0};
        for (cmsghdr* one = CMSG_FIRSTHDR(&message); one != nullptr; one = CMSG_NXTHDR(&message, one)) {
            if (one->cmsg_level != IPPROTO_IP || one->cmsg_type != IP_PKTINFO) continue;
            in_pktinfo info{};
            std::memcpy(&info, CMSG_DATA(one), sizeof info);
            peer.router = info.ipi_addr.s_addr;
        }
        handler(peer, std::span(bytes).first(static_cast<size_t>(length)));
    }
}

void GroupSocket::send(const WorkerPeer& peer, std::span<const uint8_t> datagram) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_addr.s_addr = peer.address;
    to.sin_port = peer.port;
    iovec vector{const_cast<uint8_t*>(datagram.data()), datagram.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(in_pktinfo))> control{};
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = sizeof to;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* one = CMSG_FIRSTHDR(&message);
    one->cmsg_level = IPPROTO_IP;
    one->cmsg_type = IP_PKTINFO;
    one->cmsg_len = CMSG_LEN(sizeof(in_pktinfo));
    in_pktinfo info{};
    info.ipi_spec_dst.s_addr = peer.router;
    std::memcpy(CMSG_DATA(one), &info, sizeof info);
    (void)sendmsg(socket_.get(), &message, 0);
}

}  // namespace pktpit::router
