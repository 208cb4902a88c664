// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/kernel_routes.h"

#include "bench/harness/device.h"
#include "bench/harness/netlink.h"

namespace pktpit::bench::wire {

void enable_kernel_forwarding(const harness::Topology& topology) {
    const harness::InNamespace here(topology.router());
    harness::set_sysctl("net/ipv4/ip_forward", "1");
    harness::set_sysctl("net/ipv6/conf/all/forwarding", "1");
    harness::set_sysctl("net/ipv4/ip_early_demux", "0");
    for (const std::string& device :
         {std::string("all"), topology.ingress().device, topology.egress().device}) {
        harness::set_sysctl("net/ipv4/conf/" + device + "/rp_filter", "0");
        harness::set_sysctl("net/ipv4/conf/" + device + "/send_redirects", "0");
    }
}

void add_kernel_routes(const harness::Topology& topology, const harness::Workload& workload) {
    const harness::InNamespace here(topology.router());
    // An IPv6 route counts against this once it is cloned; the default is for hosts.
    harness::set_sysctl("net/ipv6/route/max_size", "2147483647");
    harness::Netlink netlink;
    netlink.add_routes(workload.prefixes,
                       harness::addressing(workload.prefixes.front().address.family).next_hop,
                       topology.egress().ifindex);
}

}  // namespace pktpit::bench::wire
