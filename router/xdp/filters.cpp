// SPDX-License-Identifier: BSD-3-Clause
// Filters on the `xdp` dataplane: a map that has room for two sets, of which programs and workers read the
// one in force. What fits is published by one store, for all ports at once; programs are exchanged only where
// ports begin or cease to meet filters, and where the map has become too small.
#include <algorithm>
#include <utility>

#include "router/xdp/dataplane.h"

namespace pktpit::router {

// What the old map has counted stays known.
Result<void> XdpDataplane::make_filter_block(const FilterSet& set) {
    auto next = std::make_unique<FilterMemory>();
    next->shape = plan_filters(set);
    auto maps = make_filter_maps(next->shape);
    if (!maps) return tl::unexpected(maps.error());
    auto memory = MappedImage::map(maps->image.get(), true);
    if (!memory) return tl::unexpected(memory.error());
    next->memory = std::move(*memory);
    next->view = {next->memory.memory().data(), &next->shape};
    write_filters(next->memory.memory(), next->shape, set);
    publish_filters(next->memory.memory());

    std::swap(filter_memory_, next);
    std::swap(maps_.filter_image, maps->image);
    std::swap(maps_.filter_counters, maps->counters);
    const FilterSet before = std::exchange(filters_, set);
    if (auto swapped = swap_programs(); !swapped) {
        std::swap(filter_memory_, next);
        std::swap(maps_.filter_image, maps->image);
        std::swap(maps_.filter_counters, maps->counters);
        filters_ = before;
        (void)swap_programs();  // one that cannot be exchanged either way goes on with what it has
        return swapped;
    }
    worker_counters_.make_filter_counters();
    published_filters_.store(&filter_memory_->view, std::memory_order_release);
    reclamation().wait();
    if (next) {
        const auto counted = read_filter_counters(maps->counters.get(), 0, next->shape.counters);
        earlier_filter_counts_.resize(std::max(earlier_filter_counts_.size(), counted.size()));
        for (size_t i = 0; i < counted.size(); i++) {
            earlier_filter_counts_[i].packets += counted[i].packets;
            earlier_filter_counts_[i].bytes += counted[i].bytes;
        }
    }
    return {};
}

Result<void> XdpDataplane::set_filters(const FilterSet& set) {
    prepared_.clear();  // those not attached yet are loaded anew, with what is to be in force then
    if (!set.any()) {
        if (!filters_.any()) return {};
        const FilterSet before = std::exchange(filters_, set);
        if (auto swapped = swap_programs(); !swapped) {
            filters_ = before;
            (void)swap_programs();
            return swapped;
        }
        published_filters_.store(nullptr, std::memory_order_release);
        return {};
    }
    if (!filter_memory_ || !filters_fit(filter_memory_->shape, set)) return make_filter_block(set);
    // Nobody is left in the half that the last change was made from.
    reclamation().wait();
    write_filters(filter_memory_->memory.memory(), filter_memory_->shape, set);
    std::set<uint16_t> changed;
    for (const auto& [port, attached] : ports_)
        if (set.concerns(port) != filters_.concerns(port)) changed.insert(port);
    publish_filters(filter_memory_->memory.memory());
    const FilterSet before = std::exchange(filters_, set);
    worker_counters_.make_filter_counters();
    published_filters_.store(&filter_memory_->view, std::memory_order_release);
    if (changed.empty()) return {};
    auto swapped = swap_programs();
    if (!swapped) {
        filters_ = before;
        if (!before.any()) published_filters_.store(nullptr, std::memory_order_release);
        publish_filters(filter_memory_->memory.memory());  // the other half is as it was
        (void)swap_programs();
    }
    return swapped;
}

std::vector<pp_filter_counters> XdpDataplane::filter_counters(uint32_t first, uint32_t count) const {
    auto sums = filter_memory_ ? read_filter_counters(maps_.filter_counters.get(), first, count)
                               : std::vector<pp_filter_counters>(count);
    for (uint32_t i = 0; i < count; i++) {
        const pp_filter_counters by_workers = worker_counters_.filter(first + i);
        sums[i].packets += by_workers.packets;
        sums[i].bytes += by_workers.bytes;
        if (first + i >= earlier_filter_counts_.size()) continue;
        sums[i].packets += earlier_filter_counts_[first + i].packets;
        sums[i].bytes += earlier_filter_counts_[first + i].bytes;
    }
    return sums;
}

}  // namespace pktpit::router
