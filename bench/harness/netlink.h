// SPDX-License-Identifier: BSD-3-Clause
/// What the benchmark asks of the kernel's network configuration, over rtnetlink: veth pairs, addresses,
/// static neighbours, and routes by the hundred thousand. Blocking; one thread. Works on the namespace that
/// the thread was in when the object was made.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/address.h"

struct mnl_socket;
struct nlmsghdr;

namespace pktpit::bench::harness {

class Netlink {
  public:
    Netlink();
    ~Netlink();

    /// A veth pair: `name` here, `peer` in the other namespace; both down, with these MAC addresses.
    void add_veth(const std::string& name, const MacAddress& mac, const std::string& peer,
                  const MacAddress& peer_mac, int peer_namespace);
    void set_up(uint32_t ifindex);
    void add_address(uint32_t ifindex, const InterfaceAddress& address);
    void remove_address(uint32_t ifindex, const InterfaceAddress& address);
    void add_permanent_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac);
    /// All prefixes by way of one gateway. Many messages a system call; about 2 s for a million.
    void add_routes(std::span<const Prefix> prefixes, const IpAddress& gateway, uint32_t ifindex);

  private:
    void request(nlmsghdr* message, const std::string& what);
    void change_address(uint16_t type, uint16_t flags, uint32_t ifindex, const InterfaceAddress& address,
                        const std::string& what);
    void send_batch(std::span<const char> messages, uint32_t last_sequence);

    struct Close {
        void operator()(mnl_socket* socket) const;
    };
    std::unique_ptr<mnl_socket, Close> socket_;
    uint32_t sequence_ = 0;
};

}  // namespace pktpit::bench::harness
