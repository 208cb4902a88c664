// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/neighbour_prober.h"

namespace pktpit::router {

void NeighbourProber::probe(uint32_t ifindex, const IpAddress& address) {
    if (waiting_.size() < most) waiting_.emplace(ifindex, address);
    if (!asking_) ask();
}

void NeighbourProber::ask() {
    asking_ = true;
    watcher_.aside(
        [&kernel = kernel_, questions = std::exchange(waiting_, {})] {
            for (const auto& [ifindex, address] : questions)
                (void)kernel.probe_neighbour(ifindex, address);
        },
        [self = std::weak_ptr(self_)] {
            const auto here = self.lock();
            if (!here) return;
            NeighbourProber& prober = **here;
            prober.asking_ = false;
            if (!prober.waiting_.empty()) prober.ask();
        });
}

}  // namespace pktpit::router
