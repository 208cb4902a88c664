// SPDX-License-Identifier: BSD-3-Clause
/// Reads what one CPU's port stages have sampled of where their packets went (pp_samples, bpf/abi.h), while
/// they go on writing. Called by the dataplane that has such stages, once a tick; the daemon's thread. What
/// the memory holds is taken for what it is worth: a torn or wrong sample misplaces a block, and no more.
#pragma once

#include <cstdint>

#include "bpf/abi.h"
#include "router/hot/hot_choice.h"

namespace pktpit::router {

class SampleReader {
  public:
    /// Hands what is new to choice.hit(), says how rarely to sample from now on, and returns how many packets
    /// there were since the last call, sampled or not.
    double read(pp_samples& samples, HotChoice& choice);

  private:
    uint64_t packets_ = 0;
    uint64_t taken_ = 0;
};

}  // namespace pktpit::router
