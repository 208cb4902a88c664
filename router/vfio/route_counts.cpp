#include "router/vfio/route_counts.h"

namespace pktpit::router {

RouteCount WorkerRouteCounts::read(uint16_t counter) const {
    const pp_route_counters now = counters_.route(counter);
    const auto base = base_.find(counter);
    if (base == base_.end()) return {now.packets, now.bytes};
    return {now.packets - base->second.packets, now.bytes - base->second.bytes};
}

// The worker is the only one that writes them; so what it has counted so far is remembered instead.
void WorkerRouteCounts::clear(uint16_t counter) {
    const pp_route_counters now = counters_.route(counter);
    base_[counter] = {now.packets, now.bytes};
}

}  // namespace pktpit::router
