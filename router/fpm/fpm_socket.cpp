// SPDX-License-Identifier: BSD-3-Clause
#include "router/fpm/fpm_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/errno_text.h"
#include "base/socket_address.h"

namespace pktpit::router {
namespace {

/// How many frames are handed on between two questions to `go_on`.
constexpr unsigned frames_a_question = 32;

bool set(const Fd& socket, int level, int option, int value) {
    return ::setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
}

}  // namespace

Result<Fd> fpm_listen(const IpAddress& address, uint16_t port) {
    constexpr int backlog = 8;
    return listen_tcp(address, port, backlog);
}

std::string FpmPeer::to_string() const {
    return IpEndpoint{address, port}.to_string();
}

std::optional<FpmPeer> fpm_accept(const Fd& listener) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Fd connection(
        ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return std::nullopt;
    const auto endpoint = endpoint_of(from);
    if (!endpoint) return std::nullopt;
    FpmPeer peer{std::move(connection), endpoint->address, endpoint->port};
    // zebra has nothing to say for hours: a machine that has gone is noticed all the same, so that it may
    // come back. Without them it is noticed later.
    (void)set(peer.connection, SOL_SOCKET, SO_KEEPALIVE, 1);
    (void)set(peer.connection, IPPROTO_TCP, TCP_KEEPIDLE, 10);
    (void)set(peer.connection, IPPROTO_TCP, TCP_KEEPINTVL, 5);
    (void)set(peer.connection, IPPROTO_TCP, TCP_KEEPCNT, 3);
    return peer;
}

bool fpm_may_connect(const IpAddress& peer, const std::vector<Prefix>& from) {
    if (from.empty()) return peer.is_loopback();
    return std::ranges::any_of(from, [&](const Prefix& prefix) { return prefix.contains(peer); });
}

Result<FpmStream::State> FpmStream::read(const Frame& frame, const std::function<bool()>& go_on) {
    holds_frames_ = false;
    for (unsigned handed = 1;; handed++) {
        const auto next = framer_.frame();
        if (!next) return tl::unexpected(next.error());
        if (!next->empty()) {
            if (auto handled = frame(*next); !handled) {
                Error error = handled.error();
                error.where = "frame " + std::to_string(framer_.frames()) + ", " + error.where;
                return tl::unexpected(std::move(error));
            }
            if (handed % frames_a_question != 0 || go_on()) continue;
            holds_frames_ = true;
            return State::open;
        }
        if (!go_on()) return State::open;
        const auto room = framer_.room();
        const ssize_t got = ::recv(connection_.get(), room.data(), room.size(), 0);
        if (got > 0) {
            bytes_ += static_cast<uint64_t>(got);
            framer_.filled(static_cast<size_t>(got));
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return State::open;
        if (framer_.waiting() != 0)
            return fail("frame " + std::to_string(framer_.frames() + 1),
                        "the connection ended after " + std::to_string(framer_.waiting()) + " bytes of it" +
                            (got < 0 ? ": " + errno_text(errno) : ""),
                        "whole frames");
        return State::closed;
    }
}

}  // namespace pktpit::router
