// SPDX-License-Identifier: BSD-3-Clause
// A state file of any bytes. Must hold: it is refused, or what was read is written so that the same is read
// again; and no switch comes out that is not one of the router's.
#include <cstdint>
#include <cstdlib>
#include <set>

#include "router/dataplane/run_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::router;
    static const std::set<std::string> turned{"forwarding", "keep_addr_on_down", "receive_vlan_offload"};
    const auto state = parse_run_state({reinterpret_cast<const char*>(data), size}, "input");
    if (!state) return 0;
    for (const auto& [ifindex, values] : state->switches)
        for (const auto& [name, value] : values)
            if (ifindex == 0 || !turned.contains(name)) std::abort();
    if (parse_run_state(to_text(*state), "again") != *state) std::abort();
    return 0;
}
