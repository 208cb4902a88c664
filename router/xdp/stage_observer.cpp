// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/stage_observer.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

/// Pages of each CPU's ring: 2 MiB hold 1,200 full-size frames, or 7,000 headers; with many CPUs less, so
/// that all together have 64 MiB.
size_t ring_pages() {
    constexpr size_t most = 512, least = 16, all = 16384;
    return std::clamp(std::bit_floor(all / static_cast<size_t>(libbpf_num_possible_cpus())), least, most);
}

// Records until the reader is woken: each waking costs the port stage more than the record.
constexpr uint32_t records_per_wakeup = 16;

}  // namespace

StageObserver::StageObserver(const PortMaps& maps, std::function<void(std::span<const uint8_t>)> on_record)
    : maps_(maps), on_record_(std::move(on_record)), buffer_(nullptr, perf_buffer__free) {
    for (uint16_t port = 0; port < PP_MAX_PORTS; port++)
        lost_before_[port] = lost_ever(port);
}

Result<std::unique_ptr<StageObserver>> StageObserver::open(
    const PortMaps& maps, const pp_observing& wanted,
    std::function<void(std::span<const uint8_t> record)> on_record) {
    std::unique_ptr<StageObserver> self(new StageObserver(maps, std::move(on_record)));
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_BPF_OUTPUT;
    attributes.sample_type = PERF_SAMPLE_RAW;
    attributes.sample_period = 1;
    attributes.wakeup_events = records_per_wakeup;
    const auto receive = [](void* observer, int, perf_event_header* event) {
        static_cast<StageObserver*>(observer)->receive(event);
        return LIBBPF_PERF_EVENT_CONT;
    };
    self->buffer_.reset(perf_buffer__new_raw(maps.observations.get(), ring_pages(), &attributes, receive,
                                             self.get(), nullptr));
    if (!self->buffer_)
        return fail(PP_MAP_OBSERVATIONS, "cannot open the rings for what is observed: " + errno_text(errno),
                    "locked memory and the privilege to open perf events",
                    "run the daemon as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
    if (auto changed = self->change(wanted); !changed) return tl::unexpected(changed.error());
    return self;
}

StageObserver::~StageObserver() = default;

// Losses are counted by the port stage itself, so that of the ring's own records only samples matter: header,
// size, bytes.
void StageObserver::receive(const perf_event_header* event) const {
    uint32_t size = 0;
    constexpr size_t bytes_at = sizeof *event + sizeof size;
    if (event->type != PERF_RECORD_SAMPLE || event->size < bytes_at) return;
    const auto* raw = reinterpret_cast<const uint8_t*>(event);
    std::memcpy(&size, raw + sizeof *event, sizeof size);
    on_record_({raw + bytes_at, std::min<size_t>(size, event->size - bytes_at)});
}

Result<void> StageObserver::change(const pp_observing& wanted) {
    const uint32_t zero = 0;
    if (bpf_map_update_elem(maps_.observing.get(), &zero, &wanted, BPF_ANY) != 0)
        return fail(PP_MAP_OBSERVING, "cannot say what to observe: " + errno_text(errno));
    wanted_ = wanted;
    return {};
}

int StageObserver::descriptor() const {
    return perf_buffer__epoll_fd(buffer_.get());
}

void StageObserver::poll() {
    perf_buffer__consume(buffer_.get());
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
