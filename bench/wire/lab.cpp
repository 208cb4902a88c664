// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/lab.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/harness/failure.h"
#include "bench/harness/sink.h"

namespace pktpit::bench::wire {

Lab::Lab(std::unique_ptr<Forwarder> forwarder, const std::vector<const harness::Workload*>& routes)
    : forwarder_(std::move(forwarder)) {
    forwarder_->attach(topology_, routes);
    forwarder_->rest();
}

void Lab::aim(const harness::Workload& workload, const harness::FrameShape& shape) {
    family_ = workload.prefixes.front().address.family;
    generator_.reset();
    generator_.emplace(topology_, family_, workload.destinations, shape);
}

harness::Sample Lab::measure(harness::Cores cores, const harness::Timing& timing) {
    forwarder_->wake();
    harness::Sample sample =
        harness::measure(topology_, family_, *generator_, cores, timing, forwarder_->arrival(family_));
    forwarder_->rest();
    return sample;
}

Lab::Paced Lab::send_paced(harness::Cores cores, unsigned batch, double rate,
                           std::chrono::duration<double> time, uint64_t most) {
    forwarder_->wake();
    const harness::Sink sink(topology_, family_, harness::Sink::Mode::count, *generator_,
                             forwarder_->arrival(family_));
    harness::place_cores(topology_, cores);
    const auto begin = std::chrono::steady_clock::now();
    generator_->start_paced(harness::generator_cpu(cores), batch, rate, most);
    std::this_thread::sleep_for(time);
    Paced paced;
    paced.sent = generator_->stop();
    paced.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    // Until all is there, or nothing more comes.
    auto counters = sink.counters();
    for (int quiet = 0; quiet < 5 && counters.frames < paced.sent;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
        const auto now = sink.counters();
        quiet = now.frames == counters.frames ? quiet + 1 : 0;
        counters = now;
    }
    paced.arrived = counters.frames;
    if (counters.sampled > 0) paced.faults = harness::describe_faults(counters);
    paced.latencies = sink.latencies();
    forwarder_->rest();
    return paced;
}

std::string Lab::sample_stacks(harness::Cores cores, std::chrono::seconds time) {
    const auto [pid, threads] = forwarder_->process();
    std::string tids;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid))) {
        std::ifstream file(task.path() / "comm");
        std::string name;
        std::getline(file, name);
        if (name.starts_with(threads)) tids += (tids.empty() ? "" : ",") + task.path().filename().string();
    }
    const std::string data = "/run/perf." + std::to_string(pid);
    const auto record = [&] {
        const std::string command = fmt::format(
            "perf record -q -e cpu-clock -F 4999 --call-graph fp -t {} -o {} -- sleep {} >/dev/null 2>&1",
            tids, data, time.count());
        if (std::system(command.c_str()) != 0)
            throw harness::Failure("perf record failed (Debian: linux-perf): " + command);
    };
    forwarder_->wake();
    const harness::Sink sink(topology_, family_, harness::Sink::Mode::count, *generator_,
                             forwarder_->arrival(family_));
    harness::place_cores(topology_, cores);
    generator_->start(harness::generator_cpu(cores), 64, harness::window_of(cores));
    record();
    generator_->stop();
    forwarder_->rest();
    FILE* pipe = popen(fmt::format("perf script -i {} -F ip,sym 2>/dev/null", data).c_str(), "r");
    if (!pipe) harness::fail_errno("perf script");
    std::string text;
    std::array<char, 65536> buffer;
    for (size_t bytes = 0; (bytes = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        text.append(buffer.data(), bytes);
    pclose(pipe);
    std::filesystem::remove(data);
    return text;
}

}  // namespace pktpit::bench::wire
