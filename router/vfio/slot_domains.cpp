// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/slot_domains.h"

#include <algorithm>

namespace pktpit::router {

size_t SlotDomains::users_of(size_t part) const {
    return static_cast<size_t>(
        std::ranges::count_if(known_, [&](const Known& known) { return known.part == part; }));
}

// Never part 0, which is the daemon's, unless there is no other.
size_t SlotDomains::choose(bool direct) const {
    const auto useful = [&](size_t part) {
        return !direct || slots_.pool(SlotMemory::peer_memory, static_cast<uint8_t>(part)).count() != 0;
    };
    size_t best = slots_.parts() > 1 ? 1 : 0;
    for (size_t part = best; part < slots_.parts(); part++)
        if (!useful(best) || (useful(part) && users_of(part) < users_of(best))) best = part;
    return best;
}

Result<SlotDomains::Place> SlotDomains::admit(const std::shared_ptr<offload::DmaDomain>& domain,
                                              bool direct) {
    std::erase_if(known_, [](const Known& known) { return known.domain.expired(); });
    auto known = std::ranges::find_if(known_, [&](const Known& one) { return one.domain.lock() == domain; });
    if (known == known_.end()) {
        const auto part = static_cast<uint8_t>(choose(direct));
        if (auto mapped = slots_.map_main(*domain, part); !mapped) return tl::unexpected(mapped.error());
        known = known_.insert(known_.end(), {domain, part, false});
    }
    if (direct && !known->reaches_peer) {
        if (auto mapped = slots_.map_peer(domain, known->part); !mapped)
            return tl::unexpected(mapped.error());
        known->reaches_peer = true;
    }
    return Place{known->part, users_of(known->part) > 1};
}

}  // namespace pktpit::router
