// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/keeper_link.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

constexpr std::chrono::milliseconds ask_again{20};

void set_patience(int socket, std::chrono::milliseconds patience) {
    timeval time{};
    time.tv_sec = patience.count() / 1000;
    time.tv_usec = patience.count() % 1000 * 1000;
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

Result<Fd> connect_to(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) return fail(path, "is too long for a socket", "", "");
    std::memcpy(address.sun_path, path.data(), path.size());
    Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    if (!socket) return fail(path, "no socket is left: " + errno_text(errno), "", "");
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
        return socket;
    if (errno == ENOENT || errno == ECONNREFUSED) return Fd();
    return fail(path, "cannot be connected to: " + errno_text(errno), "the socket of a keeper", "");
}

/// Who answers there.
std::string process_of(int socket) {
    ucred who{};
    socklen_t size = sizeof who;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return "PID";
    return std::to_string(who.pid);
}

}  // namespace

KeeperMessage::KeeperMessage(What wanted, std::string_view called, uint64_t place, uint32_t patience)
    : what(wanted), patience_ms(patience), offset(place) {
    called.copy(name.data(), name.size() - 1);
}

std::string KeeperMessage::called() const {
    return {name.data(), strnlen(name.data(), name.size())};
}

bool send_to_keeper(int socket, const KeeperMessage& message, std::span<const int> descriptors) {
    alignas(cmsghdr) char beside[CMSG_SPACE(most_descriptors * sizeof(int))]{};
    iovec part{const_cast<KeeperMessage*>(&message), sizeof message};
    msghdr whole{};
    whole.msg_iov = &part;
    whole.msg_iovlen = 1;
    if (!descriptors.empty()) {
        whole.msg_control = beside;
        whole.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* rights = CMSG_FIRSTHDR(&whole);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    return sendmsg(socket, &whole, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
}

std::optional<ReceivedMessage> receive_for_keeper(int socket) {
    alignas(cmsghdr) char beside[CMSG_SPACE(most_descriptors * sizeof(int))]{};
    ReceivedMessage received;
    iovec part{&received.message, sizeof received.message};
    msghdr whole{};
    whole.msg_iov = &part;
    whole.msg_iovlen = 1;
    whole.msg_control = beside;
    whole.msg_controllen = sizeof beside;
    const ssize_t got = recvmsg(socket, &whole, MSG_CMSG_CLOEXEC);
    for (cmsghdr* rights = CMSG_FIRSTHDR(&whole); got >= 0 && rights; rights = CMSG_NXTHDR(&whole, rights)) {
        if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS) continue;
        const size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int descriptor = -1;
            std::memcpy(&descriptor, CMSG_DATA(rights) + i * sizeof descriptor, sizeof descriptor);
            received.descriptors.emplace_back(descriptor);
        }
    }
    if (got != static_cast<ssize_t>(sizeof received.message) ||
        (whole.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        return std::nullopt;
    return received;
}

Result<unsigned> end_keeper(const std::string& path, std::chrono::milliseconds grace,
                            std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + grace;
    while (true) {
        auto socket = connect_to(path);
        if (!socket) return tl::unexpected(socket.error());
        if (!*socket) return 0U;
        set_patience(socket->get(), patience);
        KeeperReply reply;
        errno = 0;
        const bool answered =
            send_to_keeper(socket->get(), {KeeperMessage::What::let_go, {}}, {}) &&
            recv(socket->get(), &reply, sizeof reply, 0) == static_cast<ssize_t>(sizeof reply);
        const bool silent = !answered && (errno == EAGAIN || errno == EWOULDBLOCK);
        if (answered && reply.done) return reply.devices;
        if (!answered && !silent) return 0U;  // it has just ended
        const std::string process = process_of(socket->get());
        if (silent)
            return fail(
                path, "the process that keeps an earlier daemon's devices (" + process + ") does not answer",
                "an answer within " + std::to_string(patience.count()) + " ms",
                "kill -9 " + process + " resets its NICs");
        // A daemon that was killed a moment ago may not have gone yet.
        if (std::chrono::steady_clock::now() > end)
            return fail(path, "the daemon whose devices are kept by process " + process + " still lives",
                        "one daemon an instance", "stop it first");
        std::this_thread::sleep_for(ask_again);
    }
}

}  // namespace pktpit::router
