// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a report of bench_cpu: an answer without a crash, and times that a profile may have.
#include <cstdio>
#include <cstdlib>

#include "offload/model/cpu_times.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::model;
    static const Profile generic = *Profile::open("generic");
    Profile profile = generic;
    const auto good = take_cpu_times(profile, {reinterpret_cast<const char*>(data), size}, "fuzz");
    const bool same = profile.value("cpu.packet_ns") == generic.value("cpu.packet_ns");
    if (good ? !(profile.value("cpu.packet_ns") >= 0) : !same || good.error().message.empty()) {
        std::fprintf(stderr, "not so: a refusal has a reason and changes nothing\n");
        std::abort();
    }
    return 0;
}
