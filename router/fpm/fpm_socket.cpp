// SPDX-License-Identifier: BSD-3-Clause
#include "router/fpm/fpm_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

/// How many frames are handed on between two questions to `go_on`.
constexpr unsigned frames_a_question = 32;

struct SocketAddress {
    sockaddr_storage bytes{};
    socklen_t size = 0;
};

SocketAddress socket_address(const IpAddress& address, uint16_t port) {
    SocketAddress out;
    if (address.family == Family::ipv4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port);
        in.sin_addr.s_addr = htonl(address.v4_host_order());
        std::memcpy(&out.bytes, &in, out.size = sizeof in);
    } else {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(port);
        std::memcpy(&in.sin6_addr, address.bytes.data(), sizeof in.sin6_addr);
        std::memcpy(&out.bytes, &in, out.size = sizeof in);
    }
    return out;
}

bool set(const Fd& socket, int level, int option, int value) {
    return ::setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
}

}  // namespace

Result<Fd> fpm_listen(const IpAddress& address, uint16_t port) {
    const std::string where = "FPM at " + address.to_string() + " port " + std::to_string(port);
    const int family = address.family == Family::ipv4 ? AF_INET : AF_INET6;
    Fd listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener) return fail(where, "no socket: " + errno_text(errno));
    // A connection that has ended a moment ago does not hold the port.
    if (!set(listener, SOL_SOCKET, SO_REUSEADDR, 1)) return fail(where, "SO_REUSEADDR: " + errno_text(errno));
    if (family == AF_INET6 && !set(listener, IPPROTO_IPV6, IPV6_V6ONLY, 1))
        return fail(where, "IPV6_V6ONLY: " + errno_text(errno));
    const SocketAddress at = socket_address(address, port);
    if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at.bytes), at.size) != 0)
        return fail(
            where, "cannot listen there: " + errno_text(errno), "a free port of an address of this machine",
            errno == EADDRNOTAVAIL ? "is the interface with the address up?" : "ss -lntp names who has it");
    constexpr int backlog = 8;
    if (::listen(listener.get(), backlog) != 0)
        return fail(where, "cannot listen there: " + errno_text(errno));
    return listener;
}

std::string FpmPeer::to_string() const {
    const std::string host = address.to_string();
    return (address.family == Family::ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<FpmPeer> fpm_accept(const Fd& listener) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    Fd connection(
        ::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) return std::nullopt;
    FpmPeer peer{std::move(connection), {}, 0};
    if (from.ss_family == AF_INET6) {
        sockaddr_in6 in;
        std::memcpy(&in, &from, sizeof in);
        peer.address = IpAddress::v6(in.sin6_addr.s6_addr);
        peer.port = ntohs(in.sin6_port);
    } else {
        sockaddr_in in;
        std::memcpy(&in, &from, sizeof in);
        peer.address = IpAddress::v4(ntohl(in.sin_addr.s_addr));
        peer.port = ntohs(in.sin_port);
    }
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
