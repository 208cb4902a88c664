// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/sum_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "aggregate_egress.skel.h"
#include "base/errno_text.h"
#include "bpf/abi.h"
#include "router/xdp/skeleton.h"

namespace pktpit::router {
namespace {

struct MapShape {
    const char* name;
    bpf_map_type type;
    uint32_t key_size, value_size, entries, flags;
};
// As bpf/aggregate.h declares them.
constexpr MapShape groups_shape{PP_MAP_SUM_GROUPS,    BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
                                sizeof(pp_sum_group), PP_SUM_GROUPS,      BPF_F_MMAPABLE};
constexpr MapShape ports_shape{PP_MAP_SUM_PORTS, BPF_MAP_TYPE_HASH, sizeof(uint16_t),
                               sizeof(uint32_t), PP_SUM_GROUPS,     0};
constexpr MapShape slots_shape{PP_MAP_SUM_SLOTS,    BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
                               sizeof(pp_sum_slot), PP_SUM_SLOTS,       BPF_F_MMAPABLE};
constexpr MapShape exits_shape{
    PP_MAP_SUM_EXITS, BPF_MAP_TYPE_ARRAY_OF_MAPS, sizeof(uint32_t), sizeof(uint32_t), PP_SUM_GROUPS, 0};
constexpr std::array<const MapShape*, 4> shapes{&groups_shape, &ports_shape, &slots_shape, &exits_shape};

std::string pin_name(const char* map) {
    return "v" + std::to_string(PP_ABI_VERSION) + "_" + map + "_" + std::to_string(PP_SUM_LAYOUT);
}

bool has_shape(const Fd& map, const MapShape& shape) {
    bpf_map_info info{};
    uint32_t length = sizeof info;
    return map && bpf_obj_get_info_by_fd(map.get(), &info, &length) == 0 &&
           info.type == uint32_t{shape.type} && info.key_size == shape.key_size &&
           info.value_size == shape.value_size && info.max_entries == shape.entries;
}

Result<Fd> refused(const char* map) {
    return fail(map, "cannot make the map: " + errno_text(errno), "memory and the privilege to make BPF maps",
                privileges_hint(errno));
}

Result<Fd> make_exits() {
    Fd made(bpf_map_create(BPF_MAP_TYPE_DEVMAP, "sum_exits_of", sizeof(uint32_t), sizeof(bpf_devmap_val),
                           PA_MAX_WORKERS, nullptr));
    return made ? Result<Fd>(std::move(made)) : refused("sum_exits_of");
}

Result<Fd> make_map(const MapShape& shape) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = shape.flags);
    Fd pattern;
    if (shape.type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
        auto inner = make_exits();
        if (!inner) return inner;
        pattern = std::move(*inner);
        options.inner_map_fd = static_cast<uint32_t>(pattern.get());
    }
    Fd made(
        bpf_map_create(shape.type, shape.name, shape.key_size, shape.value_size, shape.entries, &options));
    return made ? Result<Fd>(std::move(made)) : refused(shape.name);
}

}  // namespace

Result<std::unique_ptr<SumMaps>> SumMaps::open(const PinDirectory& pins, const Fd& counters) {
    auto maps = std::make_unique<SumMaps>();
    if (auto made = maps->make(pins); !made) return tl::unexpected(made.error());
    auto groups = MappedImage::map(maps->groups_.get(), true);
    if (!groups) return tl::unexpected(groups.error());
    maps->groups_memory_ = std::move(*groups);
    auto slots = MappedImage::map(maps->slots_.get(), true);
    if (!slots) return tl::unexpected(slots.error());
    maps->slots_memory_ = std::move(*slots);
    if (auto loaded = maps->load_egress(counters); !loaded) return tl::unexpected(loaded.error());
    return maps;
}

// All of them or none: a group means nothing without its slots.
Result<void> SumMaps::make(const PinDirectory& pins) {
    const std::array<Fd*, 4> targets{&groups_, &ports_, &slots_, &exits_};
    adopted_ = true;
    for (size_t i = 0; i < shapes.size(); i++) {
        *targets[i] = pins.get(pin_name(shapes[i]->name));
        adopted_ = adopted_ && has_shape(*targets[i], *shapes[i]);
    }
    if (adopted_) return {};
    for (size_t i = 0; i < shapes.size(); i++) {
        auto made = make_map(*shapes[i]);
        if (!made) return tl::unexpected(made.error());
        *targets[i] = std::move(*made);
    }
    return {};
}

Result<void> SumMaps::load_egress(const Fd& counters) {
    const std::unique_ptr<aggregate_egress, void (*)(aggregate_egress*)> object(aggregate_egress__open(),
                                                                                aggregate_egress__destroy);
    if (!object) return fail("aggregate_egress", "cannot open the eBPF object: " + errno_text(errno));
    bpf_map* one = nullptr;
    bpf_object__for_each_map(one, object->obj) {
        const std::string_view name = bpf_map__name(one);
        const int fd = name == PP_MAP_COUNTERS ? counters.get() : map(name);
        if (fd >= 0 && bpf_map__reuse_fd(one, fd) != 0)
            return fail(bpf_map__name(one), "cannot share the map: " + errno_text(errno));
        // The program reads none of the other maps, which the headers declare.
        if (fd < 0 && !name.ends_with(".rodata")) bpf_map__set_autocreate(one, false);
    }
    if (const int error = aggregate_egress__load(object.get()); error != 0)
        return fail("aggregate_egress", "the kernel refuses the eBPF program: " + errno_text(-error),
                    "Linux 5.15", privileges_hint(-error));
    egress_ = Fd(::dup(bpf_program__fd(object->progs.aggregate_egress)));
    return {};
}

std::span<pp_sum_group> SumMaps::groups() const {
    return {reinterpret_cast<pp_sum_group*>(groups_memory_.memory().data()), PP_SUM_GROUPS};
}

std::span<pp_sum_slot> SumMaps::slots() const {
    return {reinterpret_cast<pp_sum_slot*>(slots_memory_.memory().data()), PP_SUM_SLOTS};
}

Result<void> SumMaps::set_port(uint16_t port, uint32_t group) const {
    if (bpf_map_update_elem(ports_.get(), &port, &group, BPF_ANY) == 0) return {};
    return fail(PP_MAP_SUM_PORTS, "cannot add a group: " + errno_text(errno));
}

void SumMaps::remove_port(uint16_t port) const {
    bpf_map_delete_elem(ports_.get(), &port);
}

Result<void> SumMaps::begin_exits(uint32_t group) {
    auto made = make_exits();
    if (!made) return tl::unexpected(made.error());
    const int fd = made->get();
    if (bpf_map_update_elem(exits_.get(), &group, &fd, BPF_ANY) != 0)
        return fail(PP_MAP_SUM_EXITS, "cannot add a group: " + errno_text(errno));
    exits_of_[group] = std::move(*made);
    return {};
}

Result<void> SumMaps::set_exit(uint32_t group, uint32_t worker, uint32_t device) const {
    if (device == 0) {
        bpf_map_delete_elem(exits_of_[group].get(), &worker);
        return {};
    }
    bpf_devmap_val value{};
    value.ifindex = device;
    value.bpf_prog.fd = egress_.get();
    if (bpf_map_update_elem(exits_of_[group].get(), &worker, &value, BPF_ANY) == 0) return {};
    return fail(PP_MAP_SUM_EXITS,
                "device " + std::to_string(device) + " takes no results: " + errno_text(errno));
}

void SumMaps::end_exits(uint32_t group) {
    bpf_map_delete_elem(exits_.get(), &group);
    exits_of_[group].reset();
}

Result<void> SumMaps::pin(const PinDirectory& pins) const {
    const std::array<const Fd*, 4> all{&groups_, &ports_, &slots_, &exits_};
    for (size_t i = 0; i < shapes.size(); i++)
        if (auto pinned = pins.put(pin_name(shapes[i]->name), all[i]->get()); !pinned) return pinned;
    return {};
}

void SumMaps::unpin(const PinDirectory& pins) {
    for (const MapShape* shape : shapes)
        pins.remove(pin_name(shape->name));
}

int SumMaps::map(std::string_view name) const {
    if (name == PP_MAP_SUM_GROUPS) return groups_.get();
    if (name == PP_MAP_SUM_PORTS) return ports_.get();
    if (name == PP_MAP_SUM_SLOTS) return slots_.get();
    return name == PP_MAP_SUM_EXITS ? exits_.get() : -1;
}

}  // namespace pktpit::router
