// SPDX-License-Identifier: BSD-3-Clause
/// Neighbours that the kernel is asked to look for, aside: it takes the question when it has done with what
/// holds its networking lock, a full table that goes for one. What it refuses shows as a neighbour that stays
/// unresolved, and is asked for again by whoever needs it. It is told to forget those that need not be looked
/// for any more. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "router/control/descriptor_watcher.h"
#include "router/kernel/kernel.h"

namespace pktpit::router {

class NeighbourProber {
  public:
    /// Questions that wait while others are under way; one more is not asked.
    static constexpr size_t most = 4096;

    /// `kernel` is used on another thread until the watcher's finish_aside().
    NeighbourProber(Kernel& kernel, DescriptorWatcher& watcher) : kernel_(kernel), watcher_(watcher) {}
    NeighbourProber(const NeighbourProber&) = delete;
    NeighbourProber& operator=(const NeighbourProber&) = delete;

    void probe(uint32_t ifindex, const IpAddress& address);
    /// The question is taken back, if it still waits; else the kernel forgets the neighbour.
    void withdraw(uint32_t ifindex, const IpAddress& address);

  private:
    using Neighbours = std::set<std::pair<uint32_t, IpAddress>>;
    struct Work {
        Neighbours withdraw;  ///< first: it makes room
        Neighbours probe;
    };
    void ask();

    Kernel& kernel_;
    DescriptorWatcher& watcher_;
    Work waiting_;
    bool asking_ = false;
    /// Answers that come later do not find it.
    std::shared_ptr<NeighbourProber*> self_ = std::make_shared<NeighbourProber*>(this);
};

}  // namespace pktpit::router
