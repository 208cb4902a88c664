// SPDX-License-Identifier: BSD-3-Clause
/// A small router around the slow path: a real FIB image, and everything else of the daemon faked.
///
///   port 1 = interface 1   10.1.0.1/24    2001:db8:1::1/64   02:00:00:00:00:01   neighbour A 10.1.0.2, ::2
///   port 2 = interface 2   10.2.0.1/24    2001:db8:2::1/64   02:00:00:00:00:02   neighbour B 10.2.0.2, ::2
///   port 2, tags 88a8:100 8100:200 = interface 3   10.3.0.1/24   2001:db8:3::1/64   neighbour C .2, ::2
///   192.168.1/24, 2001:db8:11::/64 by A; 192.168.2/24, 2001:db8:12::/64 by B; .3, :13 by C;
///   192.168.4/24, 2001:db8:14::/64 by D (10.2.0.4, 2001:db8:2::4), whose MAC address is not known.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "fib/image.h"
#include "packets.h"
#include "router/slow_path/slow_path.h"

namespace pktpit::router::test {

struct Sent {
    uint16_t port = 0;
    Buffer bytes;
};

class FakeEnvironment : public SlowPathEnvironment {
  public:
    ImageView view;
    std::vector<Sent> sent;
    bool transmit_works = true;
    std::vector<std::pair<uint16_t, IpAddress>> resolved;
    std::vector<std::pair<uint16_t, IpAddress>> withdrawn;
    std::map<uint32_t, IpAddress> next_hops;
    std::map<std::tuple<uint16_t, Family, bool>, IpAddress> sources;
    std::map<Family, IpAddress> any_source;
    std::set<IpAddress> broadcasts;
    std::map<uint16_t, pp_fib_adjacency> links;
    std::map<std::pair<uint16_t, IpAddress>, MacAddress> neighbours;
    std::chrono::system_clock::time_point time{};
    std::vector<std::pair<uint16_t, size_t>> counted;  ///< route counter, bytes

    ImageView image() const override { return view; }
    bool transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) override;
    void resolve(uint16_t interface, const IpAddress& next_hop) override {
        resolved.emplace_back(interface, next_hop);
    }
    void withdraw(uint16_t interface, const IpAddress& next_hop) override {
        withdrawn.emplace_back(interface, next_hop);
    }
    std::optional<IpAddress> next_hop_of(uint32_t adjacency) const override;
    std::optional<IpAddress> source_address(uint16_t interface, Family family,
                                            bool link_local) const override;
    std::optional<IpAddress> address_in_net_of(uint16_t interface, const IpAddress& address) const override;
    std::optional<IpAddress> router_address(Family family, uint16_t interface) const override;
    bool is_broadcast(const IpAddress& address, uint16_t /*interface*/) const override {
        return broadcasts.contains(address);
    }
    std::optional<pp_fib_adjacency> link_of(uint16_t interface) const override;
    std::optional<MacAddress> neighbour(uint16_t interface, const IpAddress& address) const override;
    std::chrono::system_clock::time_point time_of_day() const override { return time; }
    void count_route(uint16_t counter, size_t bytes) override { counted.emplace_back(counter, bytes); }
};

/// The image and its environment.
class SmallRouter {
  public:
    SmallRouter();
    /// Adds a route; `kind` other than FORWARD has no MAC address. Returns the adjacency.
    fib::AdjacencyId route(std::string_view prefix, uint16_t interface, std::optional<IpAddress> next_hop,
                           pp_adjacency_kind kind, std::string_view dst_mac = "00:00:00:00:00:00");
    void set_mtu(std::string_view prefix, uint32_t mtu);
    /// Its route counts with this counter from now on.
    void count(std::string_view prefix, uint16_t counter);
    /// What the daemon does when a neighbour is found: adjacency by adjacency.
    void complete(fib::AdjacencyId adjacency, std::string_view dst_mac);
    pp_fib_adjacency link(uint16_t interface) const;

    std::vector<std::byte> memory;
    fib::FibImage image;
    std::map<std::string, fib::AdjacencyId, std::less<>> adjacencies;  ///< by prefix
    FakeEnvironment environment;

  private:
    static std::span<std::byte> aligned(std::vector<std::byte>& memory);
};

class SlowPathTest : public ::testing::Test {
  protected:
    SlowPathTest() : slow_path(router.environment, limits(), 4) {}
    static config::Icmp limits() {
        return {.rate = 1'000'000, .rate_per_prefix = 100'000, .burst_per_prefix = 1000};
    }

    /// A frame arrives at a port.
    void arrive(Buffer bytes, uint16_t port = 1) { slow_path.handle(port, PP_NONE, bytes, now); }
    /// A packet, in an untagged frame to port 1.
    void arrive(const Ipv4Packet& packet) { arrive(frame(make(packet))); }
    void arrive(const Ipv6Packet& packet) { arrive(frame(make(packet))); }
    template <class Packet>
    void arrive_times(int times, const Packet& packet) {
        for (int i = 0; i < times; i++)
            arrive(packet);
    }
    /// The only frame sent since the last call.
    Buffer only_sent(uint16_t port);
    std::vector<Sent> all_sent() { return std::exchange(router.environment.sent, {}); }
    uint64_t counter(std::string_view name) const;
    /// Nothing was sent, and this is what was counted.
    void expect_silent(std::string_view name, uint64_t count = 1);
    /// Of a packet that arrives.
    template <class Packet>
    void expect_silent(const Packet& packet, std::string_view name, uint64_t count = 1) {
        arrive(packet);
        expect_silent(name, count);
    }

    SmallRouter router;
    Clock::time_point now = Clock::time_point(std::chrono::hours(1));
    SlowPath slow_path;
};

}  // namespace pktpit::router::test
