// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/experiment.h"

#include <algorithm>
#include <numeric>

#include "base/quoted.h"
#include "offload/model/l3fwd.h"
#include "offload/model/p2pnic_firmware.h"
#include "offload/model/pktpit_program.h"
#include "offload/model/wiring.h"

namespace pktpit::model {
namespace {

constexpr uint64_t most_draining_events = 50'000'000;
constexpr uint64_t msi_address = 0xfee00000;            // of x86
constexpr uint64_t most_memory = uint64_t{1792} << 20;  // what lies below BARs when all is below 4 GiB

Result<void> check(const Topology& topology, const Machine& machine, const TrafficSettings& traffic) {
    if (traffic.size != 0 && (traffic.size < 64 || traffic.size > largest_frame))
        return fail("size", std::to_string(traffic.size) + " bytes cannot be",
                    "64 to " + std::to_string(largest_frame) + ", or 0 for IMIX");
    if (traffic.recording && (traffic.recording->frames().empty() || traffic.burst > 1))
        return fail("recording", "has no frames, or is to have bursts", "frames, at their own times");
    const auto& nics = machine.nic_settings;
    std::map<std::pair<unsigned, unsigned>, double> sent;
    for (const Flow& flow : traffic.flows) {
        if (!(flow.load > 0 && flow.load <= 1))
            return fail("load", std::to_string(flow.load) + " cannot be", "more than 0, at most 1");
        for (const auto& [nic, port] :
             {std::pair(flow.from_nic, flow.from_port), {flow.to_nic, flow.to_port}})
            if (nic >= nics.size() || port >= nics[nic].gbps.size())
                return fail("flow", "NIC " + std::to_string(nic) + ", port " + std::to_string(port),
                            "one that the topology " + topology.name + " has", "both count from 0");
        double& sum = sent[{flow.from_nic, flow.from_port}];
        sum += flow.load;
        if (!traffic.recording && sum > 1 + 1e-9)
            return fail("load",
                        std::to_string(sum) + " of line rate at NIC " + std::to_string(flow.from_nic) +
                            ", port " + std::to_string(flow.from_port),
                        "at most 1 of all its flows together");
    }
    return {};
}

Endpoint* find_memory(const Machine& machine, const std::string& name) {
    const auto found = std::ranges::find(machine.memories, name, &Endpoint::name);
    return found == machine.memories.end() ? nullptr : *found;
}

/// Where a bounced frame is to wait.
Result<void> check_payload_memory(const Machine& machine, const Profile& profile,
                                  const ExperimentSettings& settings) {
    if (settings.payload_memory.empty()) return {};
    if (settings.transfer != Transfer::bounce)
        return fail("payload memory", "transfer " + std::string(to_string(settings.transfer)),
                    "transfer bounce: others have no memory on their way");
    const Endpoint* memory = find_memory(machine, settings.payload_memory);
    if (!memory)
        return fail("payload memory", pktpit::quoted(settings.payload_memory), "a memory of the topology");
    MemoryPlan plan(0);
    plan_bounce_buffers(plan, profile, machine.nic_endpoints.size());
    if (plan.end() > memory->settings().bar_bytes)
        return fail("payload memory",
                    "the buffers take " + std::to_string(plan.end() >> 10) + " KiB, " +
                        settings.payload_memory + " has " +
                        std::to_string(memory->settings().bar_bytes >> 10),
                    "a larger \"mib\", or a smaller nic.window");
    return {};
}

NicLoad load_of(Nic& nic, Time elapsed) {
    const auto share = [elapsed](uint64_t busy, size_t of = 1) {
        const double all = static_cast<double>(elapsed) * static_cast<double>(of);
        return all == 0 ? 0 : std::min(1.0, static_cast<double>(busy) / all);
    };
    const RequesterCounters& dma = nic.dma().counters();
    const RequesterSettings& engine = nic.dma().settings();
    return {nic.name(), share(nic.counters().firmware_time, std::max(nic.settings().threads, 1U)),
            share(dma.tag_time, engine.tags), share(dma.writes * engine.write_issue),
            share(dma.reads * engine.read_issue)};
}

class Run {
  public:
    Run(const Profile& profile, const ExperimentSettings& settings, Machine machine)
        : profile_(profile),
          settings_(settings),
          machine_(std::move(machine)),
          tracer_(settings.trace),
          nics_(machine_) {
        prepare_table();
        if (settings.hot_add)
            hot_add_ = std::make_unique<HotAdd>(*machine_.fabric, *nics_.all[settings.hot_add->nic],
                                                decider(), settings.hot_add->at, [this] { start_driver(); });
        load_programs();
        traffic_ = std::make_unique<Traffic>(*machine_.fabric, nics_.pointers, traffic_settings_);
        if (settings.trace) machine_.fabric->trace(&tracer_);
    }

    ExperimentResult run() {
        EventQueue& events = machine_.fabric->events();
        traffic_->start();
        events.run_until(settings_.warm_up);
        machine_.fabric->clear_counters();
        traffic_->begin_measurement();
        if (cpu_) cpu_->clear_counters();
        if (control_) control_->clear_counters();
        const Time begin = events.now();
        events.run_until(begin + settings_.duration);
        ExperimentResult result;
        result.measured = settings_.duration;
        collect(result);
        if (settings_.drain) drain(result);
        if (settings_.operations) collect_operations(result);
        result.events = machine_.fabric->events().events_run();
        result.trace = tracer_.entries();
        std::ranges::stable_sort(result.trace, {}, &TraceEntry::begin);
        return result;
    }

  private:
    /// Next hops are behind the ports that flows go to.
    void prepare_table() {
        traffic_settings_ = settings_.traffic;
        if (!settings_.table) return;
        for (const Flow& flow : settings_.traffic.flows) {
            const std::pair port(static_cast<uint16_t>(flow.to_nic), static_cast<uint16_t>(flow.to_port));
            if (std::ranges::find(traffic_settings_.egress, port) == traffic_settings_.egress.end())
                traffic_settings_.egress.push_back(port);
        }
        traffic_settings_.destinations = settings_.destinations;
        whole_ = std::make_unique<TableDecider>(*settings_.table, traffic_settings_.egress);
        if (settings_.program != Program::p2pnic) return;
        const uint64_t bytes = uint64_t{profile_.count("nic.fib_kib")} << 10;
        for (const auto& nic : nics_.all) {
            const std::span memory(nic->memory(machine_.layout.fib),
                                   NicFib::bytes_for(bytes, traffic_settings_.egress.size()));
            fibs_.push_back(std::make_unique<NicFib>(memory, bytes, *settings_.table, *settings_.destinations,
                                                     traffic_settings_.egress));
        }
    }

    /// Who decides on the CPU, and in programs without a table of their own.
    Decider& decider() {
        if (hot_add_) return *hot_add_;
        return whole_ ? static_cast<Decider&>(*whole_) : ports_;
    }

    /// The CPU takes part in p2pnic where a NIC's FIB does not hold all.
    [[nodiscard]] bool slices() const { return settings_.program == Program::pktpit || !fibs_.empty(); }

    /// Of the NIC that has been added.
    void start_driver() {
        if (cpu_) cpu_->give_rings(settings_.hot_add->nic);
        if (control_) control_->added(settings_.hot_add->nic);
    }

    uint64_t bounce_buffers(MemoryPlan& plan, size_t count) const {
        if (settings_.transfer != Transfer::bounce) return 0;
        if (settings_.payload_memory.empty()) return plan_bounce_buffers(plan, profile_, count);
        return find_memory(machine_, settings_.payload_memory)->settings().bar;
    }

    void load_programs() {
        const size_t count = nics_.all.size();
        MemoryPlan plan(machine_.fabric->root().memory().settings().base);
        PeerTransferSettings transfer =
            transfer_settings(profile_, settings_.transfer, bounce_buffers(plan, count));
        transfer.relaxed_payload = settings_.relaxed_payload;
        PktpitSettings pktpit = pktpit_settings(profile_, settings_.slice);
        const size_t queues = profile_.count("cpu.cores");
        const std::vector<HostRings> rings =
            plan_rings(plan, count, slices() ? ring_shape(profile_, pktpit) : RingShape{}, queues);
        const CpuSettings cpu = cpu_settings(
            profile_, settings_.program == Program::l3fwd ? "cpu.packet_ns" : "cpu.slice_packet_ns");
        for (size_t i = 0; i < count; i++) {
            Nic& nic = *nics_.all[i];
            const auto first = rings.begin() + static_cast<ptrdiff_t>(i * queues);
            const std::vector<HostRings> own(first, first + static_cast<ptrdiff_t>(queues));
            if (!fibs_.empty()) {
                pktpit.own = fibs_[i].get();
                pktpit.lookup_time = profile_.ns("nic.ingress_ns");
            }
            if (settings_.operations)
                load_operations(nic, transfer);
            else if (slices())
                nic.load(std::make_unique<PktpitFirmware>(nic, transfer, nics_.bars, own, pktpit));
            else if (settings_.program == Program::p2pnic)
                nic.load(std::make_unique<P2pNicFirmware>(nic, transfer, nics_.bars, decider(),
                                                          profile_.ns("nic.ingress_ns")));
            else
                nic.load(std::make_unique<L3fwdFirmware>(
                    nic, own,
                    L3fwdSettings{profile_.count("nic.descriptor_fetch"), 64,
                                  profile_.count("nic.head_batch"), profile_.count("nic.writeback_batch"),
                                  profile_.ns("nic.writeback_wait_ns")}));
        }
        if (settings_.program == Program::l3fwd) {
            const uint64_t buffers = plan.take((uint64_t{rings.size()} * 2 * 1024 + cpu.burst) * slot_bytes);
            auto host =
                std::make_unique<L3fwdHost>(*machine_.fabric, nics_.pointers, rings, cpu, decider(), buffers);
            host->start();
            cpu_ = std::move(host);
        } else if (slices()) {
            auto host =
                std::make_unique<PktpitHost>(*machine_.fabric, nics_.pointers, rings, cpu, decider(), pktpit);
            host->start();
            cpu_ = std::move(host);
        }
        cores_ = cpu.cores;
        if (settings_.operations) {
            control_ = std::make_unique<PeerControl>(
                *machine_.fabric, nics_.pointers,
                PeerControlSettings{*settings_.operations, profile_.ns("cpu.compile_ns"),
                                    profile_.ns("cpu.wake_ns")});
            control_->start();
            cores_ = 1;
        }
    }

    void load_operations(Nic& nic, const PeerTransferSettings& transfer) {
        OperationsFirmware::Settings operations;
        operations.mode = settings_.operations->mode;
        operations.batch = settings_.operations->batch;
        operations.ingress_time = profile_.ns("nic.ingress_ns");
        operations.egress_time = transfer.egress_time;
        operations.commit_wait = profile_.ns("nic.commit_wait_ns");
        operations.msi_address = msi_address;
        operations.engine.lanes = machine_.layout.nics;
        operations.engine.operation_time = profile_.ns("nic.operation_ns");
        operations.engine.verify.most_copied = slot_bytes;
        operations.engine.verify.need_fences = settings_.operations->compile.fence;
        auto firmware =
            std::make_unique<OperationsFirmware>(nic, transfer, nics_.bars, decider(), operations);
        operations_.push_back(firmware.get());
        nic.load(std::move(firmware));
    }

    void collect_operations(ExperimentResult& result) const {
        OperationsResult& sum = result.operations;
        for (const OperationsFirmware* firmware : operations_) {
            const PeerEngineCounters& engine = firmware->engine().counters();
            sum.engine += engine;
            sum.packets += firmware->packets_launched();
            sum.interrupts += firmware->interrupts();
            if (!firmware->engine().last_refusal().empty())
                sum.last_refusal = firmware->engine().last_refusal();
        }
    }

    void drain(ExperimentResult& result) {
        if (control_) control_->stop();
        result.at_rest = machine_.fabric->events().run_all(most_draining_events);
        result.tlps_left = machine_.fabric->tlps().out();
        result.after_draining = traffic_->counters();
        result.flows = traffic_->flows();
        result.nics.clear();
        for (const auto& nic : nics_.all) {
            result.nics.push_back(nic->counters());
            result.slots_lost += nic->slots_in_use();
        }
        for (size_t id = 0; id < machine_.fabric->nodes(); id++) {
            const Node& node = machine_.fabric->node(static_cast<NodeId>(id));
            for (size_t i = 0; i < node.ports(); i++)
                result.credits_whole &= !node.port(i).peer() || (node.port(i).credits_complete() &&
                                                                 node.port(i).least_credits() >= 0);
        }
    }

    void collect(ExperimentResult& result) {
        result.traffic = traffic_->counters();
        result.flows = traffic_->flows();
        const double seconds = to_seconds(result.measured);
        result.packets_per_second = static_cast<double>(result.traffic.delivered) / seconds;
        result.bits_per_second = static_cast<double>(result.traffic.delivered_bytes) * 8 / seconds;
        if (const std::vector<Time> latencies = traffic_->latencies(); !latencies.empty()) {
            result.latency_median_ns = to_ns(latencies[latencies.size() / 2]);
            result.latency_p99_ns = to_ns(latencies[latencies.size() * 99 / 100]);
            const double sum = std::accumulate(latencies.begin(), latencies.end(), 0.0);
            result.latency_mean_ns = sum / static_cast<double>(latencies.size()) / nanosecond;
        }
        for (size_t id = 0; id < machine_.fabric->nodes(); id++) {
            const Node& node = machine_.fabric->node(static_cast<NodeId>(id));
            for (size_t i = 0; i < node.ports(); i++) {
                const Port& port = node.port(i);
                if (!port.peer()) continue;
                const double busy = static_cast<double>(port.counters().busy);
                result.links.push_back({node.name(), port.peer()->owner().name(), port.counters(),
                                        std::min(1.0, busy / static_cast<double>(result.measured))});
            }
        }
        for (const auto& nic : nics_.all) {
            result.nics.push_back(nic->counters());
            result.nic_loads.push_back(load_of(*nic, machine_.fabric->events().now()));
        }
        if (!fibs_.empty()) {
            result.nic_fib_blocks = fibs_[0]->blocks();
            result.nic_fib_full = fibs_[0]->full();
        }
        if (cpu_) result.cpu = cpu_->counters();
        if (control_) {
            result.operations.control = control_->counters();
            // In performance mode a core spins, whatever there is to do.
            result.cpu.busy = settings_.operations->mode == OperationsMode::performance
                                  ? result.measured
                                  : control_->counters().busy;
        }
        result.cpu_utilisation = std::min(1.0, to_seconds(result.cpu.busy) / seconds / std::max(cores_, 1U));
        result.busiest_core =
            std::max(result.cpu_utilisation, std::min(1.0, to_seconds(result.cpu.busiest) / seconds));
        result.root = machine_.fabric->root().counters();
        result.llc = machine_.fabric->root().memory().llc().counters();
    }

    const Profile& profile_;
    const ExperimentSettings& settings_;
    Machine machine_;
    Tracer tracer_;
    Nics nics_;
    PortDecider ports_;
    std::unique_ptr<TableDecider> whole_;
    std::vector<std::unique_ptr<NicFib>> fibs_;  ///< p2pnic: on the NICs
    TrafficSettings traffic_settings_;
    std::unique_ptr<HotAdd> hot_add_;
    std::unique_ptr<HostCpu> cpu_;
    std::unique_ptr<PeerControl> control_;
    std::vector<const OperationsFirmware*> operations_;
    unsigned cores_ = 0;
    std::unique_ptr<Traffic> traffic_;
};

/// What programs put into main memory, at most.
uint64_t memory_needed(const Profile& profile, size_t nics, const ExperimentSettings& settings) {
    const size_t queues = profile.count("cpu.cores");
    RingShape rings = ring_shape(profile, pktpit_settings(profile, settings.slice));
    rings.entries = std::max(rings.entries, RingShape{}.entries);
    const bool l3fwd = settings.program == Program::l3fwd;
    const uint64_t buffers = l3fwd ? (uint64_t{nics} * queues * 2 * 1024 + 512) * slot_bytes : 0;
    return planned_bytes(profile, nics, rings, queues, settings.transfer == Transfer::bounce) + buffers +
           (1 << 20);
}

}  // namespace

std::string_view to_string(Program program) {
    return program == Program::l3fwd ? "l3fwd" : program == Program::p2pnic ? "p2pnic" : "pktpit";
}

const LinkResult* ExperimentResult::link(const std::string& from, const std::string& to) const {
    const auto found = std::ranges::find_if(
        links, [&](const LinkResult& link) { return link.from == from && link.to == to; });
    return found == links.end() ? nullptr : &*found;
}

Result<ExperimentResult> run_experiment(const Topology& topology, const Profile& profile,
                                        const ExperimentSettings& settings) {
    if (settings.slice > 128) return fail("slice", std::to_string(settings.slice) + " bytes", "at most 128");
    if (settings.operations) {
        if (settings.program != Program::p2pnic || settings.transfer != Transfer::write)
            return fail(
                "peer operations",
                std::string(to_string(settings.program)) + " " + std::string(to_string(settings.transfer)),
                "program p2pnic, transfer write");
        if (settings.operations->batch == 0 || settings.operations->batch > 64)
            return fail("batch", std::to_string(settings.operations->batch) + " packets", "1 to 64");
    }
    if (settings.table && !settings.destinations)
        return fail("table", "there are no destinations", "some that are drawn from it");
    if (settings.table && settings.traffic.flows.size() > 64)
        return fail("flows", std::to_string(settings.traffic.flows.size()) + " with a table", "at most 64");
    if (settings.hot_add &&
        (settings.hot_add->nic >= topology.nics() || (settings.table && settings.program == Program::p2pnic)))
        return fail("hot-add", "NIC " + std::to_string(settings.hot_add->nic), "one of the topology's",
                    "not with a FIB of its own on each NIC, which knows no absent ones");
    if (settings.table && settings.operations)
        return fail("peer operations", "do not ask the CPU what a NIC's FIB does not hold", "no table");
    BuildOptions options = settings.build;
    if (settings.table && settings.program == Program::p2pnic)
        options.nic_fib_bytes = NicFib::bytes_for(uint64_t{profile.count("nic.fib_kib")} << 10, 64);
    options.memory_bytes = memory_needed(profile, topology.nics(), settings);
    if (options.memory_bytes > most_memory)
        return fail("cpu.cores",
                    std::to_string(profile.count("cpu.cores")) + " with " + std::to_string(topology.nics()) +
                        " NICs: their rings and buffers take " + std::to_string(options.memory_bytes >> 20) +
                        " MiB",
                    "at most " + std::to_string(most_memory >> 20) + " MiB of modelled main memory",
                    "each core has a queue of each NIC: fewer of either");
    Machine machine = build_machine(topology, profile, options);
    if (auto good = check(topology, machine, settings.traffic); !good) return tl::unexpected(good.error());
    if (auto good = check_payload_memory(machine, profile, settings); !good)
        return tl::unexpected(good.error());
    return Run(profile, settings, std::move(machine)).run();
}

}  // namespace pktpit::model
