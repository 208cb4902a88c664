// SPDX-License-Identifier: BSD-3-Clause
/// How counters of ports add up: of CPUs, of workers, of ports. Plain values; any thread.
#pragma once

#include <cstddef>

#include "bpf/abi.h"

namespace pktpit::router {

inline void add_counters(pp_port_counters& sum, const pp_port_counters& more) {
    sum.rx_packets += more.rx_packets;
    sum.rx_bytes += more.rx_bytes;
    sum.tx_packets += more.tx_packets;
    sum.tx_bytes += more.tx_bytes;
    for (size_t i = 0; i < PP_VERDICT_CAPACITY; i++)
        sum.verdict[i] += more.verdict[i];
}

}  // namespace pktpit::router
