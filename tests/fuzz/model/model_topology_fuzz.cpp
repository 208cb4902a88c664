// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a topology: an answer without a crash; what was accepted survives being written and read, and
// is built into a fabric where every device is found by its address.
#include <cstdint>
#include <string_view>

#include "offload/model/build.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit::model;

const Profile& profile() {
    static const Profile generic = *Profile::open("generic");
    return generic;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto topology = Topology::parse({reinterpret_cast<const char*>(data), size});
    if (!topology) return pktpit::fuzz::refused(topology.error());
    const auto again = Topology::parse(topology->to_json_text());
    demand(again && again->to_json_text() == topology->to_json_text(), "what was written is what was read");
    if (topology->nics() > 4) return 0;  // their layouts grow with the square of their number
    Machine machine = build_machine(*topology, profile());
    demand(machine.nic_endpoints.size() == topology->nics(), "every NIC is there");
    for (const auto* endpoint : machine.nic_endpoints)
        demand(machine.fabric->owner_of(endpoint->settings().bar, endpoint->settings().bar_bytes) ==
                   endpoint->id(),
               "a BAR is its device's");
    return 0;
}
