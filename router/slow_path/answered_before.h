// SPDX-License-Identifier: BSD-3-Clause
/// The neighbours that answered last. One thread; bounded: the one that answered longest ago goes.
#pragma once

#include <list>
#include <unordered_map>

#include "router/slow_path/neighbour_key.h"

namespace pktpit::router {

class AnsweredBefore {
  public:
    static constexpr size_t most = 4096;

    void add(const NeighbourKey& key);
    void remove(const NeighbourKey& key);
    [[nodiscard]] bool contains(const NeighbourKey& key) const { return places_.contains(key); }
    [[nodiscard]] size_t size() const { return places_.size(); }

  private:
    std::list<NeighbourKey> order_;  // the one that answered longest ago first
    std::unordered_map<NeighbourKey, std::list<NeighbourKey>::iterator, NeighbourKeyHash> places_;
};

}  // namespace pktpit::router
