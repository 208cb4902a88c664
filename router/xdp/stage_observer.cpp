// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/stage_observer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

/// Of each CPU's ring: 1,100 full-size frames, or 6,000 headers; with many CPUs less, so that all together
/// have 64 MiB, but room for some of the largest records.
size_t ring_bytes() {
    constexpr size_t most = 2 << 20, least = 256 << 10, all = 64 << 20;
    return std::clamp(std::bit_floor(all / static_cast<size_t>(libbpf_num_possible_cpus())), least, most);
}

}  // namespace

StageObserver::StageObserver(const PortMaps& maps) : maps_(maps) {
    for (uint16_t port = 0; port < PP_MAX_PORTS; port++)
        lost_before_[port] = lost_ever(port);
}

Result<std::unique_ptr<StageObserver>> StageObserver::open(const PortMaps& maps, const pp_observing& wanted,
                                                           RingReader::Handler on_record) {
    std::unique_ptr<StageObserver> self(new StageObserver(maps));
    auto rings =
        RingReader::open(maps.observations.get(), PP_MAP_OBSERVATIONS, ring_bytes(), std::move(on_record));
    if (!rings) return tl::unexpected(rings.error());
    self->rings_ = std::move(*rings);
    if (auto changed = self->change(wanted); !changed) return tl::unexpected(changed.error());
    return self;
}

Result<void> StageObserver::change(const pp_observing& wanted) {
    const uint32_t zero = 0;
    if (bpf_map_update_elem(maps_.observing.get(), &zero, &wanted, BPF_ANY) != 0)
        return fail(PP_MAP_OBSERVING, "cannot say what to observe: " + errno_text(errno));
    wanted_ = wanted;
    return {};
}

uint64_t StageObserver::lost_ever(uint16_t port) const {
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    static_assert(sizeof(pp_observed) % 8 == 0, "per-CPU values are laid out in units of 8 bytes");
    std::vector<pp_observed> values(cpus);
    const uint32_t key = port;
    uint64_t sum = 0;
    if (bpf_map_lookup_elem(maps_.observed.get(), &key, values.data()) != 0) return sum;
    for (const auto& value : values)
        sum += value.lost;
    return sum;
}

uint64_t StageObserver::lost(uint16_t port) const {
    return lost_ever(port) - lost_before_[port];
}

}  // namespace pktpit::router
