// SPDX-License-Identifier: BSD-3-Clause
#include "base/socket_address.h"

#include <netinet/in.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"

namespace pktpit {
namespace {

bool set(const Fd& socket, int level, int option, int value) {
    return ::setsockopt(socket.get(), level, option, &value, sizeof value) == 0;
}

const char* hint_of(int error) {
    if (error == EACCES) return "ports below 1024 are for those alone who may bind them";
    return "ss -lntp names who has it";
}

}  // namespace

SocketAddress::SocketAddress(const IpAddress& address, uint16_t port) {
    if (address.family == Family::ipv4) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port);
        in.sin_addr.s_addr = htonl(address.v4_host_order());
        std::memcpy(&bytes, &in, size = sizeof in);
    } else {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(port);
        std::memcpy(&in.sin6_addr, address.bytes.data(), sizeof in.sin6_addr);
        std::memcpy(&bytes, &in, size = sizeof in);
    }
}

std::string IpEndpoint::to_string() const {
    const std::string host = address.to_string();
    return (address.family == Family::ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::optional<IpEndpoint> endpoint_of(const sockaddr_storage& address) {
    if (address.ss_family == AF_INET6) {
        sockaddr_in6 in;
        std::memcpy(&in, &address, sizeof in);
        return IpEndpoint{IpAddress::v6(in.sin6_addr.s6_addr), ntohs(in.sin6_port)};
    }
    if (address.ss_family != AF_INET) return std::nullopt;
    sockaddr_in in;
    std::memcpy(&in, &address, sizeof in);
    return IpEndpoint{IpAddress::v4(ntohl(in.sin_addr.s_addr)), ntohs(in.sin_port)};
}

bool is_of_this_host(const IpAddress& address) {
    const int family = address.is_v4() ? AF_INET : AF_INET6;
    const Fd probe(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const SocketAddress at(address, 0);
    return probe && ::bind(probe.get(), at.get(), at.size) == 0;
}

Result<Fd> listen_tcp(const IpAddress& address, uint16_t port, int backlog) {
    const std::string where = IpEndpoint{address, port}.to_string();
    const int family = address.family == Family::ipv4 ? AF_INET : AF_INET6;
    Fd listener(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!listener) return fail(where, "no socket: " + errno_text(errno));
    // A connection that has ended a moment ago does not hold the port.
    if (!set(listener, SOL_SOCKET, SO_REUSEADDR, 1)) return fail(where, "SO_REUSEADDR: " + errno_text(errno));
    if (family == AF_INET6 && !set(listener, IPPROTO_IPV6, IPV6_V6ONLY, 1))
        return fail(where, "IPV6_V6ONLY: " + errno_text(errno));
    const bool free = family == AF_INET ? set(listener, IPPROTO_IP, IP_FREEBIND, 1)
                                        : set(listener, IPPROTO_IPV6, IPV6_FREEBIND, 1);
    if (!free) return fail(where, "IP_FREEBIND: " + errno_text(errno));
    const SocketAddress at(address, port);
    if (::bind(listener.get(), at.get(), at.size) != 0)
        return fail(where, "cannot listen there: " + errno_text(errno), "a port that nobody has there",
                    hint_of(errno));
    if (::listen(listener.get(), backlog) != 0)
        return fail(where, "cannot listen there: " + errno_text(errno));
    return listener;
}

}  // namespace pktpit
