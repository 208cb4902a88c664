// SPDX-License-Identifier: BSD-3-Clause
/// The adjacencies of a FIB image. Used by FibImage alone. Writer's thread only.
#pragma once

#include <vector>

#include "fib/id_pool.h"
#include "fib/image.h"

namespace pktpit::fib {

class Adjacencies {
  public:
    Adjacencies(std::byte* image, const pp_fib_geometry& geometry, const Reclamation& reclamation);

    Result<AdjacencyId> add(const pp_fib_adjacency& value);
    void update(AdjacencyId id, const pp_fib_adjacency& value);
    void remove(AdjacencyId id);
    [[nodiscard]] const pp_fib_adjacency& at(AdjacencyId id) const;
    [[nodiscard]] uint32_t used() const { return ids_.used(); }

  private:
    pp_fib_adjacency* adjacencies_;
    IdPool ids_;
    std::vector<bool> exists_;
};

}  // namespace pktpit::fib
