// SPDX-License-Identifier: BSD-3-Clause
#include "router/hot/sample_reader.h"

#include <algorithm>

namespace pktpit::router {
namespace {

/// So many samples are wanted of a CPU and a tick, at most: three quarters of the room for them.
constexpr uint64_t samples_wanted = PP_SAMPLES * 3 / 4;

/// Counters only grow; one that did not tells nothing.
uint64_t growth(uint64_t before, uint64_t now) {
    return now > before ? now - before : 0;
}

}  // namespace

double SampleReader::read(pp_samples& samples, HotChoice& choice) {
    const uint64_t taken = __atomic_load_n(&samples.taken, __ATOMIC_ACQUIRE);
    const uint64_t packets = __atomic_load_n(&samples.packets, __ATOMIC_RELAXED);
    const uint64_t count = std::min<uint64_t>(growth(taken_, taken), PP_SAMPLES);
    const uint64_t grown = growth(packets_, packets);
    const auto passed = static_cast<double>(grown);
    for (uint64_t i = taken - count; i != taken; i++)
        choice.hit(samples.cells[i % PP_SAMPLES], passed / static_cast<double>(count));
    const uint64_t every = std::min<uint64_t>(grown / samples_wanted + 1, 1U << 20);
    __atomic_store_n(&samples.every, static_cast<uint32_t>(every), __ATOMIC_RELAXED);
    packets_ = packets;
    taken_ = taken;
    return passed;
}

}  // namespace pktpit::router
