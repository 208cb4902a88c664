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
    double
        expected;  ///< per cent of change; where nothing is said but that it suffers: any below the tolerance
    double tolerance;  ///< points
    const char* words;
    Origin origin;
    const char* follows_from;
};

constexpr double suffers = -100;  // the report gives no number
constexpr double unaffected = 0;

bool meets(double expected, double tolerance, double change) {
    return expected == suffers ? change < -tolerance : std::abs(change - expected) <= tolerance;
}

const std::array cases = {
    Case{"DMA write to main memory", [](const Places& at) { return std::vector{packet(false, at.memory)}; },
         -70, 2, "70 % less", Origin::calibrated, "memory.write_by_write_load"},
    Case{"P2P DMA write", [](const Places& at) { return std::vector{packet(false, at.peer)}; }, unaffected, 1,
         "unaffected", Origin::exact, "main memory is not on the way"},
    Case{"receive: packets and write-back to main memory",
         [](const Places& at) {
             return std::vector{packet(false, at.memory), descriptor(false, at.memory)};
         },
         suffers, 10, "less by more than the tolerance", Origin::calibrated, "memory.write_by_write_load"},
    Case{"transmit: descriptors and packets from main memory",
         [](const Places& at) {
             return std::vector{descriptor(true, at.memory), packet(true, at.memory)};
         },
         unaffected, 1, "unaffected", Origin::put_in, "memory.read_by_write_load"},
    Case{"receive: packets to the peer, write-back to main memory",
         [](const Places& at) {
             return std::vector{packet(false, at.peer), descriptor(false, at.memory)};
         },
         suffers, 10, "less by more than the tolerance", Origin::emergent, ""},
    Case{"receive: packets and rings in the peer",
         [](const Places& at) {
             return std::vector{packet(false, at.peer), descriptor(false, at.peer)};
         },
         unaffected, 1, "unaffected", Origin::exact, "main memory is not on the way"},
};

double kept(const Topology& topology, const Profile& profile, Steps steps) {
    return run(topology, profile, 1, steps) / run(topology, profile, 0, steps);
}

void show(CheckRun& check, const Topology& topology, const Profile& profile, const Case& item) {
    const double idle = run(topology, profile, 0, item.steps);
    const double loaded = run(topology, profile, 1, item.steps);
    const double change = (loaded / idle - 1) * 100;
    CheckLine line{.row = 4,
                   .what = std::string(item.what) + ", under a full write load",
                   .expected = item.words,
                   .got = fixed(idle / 1e6, 2) + " to " + fixed(loaded / 1e6, 2) + " million/s (" +
                          signed_percent(loaded / idle - 1, 0) + ")",
                   .origin = item.origin,
                   .verdict = met(meets(item.expected, item.tolerance, change)),
                   .source = "KAKENHI report, section 4, figure 5"};
    line.tolerance = Tolerance{item.tolerance, "points"};
    line.follows_from = item.follows_from;
    line.value = change;
    if (item.origin == Origin::put_in)
        line.follows_from += " = " + fixed(profile.value(item.follows_from), 2);
    if (item.origin != Origin::emergent) return check.line(std::move(line));

    Profile whole = profile;
    (void)whole.set("memory.partial_line_cost", 1, "sensitivity");
    const double left = kept(topology, whole, item.steps);
    if (line.verdict == Verdict::holds && !meets(item.expected, item.tolerance, (left - 1) * 100))
        line.verdict = Verdict::depends;
    check.line(std::move(line));
    check.inform(4, "  if a line written in part cost no more than a whole one (memory.partial_line_cost 1)",
                 signed_percent(left - 1, 0),
                 profile.constants().find("memory.partial_line_cost")->second.source);
}

constexpr uint64_t mebibyte = 1 << 20;

/// With a cache: writes around and around so many bytes, without a load and with all of it.
void show_cached(CheckRun& check, const Topology& topology, const Profile& profile, const char* what,
                 uint64_t bytes, uint32_t each, bool packets_to_peer) {
    const auto rate = [&](double load) {
        BuildOptions options;
        options.write_load = load;
        Machine machine = build_machine(topology, profile, options);
        const uint64_t memory = machine.fabric->root().memory().settings().base;
        std::vector<DmaStep> steps;
        if (packets_to_peer) steps.push_back(packet(false, machine.nic_endpoints[1]->settings().bar));
        steps.push_back({false, memory, each, bytes / each, each});
        DmaPattern pattern(*machine.fabric, *machine.nic_endpoints[0], steps, 64);
        // Once around before it is measured: the link takes 45 ns for each.
        const Time warm_up = std::max<Time>(100 * microsecond, 50 * nanosecond * (bytes / each));
        return measure(*machine.fabric, pattern, warm_up, 300 * microsecond);
    };
    const double idle = rate(0), loaded = rate(1);
    check.inform(4, std::string("  with a cache of 20 MiB, 2 of 20 ways for I/O: ") + what,
                 fixed(idle / 1e6, 2) + " to " + fixed(loaded / 1e6, 2) + " million/s under the load (" +
                     signed_percent(loaded / idle - 1, 0) + ")",
                 "Intel article 000027820 (2.5 MB a core); Farshin et al. (USENIX ATC 2020)");
}

/// What the reference says of descriptors comes out where their rings do not stay in the ways for I/O.
void show_with_cache(CheckRun& check, const Topology& topology, const Profile& profile) {
    Profile cached = profile;
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, double>>{
             {"llc.mib", 20}, {"llc.ways", 20}, {"llc.io_ways", 2}})
        (void)cached.set(name, value, "row 4: with a cache");
    show_cached(check, topology, cached, "packets of 256 B around 1 MiB", mebibyte, packet_bytes, false);
    show_cached(check, topology, cached, "packets of 256 B around 16 MiB", 16 * mebibyte, packet_bytes,
                false);
    show_cached(check, topology, cached, "packets to the peer, write-back to a ring of 1,024 descriptors",
                ring * descriptor_bytes, descriptor_bytes, true);
    show_cached(check, topology, cached, "packets to the peer, write-back to 64 rings of 4,096 in turn",
                64 * 4096 * descriptor_bytes, descriptor_bytes, true);
}

}  // namespace

void check_memory_load(CheckRun& check) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = check.profile("kakenhi");
    check.report.plots["row4-memory-load"] = {"Devices beside a load of writes to main memory (simulated)",
                                              "load, share of the memory's write bandwidth",
                                              "million operations/s"};
    for (const Case& item : cases) {
        CheckPlotSeries series{"row4-memory-load", item.what, {}};
        for (const double load : {0.0, 0.25, 0.5, 0.75, 1.0})
            series.points.emplace_back(load, run(topology, profile, load, item.steps) / 1e6);
        check.report.series.push_back(std::move(series));
        show(check, topology, profile, item);
    }
    const double idle = run(topology, profile, 0, cases[0].steps) / 1e6;
    check.report.series.push_back({"row4-memory-load",
                                   "measured: DMA write, up to 70 % less (KAKENHI report, figure 5)",
                                   {{1, 0.3 * idle}},
                                   true});
    show_with_cache(check, topology, profile);
}

}  // namespace pktpit::model
