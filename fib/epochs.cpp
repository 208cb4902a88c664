// SPDX-License-Identifier: BSD-3-Clause
#include "fib/epochs.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace pktpit::fib {
namespace {

bool membarrier(int command) {
    return syscall(__NR_membarrier, command, 0, 0) == 0;
}

// GCC's thread sanitizer does not know fences and says so. What it is to find (a slot's release store against
// the writer's acquire load) it sees without them.
#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wtsan"
#endif
void full_fence() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace

Epochs::Epochs(Barrier barrier)
    : barrier_(barrier == Barrier::membarrier && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
                   ? Barrier::membarrier
                   : Barrier::fences) {}

Epochs::~Epochs() {
    assert(readers_.empty());
}

size_t Epochs::readers() const {
    const std::lock_guard lock(mutex_);
    return readers_.size();
}

/// After this, a reader whose slot reads `outside` sees everything that was written before it when it enters.
void Epochs::separate() const {
    if (barrier_ == Barrier::fences) return full_fence();
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
    // A system-call filter installed since, or a child of fork(). To go on would be to read freed memory.
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        return;
    if (membarrier(MEMBARRIER_CMD_GLOBAL)) return;
    std::perror("pktpit: membarrier(2), which worked before, is refused");
    std::abort();
}

bool Epochs::look(uint64_t ticket) {
    assert(ticket <= begun_ + 1);
    const std::lock_guard lock(mutex_);
    if (ticket > begun_) {
        epoch_.store(++begun_, std::memory_order_release);
        // Nobody to wait for: who registers after this sees all that was written before, through the mutex.
        if (!readers_.empty()) separate();
    }
    uint64_t oldest = begun_;
    for (const Slot* slot : readers_) {
        const uint64_t epoch = slot->epoch.load(std::memory_order_acquire);
        if (epoch != outside) oldest = std::min(oldest, epoch);
    }
    passed_ = std::max(passed_, oldest);
    return ticket <= passed_;
}

void Epochs::wait() {
    const uint64_t ticket = retire_ticket();
    // A batch takes microseconds; but the reader may have lost its core, perhaps to this thread.
    std::chrono::microseconds pause{1};
    for (int round = 0; !passed(ticket); round++) {
        if (round < 16) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(pause);
            pause = std::min<std::chrono::microseconds>(pause * 2, std::chrono::milliseconds{1});
        }
    }
}

EpochReader::EpochReader(Epochs& epochs)
    : epochs_(epochs), fences_(epochs.barrier_ == Epochs::Barrier::fences) {
    const std::lock_guard lock(epochs_.mutex_);
    epochs_.readers_.push_back(&slot_);
}

EpochReader::~EpochReader() {
    const std::lock_guard lock(epochs_.mutex_);
    std::erase(epochs_.readers_, &slot_);
}

void EpochReader::fence() {
    full_fence();
}

}  // namespace pktpit::fib
