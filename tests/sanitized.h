// SPDX-License-Identifier: BSD-3-Clause
/// How often tests of many rounds go round: with a sanitizer, which makes each of them several times as dear
/// and sees as much in fewer, an eighth of what they do without.
#pragma once

#include <algorithm>

namespace pktpit::test {

#ifdef PKTPIT_SANITIZED
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

template <class Count>
constexpr Count rounds_of(Count all) {
    return sanitized ? std::max<Count>(1, all / 8) : all;
}

}  // namespace pktpit::test
