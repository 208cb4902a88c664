// SPDX-License-Identifier: BSD-3-Clause
// Row 4: what the CPU's own use of main memory does to devices' DMA.
#include <cmath>

#include "offload/model/check.h"
#include "offload/model/dma_pattern.h"

namespace pktpit::model {
namespace {

constexpr uint32_t packet_bytes = 256;
constexpr uint32_t descriptor_bytes = 16;
constexpr uint64_t ring = 1024;

struct Places {
    uint64_t memory, peer;
};

using Steps = std::vector<DmaStep> (*)(const Places&);

DmaStep packet(bool read, uint64_t base) {
    return {read, base, 2048, 512, packet_bytes};
}
DmaStep descriptor(bool read, uint64_t base) {
    return {read, base + (2 << 20), descriptor_bytes, ring, descriptor_bytes};
}

double run(const Topology& topology, const Profile& profile, double load, Steps steps) {
    BuildOptions options;
    options.write_load = load;
    Machine machine = build_machine(topology, profile, options);
    const Places places{machine.fabric->root().memory().settings().base,
                        machine.nic_endpoints[1]->settings().bar};
    DmaPattern pattern(*machine.fabric, *machine.nic_endpoints[0], steps(places), 64);
    return measure(*machine.fabric, pattern, 50 * microsecond, 500 * microsecond);
}

struct Case {
    const char* what;
    Steps steps;
    const char* expected;
    bool (*holds)(double kept);
    Origin origin;
};

bool unaffected(double kept) {
    return kept > 0.99;
}
bool suffers(double kept) {
    return kept < 0.9;
}

const std::array cases = {
    Case{"DMA write to main memory", [](const Places& at) { return std::vector{packet(false, at.memory)}; },
         "70 % less", [](double kept) { return std::abs(kept - 0.3) < 0.02; }, Origin::calibrated},
    Case{"P2P DMA write", [](const Places& at) { return std::vector{packet(false, at.peer)}; }, "unaffected",
         unaffected, Origin::emergent},
    Case{"receive: packets and write-back to main memory",
         [](const Places& at) {
             return std::vector{packet(false, at.memory), descriptor(false, at.memory)};
         },
         "suffers", suffers, Origin::emergent},
    Case{"transmit: descriptors and packets from main memory",
         [](const Places& at) {
             return std::vector{descriptor(true, at.memory), packet(true, at.memory)};
         },
         "unaffected", unaffected, Origin::emergent},
    Case{"receive: packets to the peer, write-back to main memory",
         [](const Places& at) {
             return std::vector{packet(false, at.peer), descriptor(false, at.memory)};
         },
         "suffers", suffers, Origin::emergent},
    Case{"receive: packets and rings in the peer",
         [](const Places& at) {
             return std::vector{packet(false, at.peer), descriptor(false, at.peer)};
         },
         "unaffected", unaffected, Origin::emergent},
};

}  // namespace

void check_memory_load(CheckReport& report, const Progress&) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = own_profile("kakenhi");
    report.plots["row4-memory-load"] = {"Devices beside a load of writes to main memory (simulated)",
                                        "load, share of the memory's write bandwidth",
                                        "million operations/s"};
    for (const Case& item : cases) {
        const double idle = run(topology, profile, 0, item.steps);
        const double loaded = run(topology, profile, 1, item.steps);
        CheckPlotSeries series{"row4-memory-load", item.what, {}};
        for (const double load : {0.0, 0.25, 0.5, 0.75, 1.0})
            series.points.emplace_back(load, run(topology, profile, load, item.steps) / 1e6);
        report.series.push_back(std::move(series));
        const double kept = loaded / idle;
        report.lines.push_back({4, std::string(item.what) + ", under a full write load", item.expected,
                                fixed(idle / 1e6, 2) + " to " + fixed(loaded / 1e6, 2) + " million/s (" +
                                    fixed((kept - 1) * 100, 0) + " %)",
                                item.origin, item.holds(kept) ? Verdict::holds : Verdict::unmet,
                                "KAKENHI report, section 4, figure 5"});
    }
}

}  // namespace pktpit::model
