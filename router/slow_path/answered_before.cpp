// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/answered_before.h"

namespace pktpit::router {

void AnsweredBefore::add(const NeighbourKey& key) {
    const auto known = places_.find(key);
    if (known != places_.end()) return order_.splice(order_.end(), order_, known->second);
    if (places_.size() >= most) {
        places_.erase(order_.front());
        order_.pop_front();
    }
    places_.emplace(key, order_.insert(order_.end(), key));
}

void AnsweredBefore::remove(const NeighbourKey& key) {
    const auto known = places_.find(key);
    if (known == places_.end()) return;
    order_.erase(known->second);
    places_.erase(known);
}

}  // namespace pktpit::router
