// SPDX-License-Identifier: BSD-3-Clause
#include "tests/differential/loaded_port_stage.h"

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/if_xdp.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "bpf/aggregation_abi.h"
#include "bpf/filter_layout.h"
#include "fib/layout.h"
#include "port_stage.skel.h"
#include "router/filter/filter_memory.h"
#include "tests/differential/bpf_calls.h"

namespace pktpit::test {
namespace {

constexpr uint32_t loopback = 1;  // never sent to: a test run decides, and does not transmit
constexpr size_t ring_bytes = 256 * 1024;
constexpr size_t largest_frame = 256 * 1024;

void stay_on_this_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &set);
    check(sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno, "sched_setaffinity");
}

/// Counters are words of 64 bits, and nothing else.
template <class Counters, class Operation>
Counters each(const Counters& a, const Counters& b, const Operation& operation) {
    std::array<uint64_t, sizeof(Counters) / sizeof(uint64_t)> words;
    std::ranges::transform(std::bit_cast<decltype(words)>(a), std::bit_cast<decltype(words)>(b),
                           words.begin(), operation);
    return std::bit_cast<Counters>(words);
}

/// The sum over CPUs.
template <class Counters>
Counters counted(const bpf_map* map, uint32_t key) {
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    std::vector<Counters> values(cpus);
    check(bpf_map_lookup_elem(bpf_map__fd(map), &key, values.data()), bpf_map__name(map));
    return std::accumulate(values.begin(), values.end(), Counters{},
                           [](const Counters& a, const Counters& b) { return each(a, b, std::plus()); });
}

bpf_prog_info info_of(int program) {
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    check(bpf_obj_get_info_by_fd(program, &info, &size), "program info");
    return info;
}

std::unique_ptr<router::RingReader> opened_rings(const bpf_map* map, router::RingReader::Handler handler) {
    auto opened =
        router::RingReader::open(bpf_map__fd(map), bpf_map__name(map), ring_bytes, std::move(handler));
    if (!opened) throw std::runtime_error(opened.error().message);
    return std::move(*opened);
}

using Maps = decltype(port_stage::maps);
/// The maps that the programs of all ports share.
constexpr bpf_map* Maps::*shared_maps[] = {
    &Maps::fib_image,     &Maps::counters,      &Maps::route_counters,  &Maps::tx_ports,
    &Maps::tx_devices,    &Maps::punts,         &Maps::observing,       &Maps::observations,
    &Maps::order,         &Maps::filter_image,  &Maps::filter_counters, &Maps::guard,
    &Maps::police_shares, &Maps::split_sockets, &Maps::sum_groups,      &Maps::sum_ports,
    &Maps::sum_slots,     &Maps::sum_exits};

}  // namespace

bool LoadedPortStage::permitted() {
    return geteuid() == 0;
}

void LoadedPortStage::PortStageDelete::operator()(port_stage* skeleton) const {
    port_stage::destroy(skeleton);
}

LoadedPortStage::LoadedPortStage(const pp_fib_geometry& geometry, std::span<const uint16_t> ports,
                                 std::span<const uint16_t> egress, const StageOptions& options)
    : geometry_(geometry), guarded_(options.guards != 0), observed_(options.observed), out_(largest_frame) {
    const bool observed = options.observed;
    const uint32_t flags = options.vrfs ? PP_BY_INTERFACE : 0;
    const auto offset_of = [&geometry](uint32_t table) {
        return geometry.table_offset + table * static_cast<uint32_t>(sizeof(pp_fib_table));
    };
    stay_on_this_cpu();
    for (const uint16_t port : ports) {
        std::unique_ptr<port_stage, PortStageDelete> skeleton(port_stage::open());
        if (!skeleton) throw std::runtime_error("port stage does not open");
        bpf_program__set_autoload(skeleton->progs.port_stage, !observed);
        bpf_program__set_autoload(skeleton->progs.port_observed, observed);
        for (bpf_map* rings : {skeleton->maps.punts, skeleton->maps.observations})
            check(bpf_map__set_max_entries(rings, static_cast<uint32_t>(libbpf_num_possible_cpus())),
                  "entries");
        skeleton->rodata->port_id = port;
        skeleton->rodata->table_offset = geometry.table_offset | flags;
        if (options.split_table)
            skeleton->rodata->split_table_offset = offset_of(*options.split_table) | flags;
        if (options.cold_table) skeleton->rodata->cold_table_offset = offset_of(*options.cold_table);
        skeleton->rodata->watch_daemon = options.watch_daemon;
        skeleton->rodata->aggregation = options.aggregation;
        skeleton->rodata->guards = options.guards;
        skeleton->rodata->completes_checksums = options.completes_checksums;
        if (options.aggregation)
            check(bpf_map__set_max_entries(skeleton->maps.sum_slots, PP_SUM_SLOTS), "slots");
        std::memcpy(&skeleton->rodata->geometry, &geometry, sizeof(geometry));
        if (options.filters) {
            std::memcpy(&skeleton->rodata->filter_shape, &*options.filters, sizeof(pp_filter_shape));
            check(
                bpf_map__set_value_size(skeleton->maps.filter_image,
                                        static_cast<uint32_t>(router::filter_block_bytes(*options.filters))),
                "value size");
            check(bpf_map__set_max_entries(skeleton->maps.filter_counters, options.filters->counters),
                  "entries");
        }
        check(bpf_map__set_value_size(skeleton->maps.fib_image, static_cast<uint32_t>(geometry.image_bytes)),
              "value size");
        for (const auto map : shared_maps)
            if (!programs_.empty())
                check(bpf_map__reuse_fd(skeleton->maps.*map, bpf_map__fd(first().maps.*map)), "reuse");
        check(port_stage::load(skeleton.get()), "port stage does not load");
        programs_.emplace(port, std::move(skeleton));
    }
    bpf_devmap_val exit{};
    exit.ifindex = loopback;
    for (const uint32_t port : egress)
        check(bpf_map_update_elem(bpf_map__fd(first().maps.tx_ports), &port, &exit, BPF_ANY), "tx_ports");

    const auto memory_of = [](const bpf_map* map, size_t bytes) {
        return mapped(bpf_map__fd(map), bytes, bpf_map__name(map));
    };
    memory_ = memory_of(first().maps.fib_image, geometry.image_bytes);
    order_ = reinterpret_cast<pp_order*>(memory_of(first().maps.order, sizeof(pp_order)).data());
    guard_ = reinterpret_cast<pp_guard*>(memory_of(first().maps.guard, sizeof(pp_guard)).data());
    published_guard_ = guard_;
    if (options.filters) {
        filter_shape_ = *options.filters;
        filter_block_ = memory_of(first().maps.filter_image, router::filter_block_bytes(filter_shape_));
        filter_view_ = {filter_block_.data(), &filter_shape_};
        published_ = &filter_view_;
    }
    // A test run sends nothing: sockets that are bound to nothing will do. Newer kernels (seen on 7.3) take
    // none without a receive ring into the map: ENOBUFS.
    for (const uint16_t port : options.split_table ? ports : std::span<const uint16_t>()) {
        sockets_.push_back(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
        const int ring_entries = 1;
        check(setsockopt(sockets_.back(), SOL_XDP, XDP_RX_RING, &ring_entries, sizeof ring_entries) == 0
                  ? 0
                  : -errno,
              "receive ring");
        const uint32_t key = port * uint32_t{PP_PORT_QUEUES};
        check(bpf_map_update_elem(bpf_map__fd(first().maps.split_sockets), &key, &sockets_.back(), BPF_ANY),
              "split_sockets");
    }
    rings_ = opened_rings(first().maps.punts, [this](auto record) { on_punt(record); });
    if (!observed) return;
    pp_observing everything{UINT32_MAX, PP_OBSERVED_BYTES, {}};
    std::memset(everything.points, PP_POINT_EGRESS | PP_POINT_DROP | PP_POINT_OTHER,
                sizeof everything.points);
    const uint32_t zero = 0;
    check(bpf_map_update_elem(bpf_map__fd(first().maps.observing), &zero, &everything, BPF_ANY), "observing");
    observations_ = opened_rings(first().maps.observations, [this](auto record) {
        written_down_.emplace_back(record.begin(), record.end());
    });
}

LoadedPortStage::~LoadedPortStage() {
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
    if (order_) munmap(order_, sizeof *order_);
    if (guard_) munmap(guard_, sizeof *guard_);
    if (!filter_block_.empty()) munmap(filter_block_.data(), filter_block_.size());
    for (const int socket : sockets_)
        close(socket);
}

void LoadedPortStage::close_punt_rings() {
    rings_.reset();
}

int LoadedPortStage::program(uint16_t port) const {
    const auto& progs = programs_.at(port)->progs;
    return bpf_program__fd(observed_ ? progs.port_observed : progs.port_stage);
}

void LoadedPortStage::on_punt(std::span<const uint8_t> record) {
    Punt punt{};
    std::memcpy(&punt.header, record.data(), sizeof(punt.header));
    // A record is longer than what was sent; its head says where the frame ends.
    const auto frame = record.subspan(sizeof(punt.header));
    const auto sent = frame.first(std::min<size_t>(punt.header.frame_length, frame.size()));
    punt.frame.assign(sent.begin(), sent.end());
    punts_.push_back(std::move(punt));
}

pp_port_counters LoadedPortStage::counters(uint16_t port) const {
    return counted<pp_port_counters>(first().maps.counters, port);
}

pp_route_counters LoadedPortStage::route_counters(uint16_t counter) const {
    return counted<pp_route_counters>(first().maps.route_counters, counter);
}

pp_filter_counters LoadedPortStage::filter_counters(uint32_t counter) const {
    return counted<pp_filter_counters>(first().maps.filter_counters, counter);
}

Outcome LoadedPortStage::run(uint16_t port, const Bytes& frame, uint16_t route_counter) {
    const pp_port_counters before = counters(port);
    const pp_route_counters route_before = route_counters(route_counter);
    punts_.clear();
    const auto [action, size] =
        test_run(program(port), std::as_bytes(std::span(frame)), std::as_writable_bytes(std::span(out_)));
    if (rings_) rings_->poll();
    if (observations_) observations_->poll();

    Outcome outcome;
    outcome.action = static_cast<int>(action);
    outcome.frame.assign(out_.begin(), out_.begin() + size);
    outcome.ingress = each(counters(port), before, std::minus());
    outcome.route = each(route_counters(route_counter), route_before, std::minus());
    for (int verdict = 0; verdict < PP_VERDICT_CAPACITY; verdict++) {
        if (outcome.ingress.verdict[verdict] == 0) continue;
        outcome.verdict = static_cast<pp_verdict>(verdict);
        outcome.verdicts_counted += static_cast<int>(outcome.ingress.verdict[verdict]);
    }
    outcome.punts = std::move(punts_);
    outcome.observations = std::exchange(written_down_, {});
    return outcome;
}

int LoadedPortStage::map(const char* name) const {
    const int found = bpf_object__find_map_fd_by_name(first().obj, name);
    check(found, name);
    return found;
}

uint32_t LoadedPortStage::program_length(uint16_t port) const {
    return info_of(program(port)).xlated_prog_len / 8;
}

bool LoadedPortStage::refers_to(uint16_t port, const char* map_name) const {
    bpf_map_info map_info{};
    uint32_t size = sizeof(map_info);
    check(bpf_obj_get_info_by_fd(map(map_name), &map_info, &size), "map info");
    std::vector<bpf_insn> code(program_length(port));
    bpf_prog_info info{};
    info.xlated_prog_insns = reinterpret_cast<uintptr_t>(code.data());
    info.xlated_prog_len = static_cast<uint32_t>(code.size() * sizeof(bpf_insn));
    size = sizeof(info);
    check(bpf_obj_get_info_by_fd(program(port), &info, &size), "program");
    // A dump has a map's number where the program has its address.
    return std::ranges::any_of(code, [&](const bpf_insn& one) {
        return one.code == (BPF_LD | BPF_IMM | BPF_DW) &&
               (one.src_reg == BPF_PSEUDO_MAP_FD || one.src_reg == BPF_PSEUDO_MAP_VALUE) &&
               static_cast<uint32_t>(one.imm) == map_info.id;
    });
}

std::string LoadedPortStage::program_facts(uint16_t port) const {
    const bpf_prog_info info = info_of(program(port));
    return std::to_string(info.verified_insns) + " instructions verified, " +
           std::to_string(program_length(port)) + " in the program, " + std::to_string(info.jited_prog_len) +
           " bytes of machine code";
}

}  // namespace pktpit::test
