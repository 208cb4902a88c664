// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/topology.h"

#include <unistd.h>

#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/netlink.h"

namespace pktpit::bench::harness {
namespace {

template <class T>
T must(Result<T> value) {
    if (!value) throw Failure(value.error().to_string());
    return std::move(*value);
}

Addressing make_addressing(const char* source, const char* ingress, const char* egress,
                           const char* next_hop) {
    return {must(IpAddress::parse(source)), must(InterfaceAddress::parse(ingress)),
            must(InterfaceAddress::parse(egress)), must(IpAddress::parse(next_hop))};
}

MacAddress mac_of(unsigned topology, unsigned port) {
    return {{0x02, 0x50, 0x42, static_cast<uint8_t>(topology >> 8), static_cast<uint8_t>(topology),
             static_cast<uint8_t>(port)}};
}

void bring_up(const Port& port) {
    Netlink netlink;
    netlink.set_up(port.ifindex);
}

/// No router solicitations, no neighbour discovery: the only frames on the wire are the benchmark's.
void silence_ipv6() {
    set_sysctl("net/ipv6/conf/default/disable_ipv6", "1");
}

}  // namespace

const Addressing& addressing(Family family) {
    static const Addressing v4 =
        make_addressing("198.18.0.2", "198.18.0.1/24", "198.18.1.1/24", "198.18.1.2");
    static const Addressing v6 =
        make_addressing("2001:2:0:a::2", "2001:2:0:a::1/64", "2001:2:0:b::1/64", "2001:2:0:b::2");
    return family == Family::ipv4 ? v4 : v6;
}

Topology::Topology() {
    static unsigned count = 0;
    const unsigned number = count++;
    const std::string stem = "pb" + std::to_string(getpid()) + "x" + std::to_string(number);
    source_port_ = {stem + "s", 0, mac_of(number, 1)};
    ingress_ = {stem + "i", 0, mac_of(number, 2)};
    egress_ = {stem + "o", 0, mac_of(number, 3)};
    sink_port_ = {stem + "k", 0, mac_of(number, 4)};
    {
        const InNamespace here(router_);
        set_sysctl("net/ipv6/conf/default/accept_dad", "0");
        set_sysctl("net/ipv6/conf/default/router_solicitations", "0");
        Netlink netlink;
        netlink.add_veth(ingress_.device, ingress_.mac, source_port_.device, source_port_.mac,
                         source_.descriptor());
        netlink.add_veth(egress_.device, egress_.mac, sink_port_.device, sink_port_.mac, sink_.descriptor());
        ingress_.ifindex = interface_index(ingress_.device);
        egress_.ifindex = interface_index(egress_.device);
        // Without GRO (or XDP) veth has no NAPI, and frames redirected into it are lost.
        enable_gro(ingress_.device);
        bring_up(ingress_);
        bring_up(egress_);
        for (const Family family : {Family::ipv4, Family::ipv6}) {
            netlink.add_address(ingress_.ifindex, addressing(family).ingress);
            netlink.add_address(egress_.ifindex, addressing(family).egress);
        }
    }
    {
        const InNamespace here(source_);
        silence_ipv6();
        source_port_.ifindex = interface_index(source_port_.device);
        set_sysctl("net/ipv6/conf/" + source_port_.device + "/disable_ipv6", "1");
        bring_up(source_port_);
    }
    {
        const InNamespace here(sink_);
        silence_ipv6();
        sink_port_.ifindex = interface_index(sink_port_.device);
        set_sysctl("net/ipv6/conf/" + sink_port_.device + "/disable_ipv6", "1");
        // Between the turns the sink has no program: its peer would then take no redirects, and a router that
        // looks after such ports would send by another way until it sees that it does again. (Of a device
        // that is down the kernel does not tell its peer.)
        bring_up(sink_port_);
        enable_gro(sink_port_.device);
    }
    const InNamespace here(router_);
    Netlink netlink;
    for (const Family family : {Family::ipv4, Family::ipv6})
        netlink.add_permanent_neighbour(egress_.ifindex, addressing(family).next_hop, sink_port_.mac);
}

uint64_t Topology::refused_by_router() const {
    const InNamespace here(source_);
    return device_statistic(source_port_.device, "tx_queue_0_xdp_xmit_errors");
}

uint64_t Topology::refused_by_sink() const {
    const InNamespace here(router_);
    return device_statistic(egress_.device, "tx_queue_0_xdp_xmit_errors");
}

}  // namespace pktpit::bench::harness
