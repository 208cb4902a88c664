// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/generator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <vector>

#include "bench/bpf/traffic.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "generator.skel.h"

namespace pktpit::bench::harness {
namespace {

/// Frames a system call. Each call makes a page pool of its own, so few and long calls; but the thread looks
/// for stop() only between them: 65,536 are 60 ms at the slowest forwarder's rate.
constexpr int frames_per_call = 1 << 16;
/// Paced, most slots are dropped at once: 1,048,576 are some 40 ms.
constexpr int paced_slots_per_call = 1 << 20;

struct DestroyGenerator {
    void operator()(bench_generator* skeleton) const { bench_generator::destroy(skeleton); }
};

}  // namespace

struct Generator::State {
    const Topology* topology;
    FrameShape shape;
    NetworkNamespace anchor;  ///< whose loopback device the program is attached to
    std::unique_ptr<bench_generator, DestroyGenerator> skeleton;
    std::unique_ptr<bpf_link, decltype(&bpf_link__destroy)> link{nullptr, &bpf_link__destroy};
    std::thread thread;
    std::atomic<bool> stopping{false};
    std::exception_ptr failure;

    /// While the thread does not run.
    void reset() const {
        shared() = {};
        const uint32_t zero = 0;
        const pb_progress nothing{};
        bpf_map_update_elem(bpf_map__fd(skeleton->maps.progress), &zero, &nothing, BPF_ANY);
    }

    [[nodiscard]] pb_generator_state& shared() const { return skeleton->bss->state; }

    void run(unsigned cpu, unsigned batch) {
        const InNamespace here(topology->source());
        schedule_thread(0, cpu, Schedule::traffic);
        std::vector<uint8_t> frame(PB_ALIGNMENT + shape.bytes);
        for (unsigned i = PB_FRAME_BYTES; i < shape.bytes; i++)
            frame[PB_ALIGNMENT + i] = PB_PATTERN(i);
        while (!stopping) {
            LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame.data(),
                        .data_size_in = PB_ALIGNMENT + shape.bytes,
                        .repeat = shared().paced ? paced_slots_per_call : frames_per_call,
                        .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = batch);
            const int error = bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.generate), &options);
            if (error == -EINTR) continue;
            if (error != 0) fail_with(error, "BPF_PROG_RUN with live frames");
        }
    }

    void start(unsigned cpu, unsigned batch) {
        stopping = false;
        failure = nullptr;
        thread = std::thread([this, cpu, batch] {
            try {
                run(cpu, batch);
            } catch (...) {
                failure = std::current_exception();
            }
        });
    }

    ~State() {
        stopping = true;
        if (thread.joinable()) thread.join();
    }
};

Generator::Generator(const Topology& topology, Family family, std::span<const IpAddress> destinations,
                     const FrameShape& shape)
    : state_(std::make_unique<State>()) {
    if (!std::has_single_bit(destinations.size())) throw Failure("number of destinations is no power of two");
    if (shape.bytes < PB_FRAME_BYTES || shape.bytes > PB_MOST_FRAME_BYTES)
        throw Failure("frames are of 64 to 1514 bytes");
    state_->topology = &topology;
    state_->shape = shape;
    state_->skeleton.reset(bench_generator::open());
    bench_generator* skeleton = state_->skeleton.get();
    if (!skeleton) fail_errno("open the generator program");
    pb_plan& plan = const_cast<pb_plan&>(skeleton->rodata->plan);
    std::memcpy(plan.macs.destination, topology.ingress().mac.bytes.data(), 6);
    std::memcpy(plan.macs.source, topology.source_port().mac.bytes.data(), 6);
    std::memcpy(plan.source, addressing(family).source.bytes.data(), 16);
    plan.family = family == Family::ipv4 ? 4 : 6;
    plan.frame_bytes = shape.bytes;
    plan.mix = shape.mix;
    plan.timestamps = shape.timestamps;
    plan.destination_mask = static_cast<uint32_t>(destinations.size() - 1);
    plan.flow_shift = static_cast<uint32_t>(std::countr_zero(destinations.size()));
    bpf_map__set_max_entries(skeleton->maps.destinations, static_cast<uint32_t>(destinations.size()));
    if (const int error = bench_generator::load(skeleton)) fail_with(error, "load the generator program");

    const int map = bpf_map__fd(skeleton->maps.destinations);
    const size_t bytes = destinations.size() * sizeof(pb_destination);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
    if (memory == MAP_FAILED) fail_errno("map the destinations");
    auto* entry = static_cast<pb_destination*>(memory);
    for (const IpAddress& destination : destinations)
        std::memcpy((entry++)->address, destination.bytes.data(), sizeof(pb_destination));
    munmap(memory, bytes);

    {
        const InNamespace here(topology.source());
        const uint32_t zero = 0;
        const uint32_t port = topology.source_port().ifindex;
        if (bpf_map_update_elem(bpf_map__fd(skeleton->maps.source_port), &zero, &port, BPF_ANY) != 0)
            fail_errno("set the generator's port");
    }
    // A program that is attached nowhere makes every BPF_PROG_RUN call wait for an RCU grace period. The
    // anchor is apart from the source's namespace because that one's loopback device could take one family's
    // program only.
    const InNamespace here(state_->anchor);
    state_->link.reset(
        bpf_program__attach_xdp(skeleton->progs.generate, static_cast<int>(interface_index("lo"))));
    if (!state_->link) fail_errno("attach the generator program to lo");
}

Generator::~Generator() = default;
Generator::Generator(Generator&&) noexcept = default;

void Generator::start(unsigned cpu, unsigned batch, unsigned window) {
    state_->reset();
    state_->shared().window = window;
    state_->start(cpu, batch);
}

void Generator::start_paced(unsigned cpu, unsigned batch, double rate, uint64_t most) {
    state_->reset();
    pb_generator_state& shared = state_->shared();
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    shared.interval = static_cast<uint64_t>(1e9 * 1024 / rate);
    shared.next_due = (static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec))
                      << 10;
    shared.paced = 1;
    shared.most = most;
    state_->start(cpu, batch);
}

uint64_t Generator::stop() {
    state_->stopping = true;
    if (state_->thread.joinable()) state_->thread.join();
    if (state_->failure) std::rethrow_exception(state_->failure);
    return state_->shared().sent;
}

uint32_t Generator::flows() const {
    return state_->skeleton->rodata->plan.destination_mask + 1;
}

const FrameShape& Generator::shape() const {
    return state_->shape;
}

int Generator::progress_map() const {
    return bpf_map__fd(state_->skeleton->maps.progress);
}

}  // namespace pktpit::bench::harness
