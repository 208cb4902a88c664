#include "bench/wire/lab.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "bench/harness/failure.h"
#include "bench/harness/sink.h"

namespace pktpit::bench {

Lab::Lab(std::unique_ptr<Forwarder> forwarder, const std::vector<const Workload*>& workloads,
         const std::vector<unsigned>& frame_sizes)
    : forwarder_(std::move(forwarder)) {
    forwarder_->attach(topology_, workloads);
    forwarder_->rest();
    for (const Workload* workload : workloads) {
        const Family family = workload->prefixes.front().address.family;
        for (const unsigned bytes : frame_sizes)
            generators_.emplace(std::pair(family, bytes),
                                Generator(topology_, family, workload->destinations, {bytes, false}));
    }
}

Sample Lab::measure(Family family, unsigned frame_bytes, Cores cores, const Timing& timing) {
    forwarder_->wake();
    const Sample sample = bench::measure(topology_, family, generators_.at({family, frame_bytes}), cores,
                                         timing, forwarder_->arrival(family));
    forwarder_->rest();
    return sample;
}

std::string Lab::sample_stacks(Family family, unsigned frame_bytes, Cores cores, std::chrono::seconds time) {
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
            throw Failure("perf record failed (Debian: linux-perf): " + command);
    };
    forwarder_->wake();
    const Sink sink(topology_, family, Sink::Mode::count, generators_.at({family, frame_bytes}),
                    forwarder_->arrival(family));
    place_cores(topology_, cores);
    Generator& generator = generators_.at({family, frame_bytes});
    generator.start(generator_cpu(cores), 64);
    record();
    generator.stop();
    forwarder_->rest();
    FILE* pipe = popen(fmt::format("perf script -i {} -F ip,sym 2>/dev/null", data).c_str(), "r");
    if (!pipe) fail_errno("perf script");
    std::string text;
    std::array<char, 65536> buffer;
    for (size_t bytes = 0; (bytes = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        text.append(buffer.data(), bytes);
    pclose(pipe);
    std::filesystem::remove(data);
    return text;
}

}  // namespace pktpit::bench
