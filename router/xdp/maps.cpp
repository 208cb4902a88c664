// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/errno_text.h"
#include "bpf/filter_layout.h"
#include "port_stage.skel.h"
#include "router/filter/filter_memory.h"
#include "router/xdp/kernel_support.h"
#include "router/xdp/skeleton.h"

namespace pktpit::router {
namespace {

Result<Fd> make_map_like(bpf_map* map) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = bpf_map__map_flags(map));
    uint32_t entries = bpf_map__max_entries(map);
    Fd pattern;
    if (bpf_map* inner = bpf_map__inner_map(map)) {  // rings by CPU (bpf/ring.h)
        auto made = make_map_like(inner);
        if (!made) return made;
        pattern = std::move(*made);
        options.inner_map_fd = static_cast<uint32_t>(pattern.get());
        entries = static_cast<uint32_t>(libbpf_num_possible_cpus());
    }
    const int fd = bpf_map_create(bpf_map__type(map), bpf_map__name(map), bpf_map__key_size(map),
                                  bpf_map__value_size(map), entries, &options);
    if (fd < 0)
        return fail(bpf_map__name(map),
                    "cannot make the map of " + std::to_string(bpf_map__value_size(map)) +
                        " bytes a value: " + errno_text(errno),
                    "memory and the privilege to make BPF maps",
                    errno == ENOMEM ? "lower /fib limits" : privileges_hint(errno));
    return Fd(fd);
}

/// The map that says whose each route counter is. eBPF does not know it.
Result<Fd> make_counted_routes() {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_NO_PREALLOC);
    const int fd = bpf_map_create(BPF_MAP_TYPE_HASH, PP_MAP_COUNTED_ROUTES, sizeof(pp_counted_route),
                                  sizeof(uint32_t), PP_ROUTE_COUNTERS, &options);
    if (fd < 0)
        return fail(PP_MAP_COUNTED_ROUTES, "cannot make the map: " + errno_text(errno),
                    "the privilege to make BPF maps", privileges_hint(errno));
    return Fd(fd);
}

// What the verifier said last is what a person needs; the whole log can be megabytes.
std::string log_tail(const std::vector<char>& log) {
    constexpr size_t tail = 1500;
    const std::string text(log.data(), strnlen(log.data(), log.size()));
    return text.size() <= tail ? text : text.substr(text.size() - tail);
}

}  // namespace

Result<MappedImage> MappedImage::map(int map_fd, bool writable) {
    bpf_map_info info{};
    uint32_t length = sizeof info;
    if (bpf_obj_get_info_by_fd(map_fd, &info, &length) != 0)
        return fail("map", "cannot read the map's shape: " + errno_text(errno));
    // The kernel gives each value a multiple of 8 bytes.
    const size_t bytes = size_t{(info.value_size + 7) & ~7U} * info.max_entries;
    void* memory = mmap(nullptr, bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, map_fd, 0);
    if (memory == MAP_FAILED) return fail(info.name, "cannot map its memory: " + errno_text(errno));
    MappedImage mapped;
    mapped.memory_ = {static_cast<std::byte*>(memory), bytes};
    return mapped;
}

MappedImage::~MappedImage() {
    if (!memory_.empty()) munmap(memory_.data(), memory_.size());
}

MappedImage::MappedImage(MappedImage&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}

MappedImage& MappedImage::operator=(MappedImage&& other) noexcept {
    std::swap(memory_, other.memory_);
    return *this;
}

Result<PortMaps> make_port_maps(const pp_fib_geometry& geometry, EarlierCounts earlier) {
    auto skeleton = open_skeleton(geometry);
    if (!skeleton) return tl::unexpected(skeleton.error());
    const auto& declared = (*skeleton)->maps;

    PortMaps maps;
    maps.counters = std::move(earlier.counters);
    maps.route_counters = std::move(earlier.route_counters);
    maps.counted_routes = std::move(earlier.counted_routes);
    if (!maps.counted_routes) {
        auto made = make_counted_routes();
        if (!made) return tl::unexpected(made.error());
        maps.counted_routes = std::move(*made);
    }
    for (auto [target, map] : {std::pair{&maps.fib_image, declared.fib_image},
                               {&maps.counters, declared.counters},
                               {&maps.route_counters, declared.route_counters},
                               {&maps.tx_ports, declared.tx_ports},
                               {&maps.tx_devices, declared.tx_devices},
                               {&maps.punts, declared.punts},
                               {&maps.split_sockets, declared.split_sockets},
                               {&maps.observing, declared.observing},
                               {&maps.observed, declared.observed},
                               {&maps.observations, declared.observations},
                               {&maps.samples, declared.samples},
                               {&maps.order, declared.order},
                               {&maps.filter_image, declared.filter_image},
                               {&maps.filter_counters, declared.filter_counters},
                               {&maps.guard, declared.guard},
                               {&maps.police_shares, declared.police_shares}}) {
        if (*target) continue;
        auto made = make_map_like(map);
        if (!made) return tl::unexpected(made.error());
        *target = std::move(*made);
    }
    return maps;
}

bool set_tx_port(const PortMaps& maps, uint16_t port, uint32_t ifindex, bool native, int egress) {
    const uint32_t key = port;
    bpf_devmap_val value{};
    value.ifindex = ifindex;
    value.bpf_prog.fd = egress;
    if (bpf_map_update_elem(maps.tx_devices.get(), &key, &value, BPF_ANY) != 0) return false;
    if (native) return bpf_map_update_elem(maps.tx_ports.get(), &key, &value, BPF_ANY) == 0;
    bpf_map_delete_elem(maps.tx_ports.get(), &key);
    return true;
}

void remove_tx_port(const PortMaps& maps, uint16_t port) {
    const uint32_t key = port;
    bpf_map_delete_elem(maps.tx_ports.get(), &key);
    bpf_map_delete_elem(maps.tx_devices.get(), &key);
}

Result<Fd> make_samples_map() {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    const int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, PP_MAP_SAMPLES, sizeof(uint32_t), sizeof(pp_samples),
                                  static_cast<uint32_t>(libbpf_num_possible_cpus()), &options);
    if (fd < 0)
        return fail(PP_MAP_SAMPLES, "cannot make the map: " + errno_text(errno), "memory",
                    privileges_hint(errno));
    return Fd(fd);
}

Result<FilterMaps> make_filter_maps(const pp_filter_shape& shape) {
    const auto made = [](bpf_map_type type, const char* name, size_t bytes, uint32_t entries,
                         uint32_t flags) -> Result<Fd> {
        LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags);
        const int fd =
            bpf_map_create(type, name, sizeof(uint32_t), static_cast<uint32_t>(bytes), entries, &options);
        if (fd < 0)
            return fail("/filters",
                        "cannot make the map " + std::string(name) + " of " +
                            std::to_string(bytes * entries) + " bytes: " + errno_text(errno),
                        "memory and the privilege to make BPF maps",
                        errno == ENOMEM || errno == E2BIG ? "fewer rules" : privileges_hint(errno));
        return Fd(fd);
    };
    FilterMaps maps;
    auto image = made(BPF_MAP_TYPE_ARRAY, PP_MAP_FILTER_IMAGE, filter_block_bytes(shape), 1, BPF_F_MMAPABLE);
    if (!image) return tl::unexpected(image.error());
    auto counters = made(BPF_MAP_TYPE_PERCPU_ARRAY, PP_MAP_FILTER_COUNTERS, sizeof(pp_filter_counters),
                         shape.counters, 0);
    if (!counters) return tl::unexpected(counters.error());
    return FilterMaps{std::move(*image), std::move(*counters)};
}

std::vector<pp_filter_counters> read_filter_counters(int counters_map, uint32_t first, uint32_t count) {
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    std::vector<pp_filter_counters> sums(count);
    constexpr uint32_t most_at_once = 4096;
    std::vector<pp_filter_counters> values(cpus * std::min(count, most_at_once));
    std::vector<uint32_t> keys(std::min(count, most_at_once));
    for (uint32_t done = 0; done < count;) {
        // The kernel begins behind the key that it is given.
        uint32_t behind = first + done - 1;
        uint32_t next = 0;
        uint32_t some = std::min(count - done, most_at_once);
        LIBBPF_OPTS(bpf_map_batch_opts, options);
        const int error = bpf_map_lookup_batch(counters_map, first + done == 0 ? nullptr : &behind, &next,
                                               keys.data(), values.data(), &some, &options);
        if (some == 0 || (error != 0 && error != -ENOENT)) break;
        for (uint32_t i = 0; i < some; i++)
            for (size_t cpu = 0; cpu < cpus; cpu++) {
                sums[done + i].packets += values[i * cpus + cpu].packets;
                sums[done + i].bytes += values[i * cpus + cpu].bytes;
            }
        done += some;
        if (error == -ENOENT) break;
    }
    return sums;
}

Result<Fd> load_port_stage(const PortMaps& maps, const pp_fib_geometry& geometry,
                           const PortProgram& program) {
    auto opened = open_port_stage(maps, geometry, program);
    if (!opened) return tl::unexpected(opened.error());
    port_stage& skeleton = **opened;
    std::vector<char> log(1 << 20, '\0');
    bpf_program* wanted = program_of(skeleton, program);
    bpf_program__set_log_buf(wanted, log.data(), log.size());
    if (const int error = port_stage__load(&skeleton); error != 0) {
        // That a kernel refuses the program that asks for tags is expected, and told by nobody.
        const std::string missing = program.tags_of != 0 ? "" : missing_needs();
        return fail("port_stage",
                    "the kernel refuses the eBPF program: " + errno_text(-error) + "\n" + log_tail(log),
                    "a kernel with all that pktpit doctor asks for",
                    missing.empty() ? privileges_hint(-error) : missing);
    }
    // The object goes when the skeleton does; the program stays as long as this descriptor.
    return Fd(dup(bpf_program__fd(wanted)));
}

pp_port_counters read_port_counters(int counters_map, uint16_t port) {
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    static_assert(sizeof(pp_port_counters) % 8 == 0, "per-CPU values are laid out in units of 8 bytes");
    std::vector<pp_port_counters> values(cpus);
    const uint32_t key = port;
    pp_port_counters sum{};
    if (bpf_map_lookup_elem(counters_map, &key, values.data()) != 0) return sum;
    for (const auto& value : values)
        add_counters(sum, value);
    return sum;
}

}  // namespace pktpit::router
