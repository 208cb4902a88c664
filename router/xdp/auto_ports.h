// SPDX-License-Identifier: BSD-3-Clause
/// What auto ports' stages and the daemon share beside the FIB image: samples of where packets go, and the
/// order of those that workers have (bpf/abi.h), which split ports' stages look at, too. The daemon's thread.
#pragma once

#include <vector>

#include "router/hot/hot_choice.h"
#include "router/hot/sample_reader.h"
#include "router/loop/worker_counter_set.h"
#include "router/xdp/maps.h"

namespace pktpit::router {

class AutoPorts {
  public:
    /// The order's memory is there before a worker runs.
    static Result<AutoPorts> open(const PortMaps& maps);

    /// Gives the map of samples its full size: once, before the first auto port's program is loaded.
    Result<void> begin_sampling(PortMaps& maps);
    /// Where packets went since the last call.
    void collect(HotChoice& choice, WorkerCounterSet& workers);
    void guard(bool on);
    [[nodiscard]] pp_order* order() const { return reinterpret_cast<pp_order*>(order_.memory().data()); }

  private:
    double collect_log(HotChoice& choice, DestinationLog& log);

    MappedImage order_;
    MappedImage samples_;
    std::vector<SampleReader> readers_;  ///< by CPU
    std::vector<pp_destination> seen_;   ///< of one tick and worker, kept for its memory
};

}  // namespace pktpit::router
