// SPDX-License-Identifier: BSD-3-Clause
/// How much tests of many rounds do. PKTPIT_ROUNDS=all: everything. Else an eighth; and with a sanitizer,
/// which makes each round several times as dear and sees as much in fewer, always an eighth.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>

namespace pktpit::test {

#ifdef PKTPIT_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

inline bool few_rounds() {
    static const bool few = [] {
        const char* wanted = std::getenv("PKTPIT_ROUNDS");
        return sanitized || !wanted || std::string_view(wanted) != "all";
    }();
    return few;
}

template <class Count>
Count rounds_of(Count all) {
    return few_rounds() ? std::max<Count>(1, all / 8) : all;
}

/// Where a test of random input begins: PKTPIT_SEED, which is printed. Else with few rounds the same each
/// time, so that the gate judges a change and not its luck, and with all rounds another one each time.
inline uint64_t seed_of_run() {
    const char* given = std::getenv("PKTPIT_SEED");
    const uint64_t seed = given          ? std::strtoull(given, nullptr, 0)
                          : few_rounds() ? 20260101
                                         : std::random_device{}();
    std::cout << "PKTPIT_SEED=" << seed << " repeats this run\n";
    return seed;
}

/// Of many things that are tried one after the other: every eighth, where rounds are few.
class Sparing {
  public:
    /// Whether this one is left out.
    bool skips() { return few_rounds() && asked_++ % 8 != 0; }

  private:
    unsigned asked_ = 0;
};

}  // namespace pktpit::test
