// SPDX-License-Identifier: BSD-3-Clause
#include "tests/differential/loaded_port_stage.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "bpf/aggregation_abi.h"
#include "bpf/filter_layout.h"
#include "fib/layout.h"
#include "port_stage.skel.h"
#include "router/filter/filter_memory.h"

namespace pktpit::test {
namespace {

constexpr uint32_t loopback = 1;  // never sent to: a test run decides, and does not transmit
constexpr size_t punt_ring_pages = 64;
constexpr size_t largest_frame = 256 * 1024;

void check(int result, const char* what) {
    if (result < 0) throw std::system_error(-result, std::generic_category(), what);
}

void stay_on_this_cpu() {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(sched_getcpu()), &set);
    check(sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno, "sched_setaffinity");
}

pp_port_counters difference(const pp_port_counters& after, const pp_port_counters& before) {
    pp_port_counters d{};
    d.rx_packets = after.rx_packets - before.rx_packets;
    d.rx_bytes = after.rx_bytes - before.rx_bytes;
    d.tx_packets = after.tx_packets - before.tx_packets;
    d.tx_bytes = after.tx_bytes - before.tx_bytes;
    for (size_t i = 0; i < PP_VERDICT_CAPACITY; i++)
        d.verdict[i] = after.verdict[i] - before.verdict[i];
    return d;
}

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
        bpf_program__set_autoload(skeleton->progs.port_stage_tags, false);
        bpf_program__set_autoload(skeleton->progs.port_watch_tags, false);
        skeleton->rodata->port_id = port;
        skeleton->rodata->table_offset = geometry.table_offset | flags;
        if (options.split_table)
            skeleton->rodata->split_table_offset = offset_of(*options.split_table) | flags;
        if (options.cold_table) skeleton->rodata->cold_table_offset = offset_of(*options.cold_table);
        skeleton->rodata->watch_daemon = options.watch_daemon;
        skeleton->rodata->aggregation = options.aggregation;
        skeleton->rodata->guards = options.guards;
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
        if (!programs_.empty()) {
            const auto& maps = first().maps;
            check(bpf_map__reuse_fd(skeleton->maps.fib_image, bpf_map__fd(maps.fib_image)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.counters, bpf_map__fd(maps.counters)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.route_counters, bpf_map__fd(maps.route_counters)),
                  "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.tx_ports, bpf_map__fd(maps.tx_ports)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.punts, bpf_map__fd(maps.punts)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.observing, bpf_map__fd(maps.observing)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.observations, bpf_map__fd(maps.observations)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.order, bpf_map__fd(maps.order)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.filter_image, bpf_map__fd(maps.filter_image)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.filter_counters, bpf_map__fd(maps.filter_counters)),
                  "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.guard, bpf_map__fd(maps.guard)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.police_shares, bpf_map__fd(maps.police_shares)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.split_sockets, bpf_map__fd(maps.split_sockets)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.sum_groups, bpf_map__fd(maps.sum_groups)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.sum_ports, bpf_map__fd(maps.sum_ports)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.sum_slots, bpf_map__fd(maps.sum_slots)), "reuse");
            check(bpf_map__reuse_fd(skeleton->maps.sum_exits, bpf_map__fd(maps.sum_exits)), "reuse");
        }
        check(port_stage::load(skeleton.get()), "port stage does not load");
        programs_.emplace(port, std::move(skeleton));
    }
    bpf_devmap_val exit{};
    exit.ifindex = loopback;
    for (const uint32_t port : egress)
        check(bpf_map_update_elem(bpf_map__fd(first().maps.tx_ports), &port, &exit, BPF_ANY), "tx_ports");

    void* mapped = mmap(nullptr, geometry.image_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                        bpf_map__fd(first().maps.fib_image), 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of the image");
    memory_ = {static_cast<std::byte*>(mapped), geometry.image_bytes};
    mapped = mmap(nullptr, sizeof(pp_order), PROT_READ | PROT_WRITE, MAP_SHARED,
                  bpf_map__fd(first().maps.order), 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of the order");
    order_ = static_cast<pp_order*>(mapped);
    mapped = mmap(nullptr, sizeof(pp_guard), PROT_READ | PROT_WRITE, MAP_SHARED,
                  bpf_map__fd(first().maps.guard), 0);
    if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap of the guard");
    guard_ = static_cast<pp_guard*>(mapped);
    published_guard_ = guard_;
    if (options.filters) {
        filter_shape_ = *options.filters;
        const size_t bytes = router::filter_block_bytes(filter_shape_);
        mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                      bpf_map__fd(first().maps.filter_image), 0);
        if (mapped == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap of the filters");
        filter_block_ = {static_cast<std::byte*>(mapped), bytes};
        filter_view_ = {filter_block_.data(), &filter_shape_};
        published_ = &filter_view_;
    }
    // A test run sends nothing: sockets that are bound to nothing will do.
    for (const uint16_t port : options.split_table ? ports : std::span<const uint16_t>()) {
        sockets_.push_back(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
        const uint32_t key = port * uint32_t{PP_PORT_QUEUES};
        check(bpf_map_update_elem(bpf_map__fd(first().maps.split_sockets), &key, &sockets_.back(), BPF_ANY),
              "split_sockets");
    }
    rings_ =
        perf_buffer__new(bpf_map__fd(first().maps.punts), punt_ring_pages, on_punt, on_lost, this, nullptr);
    if (!rings_) throw std::system_error(errno, std::generic_category(), "punt rings");
    if (!observed) return;
    pp_observing everything{UINT32_MAX, PP_OBSERVED_BYTES, {}};
    std::memset(everything.points, PP_POINT_EGRESS | PP_POINT_DROP | PP_POINT_OTHER,
                sizeof everything.points);
    const uint32_t zero = 0;
    check(bpf_map_update_elem(bpf_map__fd(first().maps.observing), &zero, &everything, BPF_ANY), "observing");
    observations_ = perf_buffer__new(bpf_map__fd(first().maps.observations), punt_ring_pages, on_observation,
                                     on_lost, this, nullptr);
    if (!observations_) throw std::system_error(errno, std::generic_category(), "rings of observations");
}

LoadedPortStage::~LoadedPortStage() {
    close_punt_rings();
    if (observations_) perf_buffer__free(observations_);
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
    if (order_) munmap(order_, sizeof *order_);
    if (guard_) munmap(guard_, sizeof *guard_);
    if (!filter_block_.empty()) munmap(filter_block_.data(), filter_block_.size());
    for (const int socket : sockets_)
        close(socket);
}

void LoadedPortStage::close_punt_rings() {
    if (rings_) perf_buffer__free(rings_);
    rings_ = nullptr;
}

int LoadedPortStage::program(uint16_t port) const {
    const auto& progs = programs_.at(port)->progs;
    return bpf_program__fd(observed_ ? progs.port_observed : progs.port_stage);
}

void LoadedPortStage::on_punt(void* self, int, void* data, uint32_t size) {
    Punt punt{};
    std::memcpy(&punt.header, data, sizeof(punt.header));
    const auto* frame = static_cast<const uint8_t*>(data) + sizeof(punt.header);
    // The ring pads its records; the header says where the frame ends.
    const size_t bytes = std::min<size_t>(punt.header.frame_length, size - sizeof(punt.header));
    punt.frame.assign(frame, frame + bytes);
    static_cast<LoadedPortStage*>(self)->punts_.push_back(std::move(punt));
}

void LoadedPortStage::on_observation(void* self, int, void* data, uint32_t size) {
    const auto* record = static_cast<const uint8_t*>(data);
    static_cast<LoadedPortStage*>(self)->written_down_.emplace_back(record, record + size);
}

void LoadedPortStage::on_lost(void*, int, unsigned long long) {
    throw std::runtime_error("a punt was lost though each was read at once");
}

pp_port_counters LoadedPortStage::counters(uint16_t port) const {
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    std::vector<pp_port_counters> values(cpus);
    const uint32_t key = port;
    check(bpf_map_lookup_elem(bpf_map__fd(first().maps.counters), &key, values.data()), "counters");
    pp_port_counters sum{};
    const pp_port_counters none{};
    for (const auto& value : values) {
        const auto negative = difference(none, value);
        sum = difference(sum, negative);
    }
    return sum;
}

pp_route_counters LoadedPortStage::route_counters(uint16_t counter) const {
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    std::vector<pp_route_counters> values(cpus);
    const uint32_t key = counter;
    check(bpf_map_lookup_elem(bpf_map__fd(first().maps.route_counters), &key, values.data()),
          "route_counters");
    pp_route_counters sum{};
    for (const auto& value : values) {
        sum.packets += value.packets;
        sum.bytes += value.bytes;
    }
    return sum;
}

pp_filter_counters LoadedPortStage::filter_counters(uint32_t counter) const {
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    std::vector<pp_filter_counters> values(cpus);
    check(bpf_map_lookup_elem(bpf_map__fd(first().maps.filter_counters), &counter, values.data()),
          "filter_counters");
    pp_filter_counters sum{};
    for (const auto& value : values) {
        sum.packets += value.packets;
        sum.bytes += value.bytes;
    }
    return sum;
}

Outcome LoadedPortStage::run(uint16_t port, const Bytes& frame, uint16_t route_counter) {
    const pp_port_counters before = counters(port);
    const pp_route_counters route_before = route_counters(route_counter);
    punts_.clear();
    LIBBPF_OPTS(bpf_test_run_opts, options);
    options.data_in = frame.data();
    options.data_size_in = static_cast<uint32_t>(frame.size());
    options.data_out = out_.data();
    options.data_size_out = static_cast<uint32_t>(out_.size());
    options.repeat = 1;
    check(bpf_prog_test_run_opts(program(port), &options), "BPF_PROG_TEST_RUN");
    if (rings_) perf_buffer__consume(rings_);
    if (observations_) perf_buffer__consume(observations_);

    Outcome outcome;
    outcome.action = static_cast<int>(options.retval);
    outcome.frame.assign(out_.begin(), out_.begin() + options.data_size_out);
    outcome.ingress = difference(counters(port), before);
    const pp_route_counters route_after = route_counters(route_counter);
    outcome.route = {route_after.packets - route_before.packets, route_after.bytes - route_before.bytes};
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
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    check(bpf_obj_get_info_by_fd(program(port), &info, &size), "program info");
    return info.xlated_prog_len / 8;
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
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    check(bpf_obj_get_info_by_fd(program(port), &info, &size), "program info");
    return std::to_string(info.verified_insns) + " instructions verified, " +
           std::to_string(info.xlated_prog_len / 8) + " in the program, " +
           std::to_string(info.jited_prog_len) + " bytes of machine code";
}

}  // namespace pktpit::test
