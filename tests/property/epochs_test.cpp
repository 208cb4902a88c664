// SPDX-License-Identifier: BSD-3-Clause
// Memory that readers hold is never reused under them: cells are poisoned as soon as their ticket has passed.
// The cells' contents are plain memory, so that the thread sanitizer sees every reuse that nothing orders.
#include "fib/epochs.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <random>
#include <thread>

#include "tests/sanitized.h"

namespace pktpit::fib {
namespace {

constexpr uint64_t poison = 0xdeaddeaddeaddead;

struct Cell {
    uint64_t number = poison;
    std::array<uint64_t, 7> copies{};

    void fill(uint64_t value) {
        number = value;
        copies.fill(value);
    }
    [[nodiscard]] bool whole() const {
        for (uint64_t copy : copies)
            if (copy != number) return false;
        return number != poison;
    }
};

class Memory {
  public:
    static constexpr size_t places = 16;

    explicit Memory(size_t cells) : cells_(cells) {
        for (Cell& cell : cells_)
            free_.push_back(&cell);
        for (auto& place : places_)
            publish(place);
    }
    /// The writer's: a new cell in a random place, and what was there retired.
    bool change(Epochs& epochs, uint64_t random) {
        while (!retired_.empty() && epochs.passed(retired_.front().first)) {
            retired_.front().second->fill(poison);
            free_.push_back(retired_.front().second);
            retired_.pop_front();
        }
        if (free_.empty()) return false;
        Cell* old = publish(places_[random % places]);
        retired_.emplace_back(epochs.retire_ticket(), old);
        return true;
    }
    /// A reader's: looks at several cells twice, with time between. How many were not whole.
    [[nodiscard]] size_t read(uint64_t random) const {
        std::array<const Cell*, 4> held{};
        size_t wrong = 0;
        for (const Cell*& cell : held) {
            cell = places_[random++ % places].load(std::memory_order_acquire);
            wrong += !cell->whole();
        }
        if (random % 64 == 0) std::this_thread::yield();
        for (const Cell* cell : held)
            wrong += !cell->whole();
        return wrong;
    }

  private:
    Cell* publish(std::atomic<Cell*>& place) {
        Cell* cell = free_.front();
        free_.pop_front();
        cell->fill(number_++);
        return place.exchange(cell, std::memory_order_acq_rel);
    }

    std::vector<Cell> cells_;
    std::array<std::atomic<Cell*>, places> places_{};
    std::deque<Cell*> free_;
    std::deque<std::pair<uint64_t, Cell*>> retired_;
    uint64_t number_ = 1;
};

class EpochsUnderReaders : public testing::TestWithParam<Epochs::Barrier> {};

TEST_P(EpochsUnderReaders, NothingIsReusedUnderThem) {
    Epochs epochs(GetParam());
    // Few more cells than places: most changes find the last grace period barely over, or not over.
    Memory memory(Memory::places + 8);
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> wrong = 0, reads = 0, threads_ended = 0;
    const auto entering = [&](uint32_t seed) {
        std::minstd_rand random(seed);
        EpochReader reader(epochs);
        while (!stop.load(std::memory_order_relaxed)) {
            const EpochGuard guard(reader);
            wrong += memory.read(random());
            reads.fetch_add(1, std::memory_order_relaxed);
        }
    };
    const auto batching = [&](uint32_t seed) {
        std::minstd_rand random(seed);
        EpochReader reader(epochs);
        reader.enter();
        while (!stop.load(std::memory_order_relaxed)) {
            wrong += memory.read(random());
            reads.fetch_add(1, std::memory_order_relaxed);
            reader.quiescent();
            if (random() % 256 != 0) continue;
            reader.leave();
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
            reader.enter();
        }
        reader.leave();
    };
    const auto short_lived = [&](uint32_t seed) {
        std::minstd_rand random(seed);
        while (!stop.load(std::memory_order_relaxed)) {
            std::thread([&] {
                EpochReader reader(epochs);
                reader.enter();
                wrong += memory.read(random());
                if (random() % 2) reader.leave();  // the others end inside
            }).join();
            threads_ended++;
        }
    };
    std::thread threads[] = {std::thread(entering, 1), std::thread(entering, 2), std::thread(batching, 3),
                             std::thread(batching, 4), std::thread(short_lived, 5)};

    std::mt19937_64 random(6);
    uint64_t changes = 0, refused = 0, waits = 0;
    const uint64_t enough = pktpit::test::rounds_of(640'000U);
    while (wrong == 0 &&
           (changes < enough || reads < enough || threads_ended < enough / 8000 || waits < enough / 800)) {
        if (memory.change(epochs, random())) {
            changes++;
        } else if (random() % 4) {
            refused++;
            std::this_thread::yield();
        } else {
            epochs.wait();
            waits++;
        }
    }
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(epochs.readers(), 0u);
    std::printf("%llu changes, %llu not yet, %llu waits; %llu reads, %llu threads ended\n",
                static_cast<unsigned long long>(changes), static_cast<unsigned long long>(refused),
                static_cast<unsigned long long>(waits), static_cast<unsigned long long>(reads),
                static_cast<unsigned long long>(threads_ended));
}

INSTANTIATE_TEST_SUITE_P(Barriers, EpochsUnderReaders,
                         testing::Values(Epochs::Barrier::membarrier, Epochs::Barrier::fences),
                         [](const auto& kind) {
                             return kind.param == Epochs::Barrier::membarrier ? "membarrier" : "fences";
                         });

// A store-buffer litmus test: the writer unlinks and looks whether the reader is inside; the reader enters
// and looks at what the writer unlinks. The reader may never have it while the writer is told that nobody
// has. (On x86, an enter() without its barrier fails this within a few thousand rounds.)
TEST_P(EpochsUnderReaders, EnteringIsSeenBeforeWhatIsReadAfterIt) {
    Epochs epochs(GetParam());
    struct alignas(128) Line {
        std::atomic<uint64_t> value = 0;
        void set(uint64_t to) { value.store(to, std::memory_order_release); }
        void await(uint64_t least) const {
            for (uint32_t spins = 0; value.load(std::memory_order_acquire) < least; spins++)
                if (spins % 4096 == 4095) std::this_thread::yield();
        }
    };
    constexpr uint64_t ended = ~uint64_t{0};
    Line linked, go, saw, decided, left;
    std::thread thread([&] {
        EpochReader reader(epochs);
        for (uint64_t round = 1;; round++) {
            go.await(round);
            if (go.value.load(std::memory_order_relaxed) == ended) break;
            reader.enter();
            const uint64_t seen = linked.value.load(std::memory_order_relaxed);
            saw.set(round << 1 | (seen == round));
            decided.await(round);
            reader.leave();
            left.set(round);
        }
    });
    uint64_t wrong = 0, passed_at_once = 0, had_it = 0, round = 0, delay = 0;
    while (round < pktpit::test::rounds_of(8'000U)) {
        left.await(round++);
        linked.set(round);
        go.set(round);
        for (uint64_t i = 0; i < delay; i++)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        linked.value.store(0, std::memory_order_relaxed);
        const bool passed = epochs.passed(epochs.retire_ticket());
        saw.await(round << 1);
        const bool reader_has_it = saw.value.load(std::memory_order_relaxed) & 1;
        wrong += passed && reader_has_it;
        passed_at_once += passed;
        had_it += reader_has_it;
        // Towards the delay at which it is open who comes first.
        if (!reader_has_it)
            delay += 1 + delay / 16;
        else if (delay > 0)
            delay -= 1 + delay / 32;
        decided.set(round);
    }
    left.await(round);
    go.set(ended);
    thread.join();
    EXPECT_EQ(wrong, 0u);
    std::printf("%llu rounds: the reader had it in %llu, the ticket passed at once in %llu\n",
                static_cast<unsigned long long>(round), static_cast<unsigned long long>(had_it),
                static_cast<unsigned long long>(passed_at_once));
}

}  // namespace
}  // namespace pktpit::fib
