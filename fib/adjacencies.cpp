// SPDX-License-Identifier: BSD-3-Clause
#include "fib/adjacencies.h"

#include <cassert>

#include "fib/store.h"

namespace pktpit::fib {

Adjacencies::Adjacencies(std::byte* image, const pp_fib_geometry& g, const Reclamation& reclamation)
    : adjacencies_(reinterpret_cast<pp_fib_adjacency*>(image + g.adjacency_offset)),
      ids_(1, g.adjacency_count, reclamation),
      exists_(g.adjacency_count) {}

Result<AdjacencyId> Adjacencies::add(const pp_fib_adjacency& value) {
    if (!ids_.reserve(1))
        return fail({},
                    "no adjacency left: " + std::to_string(ids_.used()) + " of " +
                        std::to_string(ids_.capacity()) + " in use",
                    {}, "raise /fib/adjacencies");
    const AdjacencyId id = ids_.take();
    exists_[id] = true;
    store_words(adjacencies_ + id, value);
    return id;
}

void Adjacencies::update(AdjacencyId id, const pp_fib_adjacency& value) {
    assert(id < exists_.size() && exists_[id]);
    store_words(adjacencies_ + id, value);
}

void Adjacencies::remove(AdjacencyId id) {
    assert(id < exists_.size() && exists_[id]);
    // The value stays until the id is used again: a reader may have read the id just before.
    exists_[id] = false;
    ids_.give_back(id);
}

const pp_fib_adjacency& Adjacencies::at(AdjacencyId id) const {
    assert(id < exists_.size() && exists_[id]);
    return adjacencies_[id];
}

}  // namespace pktpit::fib
