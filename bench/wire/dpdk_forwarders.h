// SPDX-License-Identifier: BSD-3-Clause
/// DPDK's forwarders over the same devices: l3fwd with its lookups, testpmd without any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/wire/forwarder.h"

namespace pktpit::bench::wire {

struct DpdkRow {
    std::string name;     ///< on the command line
    std::string program;  ///< "l3fwd", "l3fwd-stock", "testpmd"
    std::string lookup;   ///< l3fwd's
    std::string driver;   ///< the virtual device's
};

const std::vector<DpdkRow>& dpdk_rows();
/// Throws Failure if the program cannot be built. `busy_budget`: net_af_xdp's, 0 turns busy polling of the
/// socket off.
std::unique_ptr<Forwarder> make_dpdk_forwarder(const DpdkRow& row, unsigned busy_budget);

}  // namespace pktpit::bench::wire
