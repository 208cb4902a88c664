// SPDX-License-Identifier: BSD-3-Clause
/// What each peer's worker does, whatever adds: vectors of known sums, one size after the other, each sum
/// timed and then compared in full. Used by the workers' main functions; one thread.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

namespace pktpit::bench::allreduce {

struct Step {
    size_t bytes = 0;
    unsigned rounds = 0;
};

/// Of "BYTES:ROUNDS" a word. Throws std::invalid_argument for what is none.
std::vector<Step> steps_of(std::span<char* const> words);

/// What a worker's main() returns: `run`'s, or 2 after it has said what was thrown.
int run_worker(int count, char** words, int (*run)(std::span<char* const> words));

/// Small integers: exact in 16-bit mantissas, too.
template <class Number>
Number element(unsigned rank, unsigned round, size_t place) {
    return static_cast<Number>((place * 7 + place / 977 + size_t{rank} * 131 + round) % 500);
}

/// Microseconds of processors that this process has had, in the kernel, too.
inline double processor_us() {
    rusage used{};
    (void)getrusage(RUSAGE_SELF, &used);
    const auto us = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
    };
    return us(used.ru_utime) + us(used.ru_stime);
}

/// `sum(span)` replaces a vector by the sum of all ranks', and returns whether it did. Says a line of JSON a
/// step: how long each round took, and how much of
/// processors. Rounds begin together, by the sum of two elements, since nobody's time is
/// to have another's filling in it. Exit code: 1 for a wrong sum, 2 for none.
template <class Number, class Sum>
int measure(unsigned rank, unsigned ranks, const std::vector<Step>& steps, const Sum& sum) {
    using Clock = std::chrono::steady_clock;
    size_t wrong = 0;
    for (const Step& step : steps) {
        std::vector<Number> vector(step.bytes / sizeof(Number));
        std::string times, processors;
        for (unsigned round = 0; round <= step.rounds; round++) {  // the first warms up
            for (size_t i = 0; i < vector.size(); i++)
                vector[i] = element<Number>(rank, round, i);
            std::vector<Number> ready(2);
            if (!sum(std::span<Number>(ready))) return 2;
            const double used = processor_us();
            const auto begun = Clock::now();
            if (!sum(std::span<Number>(vector))) return 2;
            const std::chrono::duration<double> took = Clock::now() - begun;
            if (round > 0) processors += (round > 1 ? ", " : "") + std::to_string(processor_us() - used);
            if (round > 0) times += (round > 1 ? ", " : "") + std::to_string(took.count() * 1e6);
            for (size_t i = 0; i < vector.size(); i++) {
                Number all = 0;
                for (unsigned one = 0; one < ranks; one++)
                    all += element<Number>(one, round, i);
                wrong += vector[i] != all;
            }
        }
        std::printf("{\"rank\": %u, \"bytes\": %zu, \"us\": [%s], \"processor_us\": [%s], \"wrong\": %zu}\n",
                    rank, step.bytes, times.c_str(), processors.c_str(), wrong);
        std::fflush(stdout);
    }
    return wrong != 0;
}

}  // namespace pktpit::bench::allreduce
