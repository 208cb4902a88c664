// SPDX-License-Identifier: BSD-3-Clause
/// Which sources are worth a lookup (pp_fib_globals.sources): the bits that readers see, and how many
/// addresses share each. Used by FibImage alone. Writer's thread only.
#pragma once

#include <vector>

#include "fib/image.h"

namespace pktpit::fib {

class Sources {
  public:
    Sources(std::byte* image, const pp_fib_geometry& geometry);

    void note(const IpAddress& address);
    void forget(const IpAddress& address);

  private:
    pp_fib_globals* globals_;
    std::vector<uint32_t> noted_;  ///< by bit
};

}  // namespace pktpit::fib
