// SPDX-License-Identifier: BSD-3-Clause
/// The variants of lookups that this CPU has: tests go through all of them.
#pragma once

#include <vector>

#include "fib/reader.h"

namespace pktpit::test {

inline std::vector<fib::CpuVariant> cpu_variants() {
    std::vector<fib::CpuVariant> present;
    for (const auto variant : {fib::CpuVariant::scalar, fib::CpuVariant::avx2, fib::CpuVariant::avx512})
        if (fib::cpu_has(variant)) present.push_back(variant);
    return present;
}

}  // namespace pktpit::test
