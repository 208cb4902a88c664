// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/machine.h"

#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <thread>

#include "bench/harness/realtime_limit.h"

namespace pktpit::bench::harness {
namespace {

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown";
}

std::string now() {
    const std::time_t time = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&time, &parts);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

std::string realtime_limit() {
    const std::string microseconds = first_line(realtime_limit_file);
    return microseconds == "-1" ? "none"
                                : microseconds + " us of each period: windows of measurement have gaps";
}

}  // namespace

std::vector<std::pair<std::string, std::string>> describe_machine() {
    utsname kernel{};
    uname(&kernel);
    const auto pages = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES));
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    std::ifstream cpuinfo("/proc/cpuinfo");
    bool virtual_machine = false;
    for (std::string line; std::getline(cpuinfo, line);)
        virtual_machine = virtual_machine || line.find(" hypervisor ") != std::string::npos;
    return {{"date", now()},
            {"processor", fmt::format("{}, {} CPUs{}", processor(), std::thread::hardware_concurrency(),
                                      virtual_machine ? ", a virtual machine" : "")},
            {"memory", fmt::format("{} GiB", pages * page >> 30)},
            {"kernel", fmt::format("{} {} {}", kernel.sysname, kernel.release, kernel.machine)},
            {"spectre_v2", first_line("/sys/devices/system/cpu/vulnerabilities/spectre_v2")},
            {"real-time limit", realtime_limit()},
            {"libbpf", libbpf_version_string()},
            {"load before", first_line("/proc/loadavg")}};
}

}  // namespace pktpit::bench::harness
