// SPDX-License-Identifier: BSD-3-Clause
/// One run of the model: a topology, a profile, a NIC program, traffic; and what came out of it. One thread;
/// the same settings give the same result.
#pragma once

#include <map>
#include <optional>

#include "offload/model/build.h"
#include "offload/model/host.h"
#include "offload/model/hot_add.h"
#include "offload/model/peer_control.h"
#include "offload/model/peer_firmware.h"
#include "offload/model/tracer.h"
#include "offload/model/traffic.h"

namespace pktpit::model {

enum class Program : uint8_t { l3fwd, p2pnic, pktpit };
std::string_view to_string(Program program);

struct ExperimentSettings {
    Program program = Program::p2pnic;
    Transfer transfer = Transfer::write;
    unsigned slice = 0;            ///< pktpit: bytes of the header slice; 0: the destination address alone
    bool relaxed_payload = false;  ///< frames are written to peers with relaxed ordering, not descriptors
    std::string payload_memory{};  ///< bounce: the topology's memory with the buffers; empty: main memory
    std::optional<OperationsSettings> operations;  ///< p2pnic by peer operations, transfer write
    /// Programs look up in it, and destinations are drawn from it; p2pnic has part of it on the NIC and
    /// leaves the rest to the CPU. Null: destinations are ports.
    std::shared_ptr<const RouteTable> table;
    std::shared_ptr<const Destinations> destinations;  ///< of the table
    std::optional<HotAddSettings> hot_add;
    TrafficSettings traffic;
    BuildOptions build;
    Time warm_up = 50 * microsecond;
    Time duration = 500 * microsecond;  ///< that is measured
    uint64_t trace = 0;                 ///< number of a packet whose journey is written down; 0: none
    bool drain = false;                 ///< goes on without traffic until nothing moves
};

struct LinkResult {
    std::string from, to;
    LinkCounters counters;
    double utilisation = 0;  ///< share of the measured time that it was busy
};

/// How busy the parts of a NIC were, as shares of the time since the beginning.
struct NicLoad {
    std::string name;
    double firmware = 0;  ///< its threads
    double tags = 0;      ///< tags of reads in use, on average, of all there are
    double writes = 0;    ///< the DMA engine: starting writes
    double reads = 0;     ///< the DMA engine: starting reads
};

/// Peer operations of all NICs, since the beginning.
struct OperationsResult {
    PeerEngineCounters engine;
    uint64_t packets = 0;         ///< that were handed to engines
    uint64_t interrupts = 0;      ///< that asked for programs
    PeerControlCounters control;  ///< while measured
    std::string last_refusal;     ///< why a program was not loaded
};

struct ExperimentResult {
    Time measured = 0;
    TrafficCounters traffic;
    std::vector<FlowCounters> flows;  ///< as the settings'; after draining where that was asked for
    double packets_per_second = 0;
    double bits_per_second = 0;  ///< of frames, without preamble and gap
    double latency_median_ns = 0, latency_p99_ns = 0, latency_mean_ns = 0;
    std::vector<LinkResult> links;
    std::vector<NicCounters> nics;  ///< since the beginning
    std::vector<NicLoad> nic_loads;
    CpuCounters cpu;
    double cpu_utilisation = 0;  ///< of all cores
    double busiest_core = 0;
    RootCounters root;  ///< since the beginning
    LlcCounters llc;    ///< while measured; none without a cache
    OperationsResult operations;
    size_t nic_fib_blocks = 0;  ///< blocks of addresses in a NIC's own FIB
    bool nic_fib_full = false;  ///< there were more
    uint64_t events = 0;
    TrafficCounters after_draining;  ///< those of the measurement and what came out later
    uint64_t tlps_left = 0;          ///< after draining: must be 0
    uint64_t slots_lost = 0;         ///< after draining: packet memory that nobody gave back
    bool at_rest = true;             ///< after draining: false is a deadlock or livelock
    bool credits_whole = true;       ///< after draining
    std::vector<TraceEntry> trace;

    [[nodiscard]] const LinkResult* link(const std::string& from, const std::string& to) const;
};

/// Errors: a flow names a NIC or port that the topology has not; a size or load that cannot be, or a port
/// that would send more than its line rate.
Result<ExperimentResult> run_experiment(const Topology& topology, const Profile& profile,
                                        const ExperimentSettings& settings);

}  // namespace pktpit::model
