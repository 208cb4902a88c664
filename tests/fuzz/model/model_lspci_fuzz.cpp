// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what lspci printed: an answer without a crash, and a topology that its own reader takes.
#include <cstdint>

#include "offload/model/lspci.h"
#include "tests/fuzz/demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::model;
    const auto topology = import_lspci({reinterpret_cast<const char*>(data), size}, 10);
    if (!topology) return pktpit::fuzz::refused(topology.error());
    const auto again = Topology::parse(topology->to_json_text());
    // Too many devices, NICs or root ports, or two of one address: that is told when it is read.
    return again ? 0 : pktpit::fuzz::refused(again.error());
}
