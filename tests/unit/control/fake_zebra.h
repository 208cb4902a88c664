// SPDX-License-Identifier: BSD-3-Clause
/// zebra as the daemon's peer: connects over loopback and sends routes, one frame each.
#pragma once

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/socket_address.h"
#include "router/fpm/fpm_socket.h"
#include "tests/unit/control/faults.h"

namespace pktpit::router::fake {

class Zebra {
  public:
    explicit Zebra(Faults& faults) : faults_(faults) {}
    ~Zebra() {
        // Ends at once, and leaves no port in TIME_WAIT.
        const linger at_once{1, 0};
        ::setsockopt(connection_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    }
    Zebra(const Zebra&) = delete;
    Zebra& operator=(const Zebra&) = delete;

    /// Of the daemon: whatever port is wanted, a free one is had.
    Result<Fd> listen(uint16_t wanted) {
        if (auto allowed = faults_.call("listen at " + std::to_string(wanted)); !allowed)
            return tl::unexpected(allowed.error());
        auto listener = fpm_listen(loopback(), 0);
        if (!listener) return listener;
        SocketAddress bound;
        bound.size = sizeof bound.bytes;
        (void)::getsockname(listener->get(), reinterpret_cast<sockaddr*>(&bound.bytes), &bound.size);
        port_ = endpoint_of(bound.bytes).value().port;
        return listener;
    }
    [[nodiscard]] bool connect() {
        connection_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const SocketAddress to(loopback(), port_);
        return ::connect(connection_.get(), to.get(), to.size) == 0;
    }
    [[nodiscard]] bool send_route(const Prefix& prefix, uint32_t table, uint32_t ifindex,
                                  const IpAddress& gateway) {
        std::vector<uint8_t> bytes(4 + NLMSG_SPACE(sizeof(rtmsg)));
        auto put = [&](uint16_t type, const void* data, size_t size) {
            const rtattr head{static_cast<uint16_t>(RTA_LENGTH(size)), type};
            const size_t at = bytes.size();
            bytes.resize(at + RTA_SPACE(size));
            std::memcpy(&bytes[at], &head, sizeof head);
            std::memcpy(&bytes[at + RTA_LENGTH(0)], data, size);
        };
        put(RTA_TABLE, &table, sizeof table);
        put(RTA_DST, prefix.address.bytes.data(), 4);
        put(RTA_GATEWAY, gateway.bytes.data(), 4);
        put(RTA_OIF, &ifindex, sizeof ifindex);
        rtmsg route{};
        route.rtm_family = AF_INET;
        route.rtm_dst_len = prefix.length;
        route.rtm_protocol = RTPROT_BGP;
        route.rtm_type = RTN_UNICAST;
        const nlmsghdr head{static_cast<uint32_t>(bytes.size() - 4), RTM_NEWROUTE,
                            NLM_F_REQUEST | NLM_F_CREATE, 0, 0};
        std::memcpy(&bytes[4], &head, sizeof head);
        std::memcpy(&bytes[4 + NLMSG_HDRLEN], &route, sizeof route);
        const uint8_t frame[4] = {1, 1, static_cast<uint8_t>(bytes.size() >> 8),
                                  static_cast<uint8_t>(bytes.size())};
        std::memcpy(bytes.data(), frame, sizeof frame);
        return ::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(bytes.size());
    }

  private:
    static IpAddress loopback() { return IpAddress::parse("127.0.0.1").value(); }
    Faults& faults_;
    uint16_t port_ = 0;
    Fd connection_;
};

}  // namespace pktpit::router::fake
