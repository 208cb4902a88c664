// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/sink.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness/failure.h"
#include "sink.skel.h"

namespace pktpit::bench::harness {
namespace {

struct DestroySink {
    void operator()(bench_sink* skeleton) const { bench_sink::destroy(skeleton); }
};

using Words = std::array<uint64_t, sizeof(pb_sink_counters) / sizeof(uint64_t)>;

}  // namespace

struct Sink::State {
    std::unique_ptr<bench_sink, DestroySink> skeleton;
    std::unique_ptr<bpf_link, decltype(&bpf_link__destroy)> link{nullptr, &bpf_link__destroy};
};

Sink::Sink(const Topology& topology, Family family, Mode mode, const Generator& generator, Arrival arrival)
    : state_(std::make_unique<State>()) {
    state_->skeleton.reset(bench_sink::open());
    bench_sink* skeleton = state_->skeleton.get();
    if (!skeleton) fail_errno("open the sink program");
    auto& expectation = const_cast<pb_expectation&>(skeleton->rodata->expectation);
    const bool routed = arrival != Arrival::as_sent;
    const Port& sender = routed ? topology.egress() : topology.source_port();
    const Port& receiver = routed ? topology.sink_port() : topology.ingress();
    std::memcpy(expectation.macs.destination, receiver.mac.bytes.data(), 6);
    std::memcpy(expectation.macs.source, sender.mac.bytes.data(), 6);
    expectation.ttl = arrival == Arrival::routed ? PB_TTL - 1 : PB_TTL;
    expectation.frame_bytes = generator.shape().mix ? 0 : generator.shape().bytes;
    expectation.timestamps = generator.shape().timestamps;
    expectation.family = family == Family::ipv4 ? 4 : 6;
    expectation.sample_mask = mode == Mode::count ? 63 : 0;
    bpf_map__set_max_entries(skeleton->maps.flows, generator.flows());
    if (const int error = bpf_map__reuse_fd(skeleton->maps.progress, generator.progress_map()))
        fail_with(error, "share the generator's map");
    if (const int error = bench_sink::load(skeleton)) fail_with(error, "load the sink program");
    const InNamespace here(topology.sink());
    bpf_program* program = mode == Mode::count ? skeleton->progs.count : skeleton->progs.sequence;
    state_->link.reset(bpf_program__attach_xdp(program, static_cast<int>(topology.sink_port().ifindex)));
    if (!state_->link) fail_errno("attach the sink program");
}

Sink::~Sink() = default;

pb_sink_counters Sink::counters() const {
    std::vector<pb_sink_counters> per_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
    const uint32_t zero = 0;
    if (bpf_map_lookup_elem(bpf_map__fd(state_->skeleton->maps.sink_counters), &zero, per_cpu.data()) != 0)
        fail_errno("read the sink's counters");
    Words sum{};
    for (const auto& one : per_cpu) {
        const auto words = std::bit_cast<Words>(one);
        for (size_t i = 0; i < sum.size(); i++)
            sum[i] += words[i];
    }
    return std::bit_cast<pb_sink_counters>(sum);
}

std::vector<uint64_t> Sink::latencies() const {
    std::vector<uint64_t> buckets(PB_LATENCY_BUCKETS);
    std::vector<uint64_t> per_cpu(static_cast<size_t>(libbpf_num_possible_cpus()));
    for (uint32_t bucket = 0; bucket < PB_LATENCY_BUCKETS; bucket++) {
        if (bpf_map_lookup_elem(bpf_map__fd(state_->skeleton->maps.latencies), &bucket, per_cpu.data()) != 0)
            fail_errno("read the sink's latencies");
        for (const uint64_t count : per_cpu)
            buckets[bucket] += count;
    }
    return buckets;
}

pb_sink_counters drain(const Sink& sink, uint64_t sent) {
    auto counters = sink.counters();
    for (int quiet = 0; quiet < 20 && counters.frames < sent;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        const auto now = sink.counters();
        quiet = now.frames == counters.frames ? quiet + 1 : 0;
        counters = now;
    }
    return counters;
}

std::string describe_faults(const pb_sink_counters& counters) {
    if (counters.sampled == 0) return "nothing arrived";
    std::string faults;
    const std::pair<const char*, uint64_t> kinds[] = {{"length", counters.bad_length},
                                                      {"MAC addresses", counters.bad_mac},
                                                      {"TTL", counters.bad_ttl},
                                                      {"checksum", counters.bad_checksum},
                                                      {"payload", counters.bad_payload}};
    for (const auto& [what, count] : kinds) {
        if (count == 0) continue;
        if (!faults.empty()) faults += ", ";
        faults += std::string(what) + " wrong in " + std::to_string(count);
    }
    if (!faults.empty()) faults += " of " + std::to_string(counters.sampled);
    return faults;
}

}  // namespace pktpit::bench::harness
