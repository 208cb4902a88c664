// SPDX-License-Identifier: BSD-3-Clause
// Two files as reports of a benchmark, of any bytes, with a line of "---" between them. Must hold: they are
// refused with a reason, or each figure is compared or named as one that only one of them has.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "bench/harness/failure.h"
#include "bench/report/compare.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::bench;
    const std::string text(reinterpret_cast<const char*>(data), size);
    const size_t cut = std::min(text.find("\n---\n"), text.size());
    const std::string after = cut == text.size() ? text : text.substr(cut + 5);
    try {
        const report::Comparison comparison = report::compare_reports(text.substr(0, cut), after);
        for (const report::Change& change : comparison.changes)
            if (change.what.empty()) std::abort();
        static FILE* const nowhere = std::fopen("/dev/null", "w");
        report::print_comparison(nowhere, comparison);
    } catch (const harness::Failure& failure) {
        if (std::string(failure.what()).empty()) std::abort();
    }
    return 0;
}
