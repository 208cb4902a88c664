// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/iommu.h"

#include <algorithm>
#include <bit>
#include <span>

namespace pktpit::model {

Iommu::Iommu(const IommuSettings& settings)
    : settings_(settings),
      entries_(std::max<size_t>(std::bit_ceil(std::max(settings.entries, 1U)), ways)),
      walkers_(std::max(settings.walkers, 1U)) {}

Time Iommu::translate(Time now, uint64_t address) {
    if (!settings_.on) return now;
    const uint64_t page = address / settings_.page_bytes;
    const size_t sets = entries_.size() / ways;
    const std::span<Entry> set = std::span(entries_).subspan((page % sets) * ways, ways);
    for (Entry& entry : set) {
        if (entry.page != page) continue;
        entry.used = ++clock_;
        hits_++;
        return std::max(entry.ready, now) + settings_.hit;
    }
    misses_++;
    Time& walker = *std::ranges::min_element(walkers_);
    walker = std::max(walker, now) + settings_.walk;
    *std::ranges::min_element(set, {}, &Entry::used) = {page, ++clock_, walker};
    return walker + settings_.hit;
}

}  // namespace pktpit::model
