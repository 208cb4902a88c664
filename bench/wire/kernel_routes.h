// SPDX-License-Identifier: BSD-3-Clause
/// Makes the kernel of a router namespace route a workload, set up as well as a kernel router can be:
/// forwarding on, no reverse-path filter, no early demultiplexing for local sockets, no netfilter rules.
#pragma once

#include "bench/harness/topology.h"
#include "bench/harness/workload.h"

namespace pktpit::bench::wire {

void enable_kernel_forwarding(const harness::Topology& topology);
void add_kernel_routes(const harness::Topology& topology, const harness::Workload& workload);

}  // namespace pktpit::bench::wire
