// SPDX-License-Identifier: BSD-3-Clause
/// The grace period for C++ readers of memory that a writer changes under them: epochs. A reader thread holds
/// an EpochReader and says when it begins and ends reading; the writer gets a ticket for what it has unlinked
/// and asks whether the ticket has passed, which is when no reader can hold what was unlinked. Readers never
/// lock, wait or make a system call; the writer waits only in wait(). eBPF readers are not seen by it: theirs
/// is an RCU grace period (membarrier(2), MEMBARRIER_CMD_GLOBAL).
///
/// How it works: a reader's slot holds the epoch in which it began to read, or 0 outside. The writer begins a
/// new epoch after unlinking; the ticket has passed once every slot holds that epoch, a later one, or 0. That
/// a reader's slot is written before it reads on is not ensured by a fence of the reader (20 cycles and more,
/// at every enter) but by membarrier(2) on the writer's side, once an epoch; where the kernel has none, by
/// fences.
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>
#include <mutex>
#include <vector>

namespace pktpit::fib {

class EpochReader;

class Epochs {
  public:
    enum class Barrier {
        membarrier,  ///< by the writer, for all threads; falls back to fences where the kernel refuses it
        fences,      ///< by each reader at enter()
    };
    explicit Epochs(Barrier barrier = Barrier::membarrier);
    ~Epochs();  ///< All readers must have gone.
    Epochs(const Epochs&) = delete;
    Epochs& operator=(const Epochs&) = delete;

    // The writer's side: one thread. None of it throws.

    /// For what was unlinked before this call. One load: no epoch begins here, so that the tickets of many
    /// frees are the same and cost one grace period. Tickets never decrease and never wrap.
    [[nodiscard]] uint64_t retire_ticket() const { return begun_ + 1; }
    /// Whether no reader can hold what the ticket was for. Never waits; a false answer moves things on, so
    /// that asking again is all it takes. One comparison when it is known; else it looks at each reader's
    /// slot and, at most once an epoch, calls membarrier(2).
    [[nodiscard]] bool passed(uint64_t ticket) { return ticket <= passed_ || look(ticket); }
    /// Moves things on without asking for a ticket, so that a later passed() may answer at once: ends the
    /// present epoch if readers let it, and then begins the next.
    void advance() {
        if (passed(begun_)) look(begun_ + 1);
    }
    /// Returns once passed(retire_ticket()) of now is true: a GracePeriod (fib/image.h). Readers that are
    /// outside do not hold it up. Must not be called by a thread that is itself inside.
    void wait();

    /// The barrier in use: `fences` where membarrier(2) was refused.
    [[nodiscard]] Barrier barrier() const { return barrier_; }
    [[nodiscard]] size_t readers() const;  ///< Registered now; any thread.

  private:
    friend class EpochReader;
    static constexpr uint64_t outside = 0;
    // Two cache lines: the adjacent-line prefetcher pairs lines, and slots are written at every batch.
    struct alignas(128) Slot {
        std::atomic<uint64_t> epoch = outside;
    };

    bool look(uint64_t ticket);
    void separate() const;

    alignas(128) std::atomic<uint64_t> epoch_ = 1;  ///< what readers load: `begun_` for them
    alignas(128) uint64_t begun_ = 1;               ///< the writer's copy
    uint64_t passed_ = 1;
    Barrier barrier_;
    mutable std::mutex mutex_;  ///< of readers_; never taken by a reader between its registration and its end
    std::vector<const Slot*> readers_;
};

/// A reader's registration: one for each thread that reads (or for each nesting of reads), made and used by
/// that thread alone. Outside until it enters. Destroying it is like leaving.
class EpochReader {
  public:
    explicit EpochReader(Epochs& epochs);
    ~EpochReader();
    EpochReader(const EpochReader&) = delete;
    EpochReader& operator=(const EpochReader&) = delete;

    /// From here on nothing that this thread can reach is reused. Not nested. Once a batch of lookups.
    void enter() {
        assert(!inside());
        // The epoch first: one that is older than the slot's store only keeps memory longer.
        slot_.epoch.store(epochs_.epoch_.load(std::memory_order_acquire), std::memory_order_relaxed);
        if (fences_)
            fence();
        else
            std::atomic_signal_fence(std::memory_order_seq_cst);  // the compiler's part of membarrier(2)
    }
    /// Nothing that was read since enter() may be used any more. Before sleeping, too: a reader that stays
    /// inside holds up every reuse of memory.
    void leave() {
        assert(inside());
        slot_.epoch.store(Epochs::outside, std::memory_order_release);
    }
    /// leave() and enter() in one, for a thread that reads batch after batch: cheaper, with no fence at all.
    void quiescent() {
        assert(inside());
        // Still inside to the writer, whichever value it sees; so the store need not come before later loads.
        slot_.epoch.store(epochs_.epoch_.load(std::memory_order_acquire), std::memory_order_release);
    }
    [[nodiscard]] bool inside() const {
        return slot_.epoch.load(std::memory_order_relaxed) != Epochs::outside;
    }

  private:
    static void fence();

    Epochs::Slot slot_;
    Epochs& epochs_;
    const bool fences_;
};

/// enter() and leave() as a scope.
class EpochGuard {
  public:
    explicit EpochGuard(EpochReader& reader) : reader_(reader) { reader_.enter(); }
    ~EpochGuard() { reader_.leave(); }
    EpochGuard(const EpochGuard&) = delete;
    EpochGuard& operator=(const EpochGuard&) = delete;

  private:
    EpochReader& reader_;
};

}  // namespace pktpit::fib
