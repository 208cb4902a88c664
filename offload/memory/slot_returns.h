// SPDX-License-Identifier: BSD-3-Clause
/// Slots on their way back to the worker that they belong to, from the one that saw them sent: a ring for
/// each pair of workers. One producer and one consumer each, no waiting; a ring holds all of a worker's
/// slots, so that none can be full. Made by a dataplane whose workers share transmit completions.
#pragma once

#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pktpit::offload {

class SlotReturns {
  public:
    /// `slots`: of each worker, a power of two. One worker alone has nobody to return slots to.
    SlotReturns(unsigned workers, uint32_t slots) : workers_(workers) {
        assert(std::has_single_bit(slots));
        if (workers == 1) return;
        for (unsigned i = 0; i < workers * workers; i++)
            rings_.push_back(std::make_unique<Ring>(slots));
    }

    /// By worker `from`: the slot with this index is `to`'s again.
    void put(unsigned from, unsigned to, uint32_t index) {
        Ring& ring = *rings_[from * workers_ + to];
        const uint32_t at = ring.written.load(std::memory_order_relaxed);
        assert(at - ring.read.load(std::memory_order_relaxed) < ring.indices.size());
        ring.indices[at & (ring.indices.size() - 1)] = index;
        ring.written.store(at + 1, std::memory_order_release);
    }
    /// By worker `to`: calls give(index) for each slot that has come back.
    template <class Give>
    void take(unsigned to, Give&& give) {
        if (workers_ == 1) return;
        for (unsigned from = 0; from < workers_; from++) {
            Ring& ring = *rings_[from * workers_ + to];
            uint32_t at = ring.read.load(std::memory_order_relaxed);
            const uint32_t end = ring.written.load(std::memory_order_acquire);
            if (at == end) continue;
            for (; at != end; at++)
                give(ring.indices[at & (ring.indices.size() - 1)]);
            ring.read.store(at, std::memory_order_release);
        }
    }

  private:
    struct Ring {
        explicit Ring(uint32_t slots) : indices(slots) {}
        std::vector<uint32_t> indices;
        alignas(128) std::atomic<uint32_t> written = 0;
        alignas(128) std::atomic<uint32_t> read = 0;
    };
    unsigned workers_;
    std::vector<std::unique_ptr<Ring>> rings_;
};

}  // namespace pktpit::offload
