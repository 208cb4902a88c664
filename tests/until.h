// SPDX-License-Identifier: BSD-3-Clause
/// Waiting for what another thread, another process or the kernel does. The deadline is for what hangs: a
/// test passes however slow the machine is, and asserts what has happened, never how soon.
#pragma once

#include <poll.h>

#include <chrono>
#include <thread>

namespace pktpit::test {

constexpr std::chrono::seconds patience{120};

/// Whether the condition has come true.
template <class Condition>
[[nodiscard]] bool until(const Condition& condition) {
    for (const auto end = std::chrono::steady_clock::now() + patience; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(1)))
        if (condition()) return true;
    return condition();
}

/// Whether there is something to read.
[[nodiscard]] inline bool readable(int descriptor, std::chrono::milliseconds within = patience) {
    pollfd one{descriptor, POLLIN, 0};
    return ::poll(&one, 1, static_cast<int>(within.count())) == 1;
}

}  // namespace pktpit::test
