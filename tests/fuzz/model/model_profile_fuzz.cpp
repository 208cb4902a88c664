// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a profile: an answer without a crash; what was accepted has every constant within its range.
#include <cstdint>
#include <string_view>

#include "offload/model/profile.h"
#include "tests/fuzz/demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::model;
    using pktpit::fuzz::demand;
    const auto profile = Profile::parse({reinterpret_cast<const char*>(data), size});
    if (!profile) return pktpit::fuzz::refused(profile.error());
    for (const ConstantRule& rule : constant_rules()) {
        const double value = profile->value(rule.name);
        demand(value >= rule.least && value <= rule.most, "a constant is within its range");
        demand(!profile->constants().find(rule.name)->second.source.empty(), "a constant has a source");
    }
    return 0;
}
