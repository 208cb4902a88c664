// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/neighbour.h"

#include <cstdint>

#include "bench/fib/priority.h"

namespace pktpit::bench::fib {

Neighbour::Neighbour(unsigned cpu, size_t bytes)
    : memory_(bytes), thread_([this, cpu] {
          pin_to(cpu);
          run();
      }) {}

Neighbour::~Neighbour() {
    stopping_ = true;
    thread_.join();
}

void Neighbour::run() {
    constexpr size_t line = 64;
    constexpr size_t between_looks = 4096;
    const size_t lines = memory_.bytes().size() / line;
    auto* bytes = reinterpret_cast<volatile uint8_t*>(memory_.bytes().data());
    uint64_t state = 1;
    while (!stopping_.load(std::memory_order_relaxed)) {
        for (size_t i = 0; i < between_looks; i++) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            const auto place = static_cast<size_t>(static_cast<unsigned __int128>(state) * lines >> 64);
            bytes[place * line] = static_cast<uint8_t>(i);
        }
    }
}

}  // namespace pktpit::bench::fib
