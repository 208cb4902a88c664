// SPDX-License-Identifier: BSD-3-Clause
/// Prefixes of one family that do not overlap, each with what HotRoutes keeps of it: which one covers an
/// address, which lie inside a prefix. One thread.
#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "fib/image.h"
#include "fib/prefix_key.h"

namespace pktpit::router {

/// Addresses that are decided by the port stage of auto ports.
struct HotBlock {
    fib::GroupId group = 0;
    uint32_t since = 0;  ///< the tick in which it was installed
    double score = 0;    ///< packets, weighted by how recent they are (hot_choice.h)
};

template <class Key>
class HotBlocks {
  public:
    using Map = absl::btree_map<Key, HotBlock>;

    [[nodiscard]] HotBlock* covering(const Key& key) {
        const auto at = place_of_cover(key);
        return at == map_.end() ? nullptr : &at->second;
    }
    [[nodiscard]] std::optional<Key> cover(const Key& key) {
        const auto at = place_of_cover(key);
        return at == map_.end() ? std::nullopt : std::optional(at->first);
    }
    /// Those inside `outer`; itself too if it is there.
    [[nodiscard]] std::vector<Key> inside(const Key& outer) const {
        std::vector<Key> found;
        for (auto at = map_.lower_bound(outer); at != map_.end(); ++at) {
            if (at->first.length < outer.length || at->first.shortened(outer.length) != outer) break;
            found.push_back(at->first);
        }
        return found;
    }
    Map& all() { return map_; }
    [[nodiscard]] const Map& all() const { return map_; }

  private:
    typename Map::iterator place_of_cover(const Key& key) {
        auto at = map_.upper_bound(key);
        if (at == map_.begin()) return map_.end();
        --at;
        const bool covers = at->first.length <= key.length && key.shortened(at->first.length) == at->first;
        return covers ? at : map_.end();
    }

    Map map_;
};

extern template class HotBlocks<fib::PrefixKey4>;
extern template class HotBlocks<fib::PrefixKey6>;

}  // namespace pktpit::router
