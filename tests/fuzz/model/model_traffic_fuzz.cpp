// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a traffic matrix and as recorded frames: an answer without a crash, flows that the topology
// has, frames that the model can have.
#include <cstdint>

#include "offload/model/nic.h"
#include "offload/model/traffic_pattern.h"
#include "tests/fuzz/demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::model;
    using pktpit::fuzz::demand;
    static const Topology topology = *Topology::open("four-nics");
    const auto flows = read_matrix({reinterpret_cast<const char*>(data), size}, topology, "fuzz");
    if (flows) {
        double sum = 0;
        for (const Flow& flow : *flows) {
            demand(flow.from_nic < 4 && flow.to_nic < 4 && flow.load > 0 && flow.load <= 1,
                   "flows that can be");
            sum += flow.load;
        }
        demand(!flows->empty() && sum <= 4.001, "no port sends more than line rate");
    } else {
        demand(!flows.error().message.empty() && !flows.error().expected.empty(), "a refusal has a reason");
    }
    Recording recording;
    for (size_t at = 0; at + 4 < size; at += 4 + data[at]) {
        const size_t length = std::min<size_t>(data[at], size - at - 4);
        recording.add(Time{data[at + 1]} << 8 | data[at + 2], std::as_bytes(std::span(data + at + 4, length)),
                      data[at + 3] * 16777216U + data[at]);
    }
    Time last = 0;
    for (const RecordedFrame& frame : recording.frames()) {
        demand(frame.at >= last && frame.size >= 64 && frame.size <= largest_frame, "frames that can be");
        last = frame.at;
    }
    demand(recording.span() > 0, "a recording takes time");
    return 0;
}
