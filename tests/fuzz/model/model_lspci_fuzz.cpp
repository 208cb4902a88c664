// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what lspci printed: an answer without a crash, and a topology that its own reader takes.
#include <cstdio>
#include <cstdlib>

#include "offload/model/lspci.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::model;
    const auto topology = import_lspci({reinterpret_cast<const char*>(data), size}, 10);
    if (!topology) {
        if (!topology.error().message.empty()) return 0;
        std::fprintf(stderr, "not so: a refusal has a reason\n");
        std::abort();
    }
    const auto again = Topology::parse(topology->to_json_text());
    // Too many devices, NICs or root ports, or two of one address: that is told when it is read.
    if (!again && again.error().empty()) {
        std::fprintf(stderr, "not so: what was imported is read or refused with a reason\n");
        std::abort();
    }
    return 0;
}
