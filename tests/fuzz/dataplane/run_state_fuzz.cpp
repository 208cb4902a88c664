// SPDX-License-Identifier: BSD-3-Clause
// A state file of any bytes. Must hold: it is refused, or what was read is written so that the same is read
// again; and no switch comes out that is not one of the router's.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "router/dataplane/run_state.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::router;
    const auto state = parse_run_state({reinterpret_cast<const char*>(data), size}, "input");
    if (!state) return 0;
    for (const auto& [ifindex, values] : state->switches)
        for (const auto& [name, value] : values)
            if (ifindex == 0 || std::ranges::find(known_switches, name) == known_switches.end()) std::abort();
    if (parse_run_state(to_text(*state), "again") != *state) std::abort();
    return 0;
}
