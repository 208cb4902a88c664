// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/memory_speed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "bench/fib/clock.h"
#include "bench/fib/measured_memory.h"
#include "bench/fib/random.h"

namespace pktpit::bench::fib {
namespace {

constexpr size_t sizes[] = {256u << 10, 2u << 20, 8u << 20, 16u << 20, 64u << 20};
constexpr size_t loads = 1 << 20;
constexpr unsigned passes = 3;  // the first fills the caches

double seconds_of_pass(const uint32_t* memory, const std::vector<uint32_t>& places) {
    const double begin = thread_seconds();
    uint32_t sums[4] = {};
    for (size_t i = 0; i < places.size(); i += 4)
        for (size_t j = 0; j < 4; j++)
            sums[j] += memory[places[i + j]];
    asm volatile("" : : "r"(sums) : "memory");
    return thread_seconds() - begin;
}

}  // namespace

std::vector<LoadRate> measure_random_loads() {
    const MeasuredMemory memory(*std::max_element(std::begin(sizes), std::end(sizes)));
    const auto* words = reinterpret_cast<const uint32_t*>(memory.bytes().data());
    Random random(1);
    std::vector<uint32_t> places(loads);
    std::vector<LoadRate> rates;
    for (const size_t bytes : sizes) {
        for (uint32_t& place : places)
            place = static_cast<uint32_t>(below(random, bytes / sizeof(uint32_t)));
        double best = seconds_of_pass(words, places);
        for (unsigned i = 1; i < passes; i++)
            best = std::min(best, seconds_of_pass(words, places));
        rates.push_back({bytes, static_cast<double>(loads) / best * 1e-6});
    }
    return rates;
}

std::string to_string(const std::vector<LoadRate>& rates) {
    std::string text;
    for (const LoadRate& rate : rates) {
        const bool small = rate.bytes < 1u << 20;
        text += fmt::format("{}{} {} {:.0f}", text.empty() ? "" : ", ", rate.bytes >> (small ? 10 : 20),
                            small ? "KiB" : "MiB", rate.million_a_second);
    }
    return text;
}

}  // namespace pktpit::bench::fib
