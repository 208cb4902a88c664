// SPDX-License-Identifier: BSD-3-Clause
/// Addresses with ports as the socket calls take and give them, and listening TCP sockets. Any thread;
/// nothing blocks.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "base/address.h"
#include "base/fd.h"
#include "base/result.h"

namespace pktpit {

struct SocketAddress {
    sockaddr_storage bytes{};
    socklen_t size = 0;

    SocketAddress() = default;
    SocketAddress(const IpAddress& address, uint16_t port);
    [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

struct IpEndpoint {
    IpAddress address;
    uint16_t port = 0;
    [[nodiscard]] std::string to_string() const;  ///< "192.0.2.1:80", "[2001:db8::1]:80"
};
/// Nothing: neither IPv4 nor IPv6.
std::optional<IpEndpoint> endpoint_of(const sockaddr_storage& address);

/// Is it one of this machine's addresses now? `any` and loopback addresses are.
bool is_of_this_host(const IpAddress& address);

/// A TCP socket that listens, IPV6_V6ONLY, close-on-exec, non-blocking; also at an address that the machine
/// does not have yet (IP_FREEBIND): it answers once the address is there. Error: the port is in use.
Result<Fd> listen_tcp(const IpAddress& address, uint16_t port, int backlog);

}  // namespace pktpit
