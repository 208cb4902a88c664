// SPDX-License-Identifier: BSD-3-Clause
#include "bench/rfc2544/tester.h"

#include <thread>

#include "bench/harness/latency.h"

namespace pktpit::bench::rfc2544 {
namespace {

constexpr unsigned batch = 16;  ///< small, so that frames are as evenly spaced as they are meant to be
constexpr double fastest = 50e6;
constexpr double least_reached = 0.95;  ///< of a load, for a trial to be one of it

}  // namespace

void Tester::aim(const harness::Workload& workload, unsigned frame_bytes, bool mix) {
    lab_.aim(workload, {.bytes = frame_bytes, .mix = mix, .timestamps = true});
}

double Tester::closed_loop_rate(std::chrono::milliseconds time) {
    const harness::Sample sample = lab_.measure(cores_, {.warm_up = time / 2, .window = time, .batch = 64});
    if (!sample.faults.empty()) faults_ = sample.faults;
    return sample.mpps * 1e6;
}

Trial Tester::trial(double load, double seconds) {
    const wire::Lab::Paced paced =
        lab_.send_paced(cores_, batch, load, std::chrono::duration<double>(seconds), 0);
    if (!paced.faults.empty()) faults_ = paced.faults;
    const double sent = static_cast<double>(paced.sent);
    const double lost =
        paced.sent > paced.arrived ? static_cast<double>(paced.sent - paced.arrived) / sent : 0;
    const double offered = sent / paced.seconds;
    return {load, seconds, lost, offered, offered >= load * least_reached};
}

Latency Tester::latency(double share, double load, double seconds) {
    const wire::Lab::Paced paced =
        lab_.send_paced(cores_, batch, load, std::chrono::duration<double>(seconds), 0);
    if (!paced.faults.empty()) faults_ = paced.faults;
    return {share, harness::latency_quantile(paced.latencies, 0.5) / 1e3,
            harness::latency_quantile(paced.latencies, 0.99) / 1e3,
            harness::latency_quantile(paced.latencies, 0.999) / 1e3};
}

bool Tester::survives(uint64_t frames) {
    const wire::Lab::Paced paced =
        lab_.send_paced(cores_, 64, fastest, std::chrono::duration<double>(0.15), frames);
    return paced.sent == frames && paced.arrived == frames;
}

uint64_t Tester::back_to_back(uint64_t most) {
    uint64_t lower = 0, upper = most + 1;
    while (upper - lower > std::max<uint64_t>(1, lower / 32)) {
        const uint64_t middle = lower == 0 ? std::max<uint64_t>(upper / 16, 1) : (lower + upper) / 2;
        (survives(middle) ? lower : upper) = middle;
        if (upper == 1) break;
    }
    return lower;
}

}  // namespace pktpit::bench::rfc2544
