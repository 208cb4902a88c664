// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/skeleton.h"

#include <bpf/libbpf.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/errno_text.h"
#include "bpf/abi.h"
#include "bpf/filter_layout.h"
#include "port_stage.skel.h"
#include "port_stage_tags.skel.h"
#include "router/filter/filter_memory.h"
#include "router/xdp/sum_maps.h"

namespace pktpit::router {
namespace {

/// BPF_F_XDP_DEV_BOUND_ONLY of Linux 6.3, which Debian's headers do not have.
constexpr uint32_t device_bound = 1U << 6;

/// Of the same maps, constants and names of programs as port_stage: only the bytes are others.
port_stage* open_stage_with_tags() {
    auto* stage = static_cast<port_stage*>(std::calloc(1, sizeof(port_stage)));
    if (!stage || port_stage__create_skeleton(stage) != 0) {
        port_stage__destroy(stage);
        return nullptr;
    }
    stage->skeleton->data = port_stage_tags__elf_bytes(&stage->skeleton->data_sz);
    if (bpf_object__open_skeleton(stage->skeleton, nullptr) == 0) return stage;
    port_stage__destroy(stage);
    return nullptr;
}

}  // namespace

bpf_program* program_of(const port_stage& skeleton, const PortProgram& program) {
    return program.observed ? skeleton.progs.port_observed : skeleton.progs.port_stage;
}

std::string privileges_hint(int error) {
    return error == EPERM ? "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON" : "";
}

Result<Skeleton> open_skeleton(const pp_fib_geometry& geometry, bool with_tags) {
    Skeleton skeleton(with_tags ? open_stage_with_tags() : port_stage__open(), port_stage__destroy);
    if (!skeleton) return fail("port_stage", "cannot open the eBPF object: " + errno_text(errno));
    if (bpf_map__set_value_size(skeleton->maps.fib_image, static_cast<uint32_t>(geometry.image_bytes)) != 0)
        return fail(PP_MAP_FIB_IMAGE, "the image is too large for a map", "at most 2 GiB",
                    "lower /fib limits");
    return skeleton;
}

Result<Skeleton> open_port_stage(const PortMaps& maps, const pp_fib_geometry& geometry,
                                 const PortProgram& program) {
    auto opened = open_skeleton(geometry, program.tags_of != 0);
    if (!opened) return opened;
    port_stage& skeleton = **opened;
    bpf_program* wanted = program_of(skeleton, program);
    for (bpf_program* one : {skeleton.progs.port_stage, skeleton.progs.port_observed})
        bpf_program__set_autoload(one, one == wanted);
    if (program.tags_of != 0) {
        bpf_program__set_ifindex(wanted, program.tags_of);
        bpf_program__set_flags(wanted, bpf_program__flags(wanted) | device_bound);
    }
    skeleton.rodata->geometry = geometry;
    skeleton.rodata->port_id = program.port;
    const uint32_t flags = program.vrfs ? PP_BY_INTERFACE : 0;
    skeleton.rodata->table_offset = geometry.table_offset | flags;
    if (program.split_table)
        skeleton.rodata->split_table_offset =
            (geometry.table_offset + *program.split_table * static_cast<uint32_t>(sizeof(pp_fib_table))) |
            flags;
    if (program.cold_table)
        skeleton.rodata->cold_table_offset =
            geometry.table_offset + *program.cold_table * static_cast<uint32_t>(sizeof(pp_fib_table));
    skeleton.rodata->watch_daemon = program.watch_daemon;
    if (program.filters) {
        skeleton.rodata->filter_shape = *program.filters;
        const auto bytes = static_cast<uint32_t>(filter_block_bytes(*program.filters));
        if (bpf_map__set_value_size(skeleton.maps.filter_image, bytes) != 0 ||
            bpf_map__set_max_entries(skeleton.maps.filter_counters, program.filters->counters) != 0)
            return fail(PP_MAP_FILTER_IMAGE, "the filters are too large for a map", "at most 2 GiB");
    }
    skeleton.rodata->completes_checksums = program.completes_checksums;
    skeleton.rodata->guards = program.guards;
    skeleton.rodata->aggregation = program.sums != nullptr;
    for (bpf_map* map : {skeleton.maps.sum_groups, skeleton.maps.sum_ports, skeleton.maps.sum_slots,
                         skeleton.maps.sum_exits}) {
        // A program without aggregation has no instruction that names them.
        const int shared = program.sums ? program.sums->map(bpf_map__name(map)) : -1;
        if (program.sums ? bpf_map__reuse_fd(map, shared) != 0 : bpf_map__set_autocreate(map, false) != 0)
            return fail(bpf_map__name(map), "cannot share the map: " + errno_text(errno));
    }
    for (auto [map, fd] : {std::pair{skeleton.maps.fib_image, &maps.fib_image},
                           {skeleton.maps.counters, &maps.counters},
                           {skeleton.maps.route_counters, &maps.route_counters},
                           {skeleton.maps.tx_ports, &maps.tx_ports},
                           {skeleton.maps.tx_devices, &maps.tx_devices},
                           {skeleton.maps.punts, &maps.punts},
                           {skeleton.maps.split_sockets, &maps.split_sockets},
                           {skeleton.maps.observing, &maps.observing},
                           {skeleton.maps.observed, &maps.observed},
                           {skeleton.maps.observations, &maps.observations},
                           {skeleton.maps.samples, &maps.samples},
                           {skeleton.maps.order, &maps.order},
                           {skeleton.maps.filter_image, &maps.filter_image},
                           {skeleton.maps.filter_counters, &maps.filter_counters},
                           {skeleton.maps.guard, &maps.guard},
                           {skeleton.maps.police_shares, &maps.police_shares}})
        if (bpf_map__reuse_fd(map, fd->get()) != 0)
            return fail(bpf_map__name(map), "cannot share the map: " + errno_text(errno));
    return opened;
}

}  // namespace pktpit::router
