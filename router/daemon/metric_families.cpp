// SPDX-License-Identifier: BSD-3-Clause
#include <prometheus/text_serializer.h>

#include <cmath>
#include <sstream>

#include "router/daemon/metrics_reading.h"
#include "router/forward/forward.h"

namespace pktpit::router {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class Samples {
  public:
    Samples(MetricType type, const char* name, const char* help) : family_{name, help, type, {}} {}

    void add(Labels labels, double value) {
        ClientMetric metric;
        metric.label = std::move(labels);
        if (family_.type == MetricType::Counter) metric.counter.value = value;
        if (family_.type == MetricType::Gauge) metric.gauge.value = value;
        if (family_.type == MetricType::Untyped) metric.untyped.value = value;
        family_.metric.push_back(std::move(metric));
    }
    template <class Number>
    void add(Labels labels, Number value) {
        add(std::move(labels), static_cast<double>(value));
    }
    void add(Labels labels, const LatencyCounts& counts) {
        ClientMetric metric = latency_histogram(counts);
        metric.label = std::move(labels);
        family_.metric.push_back(std::move(metric));
    }
    [[nodiscard]] MetricFamily take() { return std::move(family_); }

  private:
    MetricFamily family_;
};

/// The families in the order in which they are told.
class List {
  public:
    explicit List(const MetricsValues& from) : values(from) {}

    template <class Fill>
    void add(MetricType type, const char* name, const char* help, const Fill& fill) {
        Samples family(type, name, help);
        fill(family);
        families.push_back(family.take());
    }
    /// One sample without labels.
    template <class Number>
    void add_one(MetricType type, const char* name, const char* help, Number value) {
        add(type, name, help, [&](Samples& family) { family.add({}, static_cast<double>(value)); });
    }
    /// A sample a port.
    template <class Value>
    void add_ports(MetricType type, const char* name, const char* help, const Value& value) {
        add(type, name, help, [&](Samples& family) {
            for (const auto& port : values.ports)
                family.add({{"port", port.name}}, value(port));
        });
    }

    const MetricsValues& values;
    std::vector<MetricFamily> families;
};

constexpr auto counter = MetricType::Counter;
constexpr auto gauge = MetricType::Gauge;
using PortValues = MetricsValues::PortValues;

void add_daemon(List& list) {
    const MetricsValues& values = list.values;
    list.add(gauge, "pktpit_build_info", "The daemon that answers, as labels; always 1.", [&](auto& family) {
        family.add({{"version", values.version},
                    {"dataplane", values.dataplane},
                    {"instance", values.instance},
                    {"modelled", values.modelled}},
                   1);
    });
    list.add_one(gauge, "process_start_time_seconds", "When the daemon began, in seconds since 1970.",
                 values.start_time);
    list.add_one(counter, "process_cpu_seconds_total", "CPU time of all threads of the daemon.",
                 values.cpu_seconds);
    if (values.resident_bytes)
        list.add_one(gauge, "process_resident_memory_bytes", "Memory of the daemon (RSS).",
                     *values.resident_bytes);
    list.add_one(gauge, "pktpit_config_generation", "Configurations applied since the daemon began.",
                 values.generation);
    list.add(counter, "pktpit_config_reloads_total", "Reloads asked for, by what became of them.",
             [&](auto& family) {
                 family.add({{"result", "applied"}}, values.reloads_applied);
                 family.add({{"result", "refused"}}, values.reloads_refused);
             });
    list.add_one(gauge, "pktpit_config_last_reload_successful",
                 "Whether the last reload was applied; 1 if none was.", values.last_reload_good ? 1 : 0);
    list.add_one(counter, "pktpit_control_events_total", "Events of the control plane (pktpit show events).",
                 values.events);
    list.add(MetricType::Histogram, "pktpit_loop_turn_seconds",
             "Turns of the daemon's loop: for how long everything else had to wait.",
             [&](auto& family) { family.add({}, values.turns); });
    list.add_one(gauge, "pktpit_loop_longest_turn_seconds",
                 "The longest turn of the daemon's loop since it began.",
                 static_cast<double>(values.turns.longest) * 1e-9);
}

void add_ports(List& list) {
    list.add(gauge, "pktpit_port_info", "How a port forwards, as labels; always 1.", [&](auto& family) {
        for (const auto& port : list.values.ports)
            family.add({{"port", port.name},
                        {"forwarding", port.forwarding},
                        {"mode", port.mode},
                        {"sent_by", port.sent_by}},
                       1);
    });
    list.add_ports(gauge, "pktpit_port_up", "Whether the port's link is up.",
                   [](const PortValues& port) { return port.up ? 1 : 0; });
    list.add_ports(gauge, "pktpit_port_mtu_bytes", "The port's MTU; 0 while its device is absent.",
                   [](const PortValues& port) { return port.mtu; });
    list.add_ports(counter, "pktpit_port_receive_packets_total", "Packets that came in by the port.",
                   [](const PortValues& port) { return port.counters.rx_packets; });
    list.add_ports(counter, "pktpit_port_receive_bytes_total", "Bytes of frames that came in, without FCS.",
                   [](const PortValues& port) { return port.counters.rx_bytes; });
    list.add_ports(counter, "pktpit_port_transmit_packets_total", "Packets that left by the port.",
                   [](const PortValues& port) { return port.counters.tx_packets; });
    list.add_ports(counter, "pktpit_port_transmit_bytes_total", "Bytes of frames that left, without FCS.",
                   [](const PortValues& port) { return port.counters.tx_bytes; });
    list.add(counter, "pktpit_port_verdicts_total",
             "Packets by what was decided about them, at the port that they came in by.", [&](auto& family) {
                 for (const auto& port : list.values.ports)
                     for (int i = PP_NONE + 1; i < PP_VERDICT_COUNT; i++) {
                         const auto verdict = static_cast<pp_verdict>(i);
                         family.add({{"port", port.name},
                                     {"verdict", std::string(name_of(verdict))},
                                     {"action", name_of(action_of(verdict))}},
                                    port.counters.verdict[i]);
                     }
             });
    list.add(counter, "pktpit_port_decided_packets_total",
             "Packets by who decided: the port's stage, or a worker's control loop.", [&](auto& family) {
                 for (const auto& port : list.values.ports) {
                     family.add({{"port", port.name}, {"by", "port_stage"}}, port.decided.by_stage);
                     family.add({{"port", port.name}, {"by", "control_loop"}}, port.decided.by_loop);
                 }
             });
    list.add(MetricType::Histogram, "pktpit_port_latency_seconds",
             "Packets that came in by the port and that a worker sent on: from the port to the doorbell.",
             [&](auto& family) {
                 for (const auto& port : list.values.ports)
                     family.add({{"port", port.name}}, port.latency);
             });
    const auto stood_in = [&](MetricType type, const char* name, const char* help, const auto& value) {
        list.add(type, name, help, [&](auto& family) {
            for (const auto& port : list.values.ports)
                if (port.stand_in) family.add({{"port", port.name}}, value(*port.stand_in));
        });
    };
    stood_in(gauge, "pktpit_port_stands_in",
             "Whether the port stage stands in for a worker that stands still.",
             [](const StandIn& state) { return state.now ? 1 : 0; });
    stood_in(counter, "pktpit_port_stand_ins_total", "How often the port stage has stood in for a worker.",
             [](const StandIn& state) { return state.times; });
    stood_in(counter, "pktpit_port_stand_in_packets_total", "Packets that came while it stood in.",
             [](const StandIn& state) { return state.packets; });
    list.add(MetricType::Untyped, "pktpit_nic_statistic",
             "What a NIC that the dataplane drives itself counts, by the NIC's own names.",
             [&](auto& family) {
                 for (const auto& port : list.values.ports)
                     for (const auto& [name, value] : port.nic)
                         family.add({{"port", port.name}, {"statistic", name}}, value);
             });
}

void add_tables(List& list) {
    const auto& usage = list.values.usage;
    const auto& room = list.values.geometry;
    const std::pair<const char*, std::pair<uint32_t, uint32_t>> parts[] = {
        {"next_hop_groups", {usage.groups, room.group_count}},
        {"buckets", {usage.buckets, room.bucket_count}},
        {"adjacencies", {usage.adjacencies, room.adjacency_count}},
        {"vlans", {usage.vlans, room.vlan_count}},
        {"tables", {usage.tables, room.table_count}}};
    list.add(gauge, "pktpit_fib_used", "Entries of the FIB image that are in use, by part.",
             [&](auto& family) {
                 for (const auto& [part, entries] : parts)
                     family.add({{"part", part}}, entries.first);
             });
    list.add(gauge, "pktpit_fib_capacity", "Entries that the FIB image has room for, by part.",
             [&](auto& family) {
                 for (const auto& [part, entries] : parts)
                     family.add({{"part", part}}, entries.second);
             });
    list.add_one(gauge, "pktpit_fib_table_used_bytes", "Memory of all tables' prefixes that is taken.",
                 usage.node_bytes_taken);
    list.add_one(gauge, "pktpit_fib_table_capacity_bytes", "Memory that there is for all tables' prefixes.",
                 usage.node_bytes_capacity);
    list.add(gauge, "pktpit_fib_prefixes", "Prefixes of all tables of the FIB image.", [&](auto& family) {
        family.add({{"family", "ipv4"}}, usage.prefixes4);
        family.add({{"family", "ipv6"}}, usage.prefixes6);
    });
    list.add(gauge, "pktpit_rib_routes", "Routes that each source has.", [&](auto& family) {
        for (const auto& vrf : list.values.vrfs)
            for (size_t i = 0; i < fib::route_source_count; i++)
                family.add(
                    {{"vrf", vrf.name}, {"source", std::string(to_string(static_cast<fib::RouteSource>(i)))}},
                    vrf.routes[i]);
    });
    list.add(gauge, "pktpit_rib_prefixes", "Prefixes that some source has a route for.", [&](auto& family) {
        for (const auto& vrf : list.values.vrfs) {
            family.add({{"vrf", vrf.name}, {"family", "ipv4"}}, vrf.prefixes4);
            family.add({{"vrf", vrf.name}, {"family", "ipv6"}}, vrf.prefixes6);
        }
    });
    list.add(counter, "pktpit_route_packets_total", "Packets forwarded by routes that are counted.",
             [&](auto& family) {
                 for (const auto& route : list.values.routes)
                     family.add({{"vrf", route.vrf}, {"prefix", route.prefix}, {"source", route.source}},
                                route.count.packets);
             });
    list.add(counter, "pktpit_route_bytes_total", "Bytes of frames forwarded by routes that are counted.",
             [&](auto& family) {
                 for (const auto& route : list.values.routes)
                     family.add({{"vrf", route.vrf}, {"prefix", route.prefix}, {"source", route.source}},
                                route.count.bytes);
             });
    list.add(gauge, "pktpit_neighbours", "ARP and ND entries by state.", [&](auto& family) {
        for (const auto& [state, count] : list.values.neighbours)
            family.add({{"state", state}}, count);
    });
}

void add_sources(List& list) {
    const auto& kernel = list.values.kernel;
    list.add_one(gauge, "pktpit_kernel_routes_complete",
                 "Whether the kernel's tables have been read whole; 1 where none is followed.",
                 !kernel.followed || kernel.complete ? 1 : 0);
    list.add_one(gauge, "pktpit_kernel_routes", "Prefixes of the kernel's tables that are followed.",
                 kernel.routes);
    list.add_one(counter, "pktpit_kernel_route_turns_total", "Turns of work on the kernel's routes.",
                 kernel.turns);
    list.add_one(gauge, "pktpit_kernel_route_longest_turn_seconds", "The longest of them.",
                 std::chrono::duration<double>(kernel.longest_turn).count());
    list.add_one(counter, "pktpit_kernel_route_comparisons_total",
                 "Comparisons of what is followed with the kernel's tables.", kernel.comparisons);
    list.add_one(counter, "pktpit_kernel_route_differences_total",
                 "Prefixes and nexthop objects that the kernel had changed without a word, put right.",
                 kernel.differences);
    const auto& netlink = kernel.netlink;
    list.add(counter, "pktpit_netlink_messages_total", "Messages about the kernel's routes.",
             [&](auto& family) {
                 family.add({{"kind", "handled"}}, netlink.events);
                 family.add({{"kind", "ignored"}}, netlink.ignored);
                 family.add({{"kind", "malformed"}}, netlink.malformed);
                 family.add({{"kind", "unsupported"}}, netlink.unsupported);
             });
    list.add_one(gauge, "pktpit_netlink_waiting_messages",
                 "Messages and prefixes that are still to be handled.", kernel.waiting);
    list.add_one(counter, "pktpit_netlink_drops_total", "Messages that the kernel has dropped.",
                 netlink.drops);
    list.add_one(counter, "pktpit_netlink_overflows_total", "Times that messages were lost (ENOBUFS).",
                 netlink.overflows);
    list.add_one(counter, "pktpit_netlink_resyncs_total", "Times that the whole table was read.",
                 netlink.resyncs);
    list.add_one(counter, "pktpit_netlink_dumps_repeated_total",
                 "Parts of it that were read again, since they changed meanwhile.", netlink.dumps_repeated);
    if (const auto& fpm = list.values.fpm) {
        list.add_one(gauge, "pktpit_fpm_connected", "Whether FRR's zebra is connected.",
                     fpm->connected ? 1 : 0);
        list.add(gauge, "pktpit_fpm_routes", "Routes by FPM.", [&](auto& family) {
            family.add({{"family", "ipv4"}}, fpm->routes4);
            family.add({{"family", "ipv6"}}, fpm->routes6);
        });
        list.add_one(gauge, "pktpit_fpm_stale_routes",
                     "Routes of a former connection that were not repeated.", fpm->stale);
        list.add_one(counter, "pktpit_fpm_turns_total", "Turns of work on FPM's stream.", fpm->turns);
        list.add_one(gauge, "pktpit_fpm_longest_turn_seconds", "The longest of them.", fpm->longest_turn_s);
    }
    list.add(counter, "pktpit_slow_path_total",
             "What the daemon did with packets that a redirect cannot finish.", [&](auto& family) {
                 for (const auto& [event, count] : list.values.slow_path)
                     family.add({{"event", event}}, count);
             });
}

void add_workers(List& list) {
    const auto per_worker = [&](MetricType type, const char* name, const char* help, const auto& value) {
        list.add(type, name, help, [&](auto& family) {
            for (const auto& worker : list.values.workers)
                family.add({{"worker", std::to_string(worker.index)}}, value(worker));
        });
    };
    per_worker(counter, "pktpit_worker_packets_total", "Packets that the worker has received.",
               [](const WorkerState& worker) { return worker.counters.rx_packets; });
    per_worker(counter, "pktpit_worker_bytes_total", "Bytes of frames that the worker has received.",
               [](const WorkerState& worker) { return worker.counters.rx_bytes; });
    per_worker(gauge, "pktpit_worker_queues", "Receive queues of the worker.",
               [](const WorkerState& worker) { return worker.queues.size(); });
    per_worker(gauge, "pktpit_worker_queues_stood_in",
               "Of these, how many the port stage decides for, since the worker stands still.",
               [](const WorkerState& worker) { return worker.stood_in; });
    list.add(gauge, "pktpit_worker_slots", "Places of the worker's packets, by who has them.",
             [&](auto& family) {
                 for (const auto& worker : list.values.workers) {
                     if (!worker.slots) continue;
                     const std::string index = std::to_string(worker.index);
                     family.add({{"worker", index}, {"state", "free"}}, worker.slots->free);
                     family.add({{"worker", index}, {"state", "receive"}}, worker.slots->receive);
                     family.add({{"worker", index}, {"state", "transmit"}}, worker.slots->transmit);
                     family.add({{"worker", index}, {"state", "retired"}}, worker.slots->retired);
                     family.add({{"worker", index}, {"state", "lost"}}, worker.slots->lost());
                 }
             });
    const auto& offload = list.values.offload;
    list.add_one(gauge, "pktpit_offload_entries", "Blocks, or prefixes, that auto ports' stages hold.",
                 offload.entries);
    list.add_one(gauge, "pktpit_offload_budget", "How many they may hold.", offload.budget);
    list.add_one(counter, "pktpit_offload_promoted_total", "Blocks that were put there.", offload.promoted);
    list.add_one(counter, "pktpit_offload_evicted_total", "Blocks that had to go for busier ones.",
                 offload.evicted);
    list.add_one(counter, "pktpit_offload_invalidated_total",
                 "Blocks that went, or were cut down, since a route changed.", offload.invalidated);
}

/// Groups whose vectors the router adds.
void add_aggregation(List& list) {
    const auto per_group = [&](MetricType type, const char* name, const char* help, const auto& value) {
        list.add(type, name, help, [&](auto& family) {
            for (const AggregationState& group : list.values.aggregation)
                family.add({{"group", group.name}}, value(group));
        });
    };
    const auto per_worker = [&](MetricType type, const char* name, const char* help, const auto& value) {
        list.add(type, name, help, [&](auto& family) {
            for (const AggregationState& group : list.values.aggregation)
                for (const auto& worker : group.workers)
                    family.add({{"group", group.name}, {"worker", worker.address}}, value(worker));
        });
    };
    using Worker = AggregationState::Worker;
    per_group(gauge, "pktpit_aggregation_running", "Whether all workers of the group are there.",
              [](const AggregationState& group) { return group.running ? 1 : 0; });
    per_group(counter, "pktpit_aggregation_chunks_total", "Chunks that all workers have sent.",
              [](const AggregationState& group) { return group.chunks; });
    per_group(counter, "pktpit_aggregation_answers_total", "Results sent again, to one worker.",
              [](const AggregationState& group) { return group.answered; });
    per_group(gauge, "pktpit_aggregation_slots_in_use", "Chunks that somebody is missing of.",
              [](const AggregationState& group) { return group.slots_in_use; });
    list.add(counter, "pktpit_aggregation_drops_total", "Packets that the group has refused, by reason.",
             [&](auto& family) {
                 for (const AggregationState& group : list.values.aggregation)
                     for (const auto& [reason, count] : group.drops)
                         family.add({{"group", group.name}, {"reason", reason}}, count);
             });
    per_worker(gauge, "pktpit_aggregation_worker_joined", "Whether the worker is there.",
               [](const Worker& worker) { return worker.joined ? 1 : 0; });
    per_worker(counter, "pktpit_aggregation_worker_packets_total", "Packets of elements of the worker.",
               [](const Worker& worker) { return worker.packets; });
    per_worker(counter, "pktpit_aggregation_worker_repeated_total",
               "Of these, those that were there already: retransmissions and duplicates.",
               [](const Worker& worker) { return worker.again; });
    per_worker(counter, "pktpit_aggregation_worker_last_total",
               "Chunks that the worker was the last of: a straggler's grow fastest.",
               [](const Worker& worker) { return worker.last; });
}

}  // namespace

prometheus::ClientMetric latency_histogram(const LatencyCounts& counts) {
    constexpr unsigned first_power = 10;  // 1,024 ns
    constexpr unsigned last_power = 30;
    ClientMetric metric;
    uint64_t cumulative = 0;
    size_t index = 0;
    for (unsigned power = first_power; power <= last_power; power++) {
        // The longest that is below the power: `last_of` of the bucket before the one that begins with it.
        const uint64_t last = (uint64_t{1} << power) - 1;
        for (; index < LatencyBuckets::count && LatencyBuckets::last_of(index) <= last; index++)
            cumulative += counts.buckets[index];
        metric.histogram.bucket.push_back({cumulative, static_cast<double>(last) * 1e-9});
    }
    for (; index < LatencyBuckets::count; index++)
        cumulative += counts.buckets[index];
    metric.histogram.bucket.push_back({cumulative, INFINITY});
    metric.histogram.sample_count = cumulative;
    metric.histogram.sample_sum = static_cast<double>(counts.total) * 1e-9;
    return metric;
}

std::vector<MetricFamily> metric_families(const MetricsValues& values) {
    List list(values);
    add_daemon(list);
    add_ports(list);
    add_tables(list);
    add_sources(list);
    add_workers(list);
    add_aggregation(list);
    return std::move(list.families);
}

std::string DaemonMetrics::text() const {
    // A family without samples would be help and type of nothing.
    auto families = metric_families(values_);
    std::erase_if(families, [](const MetricFamily& family) { return family.metric.empty(); });
    std::ostringstream out;
    out.imbue(std::locale::classic());
    prometheus::TextSerializer().Serialize(out, families);
    std::string text = out.str();
    if (!text.empty() && text.back() == '\n') text.pop_back();  // who sends it adds one
    return text;
}

}  // namespace pktpit::router
