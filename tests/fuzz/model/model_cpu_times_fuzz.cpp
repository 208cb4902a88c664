// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a report of bench_cpu: an answer without a crash, and times that a profile may have.
#include <cstdint>

#include "offload/model/cpu_times.h"
#include "tests/fuzz/demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::model;
    static const Profile generic = *Profile::open("generic");
    Profile profile = generic;
    const auto good = take_cpu_times(profile, {reinterpret_cast<const char*>(data), size}, "fuzz");
    const double packet_ns = profile.value("cpu.packet_ns");
    pktpit::fuzz::demand(good ? packet_ns >= 0 : packet_ns == generic.value("cpu.packet_ns"),
                         "times can be, and a refusal changes nothing");
    return good ? 0 : pktpit::fuzz::refused(good.error());
}
