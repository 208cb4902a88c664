// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/neighbour_prober.h"

namespace pktpit::router {

void NeighbourProber::probe(uint32_t ifindex, const IpAddress& address) {
    waiting_.withdraw.erase({ifindex, address});
    if (waiting_.probe.size() < most) waiting_.probe.emplace(ifindex, address);
    if (!asking_) ask();
}

void NeighbourProber::withdraw(uint32_t ifindex, const IpAddress& address) {
    waiting_.probe.erase({ifindex, address});
    if (waiting_.withdraw.size() < most) waiting_.withdraw.emplace(ifindex, address);
    if (!asking_) ask();
}

void NeighbourProber::ask() {
    asking_ = true;
    watcher_.aside(
        [&kernel = kernel_, work = std::exchange(waiting_, {})] {
            for (const auto& [ifindex, address] : work.withdraw)
                (void)kernel.remove_neighbour(ifindex, address);
            for (const auto& [ifindex, address] : work.probe)
                (void)kernel.probe_neighbour(ifindex, address);
        },
        [self = std::weak_ptr(self_)] {
            const auto here = self.lock();
            if (!here) return;
            NeighbourProber& prober = **here;
            prober.asking_ = false;
            if (!prober.waiting_.withdraw.empty() || !prober.waiting_.probe.empty()) prober.ask();
        });
}

}  // namespace pktpit::router
