// SPDX-License-Identifier: BSD-3-Clause
/// What a worker tells of auto ports' packets: where they go, for the daemon to choose what their port stages
/// hold (router/hot). The worker writes, the daemon reads, without a lock; memory is taken when the first
/// port is watched. When the daemon is slow, destinations are left out and counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "bpf/abi.h"

namespace pktpit::router {

class DestinationLog {
  public:
    static constexpr uint64_t cells = 1 << 16;

    // The daemon's.

    void watch(uint16_t port, bool on) {
        if (on && !cells_) cells_ = std::make_unique<pp_destination[]>(cells);
        watched_[port].store(on, std::memory_order_release);
        bool any = false;
        for (const auto& one : watched_)
            any = any || one.load(std::memory_order_relaxed);
        watching_.store(any, std::memory_order_release);
    }
    /// Hands what is new to visit(span), in order; returns how many packets there were, left out or not.
    template <class Visit>
    uint64_t drain(Visit visit) {
        const uint64_t end = written_.load(std::memory_order_acquire);
        uint64_t begin = read_.load(std::memory_order_relaxed);
        while (begin != end) {
            const uint64_t first = begin % cells;
            const uint64_t count = end - begin < cells - first ? end - begin : cells - first;
            visit(std::span<const pp_destination>(cells_.get() + first, count));
            begin += count;
        }
        read_.store(end, std::memory_order_release);
        const uint64_t now = seen_.load(std::memory_order_relaxed);
        return now - std::exchange(drained_, now);
    }

    // The worker's.

    [[nodiscard]] bool watching() const { return watching_.load(std::memory_order_acquire); }
    [[nodiscard]] bool watches(uint16_t port) const { return watched_[port].load(std::memory_order_acquire); }
    void add(const pp_destination& destination) {
        pending_seen_++;
        if (pending_ - read_.load(std::memory_order_acquire) < cells)
            cells_[pending_++ % cells] = destination;
    }
    /// Makes visible what was added: once a batch.
    void publish() {
        if (pending_seen_ == seen_.load(std::memory_order_relaxed)) return;
        seen_.store(pending_seen_, std::memory_order_relaxed);
        written_.store(pending_, std::memory_order_release);
    }

  private:
    std::array<std::atomic<bool>, PP_MAX_PORTS> watched_{};
    std::atomic<bool> watching_ = false;
    std::unique_ptr<pp_destination[]> cells_;
    alignas(64) uint64_t pending_ = 0;  ///< the worker's, as the next one
    uint64_t pending_seen_ = 0;
    std::atomic<uint64_t> written_ = 0;
    std::atomic<uint64_t> seen_ = 0;
    alignas(64) std::atomic<uint64_t> read_ = 0;
    uint64_t drained_ = 0;
};

}  // namespace pktpit::router
