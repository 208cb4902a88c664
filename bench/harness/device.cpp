// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/device.h"

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/harness/descriptor.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::harness {
namespace {

void ethtool(const std::string& device, void* command, const char* what) {
    const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    device.copy(request.ifr_name, IFNAMSIZ - 1);
    request.ifr_data = static_cast<char*>(command);
    if (ioctl(socket.get(), SIOCETHTOOL, &request) != 0) fail_errno(device + ": " + what);
}

/// The calling thread's namespace's own sysfs, mounted nowhere: /sys shows the namespace it was mounted in.
Descriptor own_sysfs() {
    const Descriptor context(fsopen("sysfs", FSOPEN_CLOEXEC));
    if (!context.valid() || fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0)
        fail_errno("create a sysfs of the namespace");
    Descriptor mounted(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
    if (!mounted.valid()) fail_errno("mount a sysfs of the namespace");
    return mounted;
}

void write_file(int directory, const std::string& path, std::string_view text) {
    const Descriptor file(openat(directory, path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file.valid() || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        fail_errno("write " + std::string(text) + " to " + path);
}

/// Kernel threads named "napi/DEVICE-ID". Device names of the harness are unique on the machine.
std::vector<pid_t> napi_threads(const std::string& device) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename();
        pid_t pid = 0;
        if (std::from_chars(name.data(), name.data() + name.size(), pid).ec != std::errc{}) continue;
        std::ifstream file(entry.path() / "comm");
        std::string command;
        std::getline(file, command);
        if (command.starts_with("napi/" + device + "-")) found.push_back(pid);
    }
    return found;
}

}  // namespace

bool schedule_thread(pid_t thread, std::optional<unsigned> cpu, int priority) {
    const auto done = [](int result, const std::string& what) {
        if (result != 0 && errno != ESRCH) fail_errno(what);
        return result == 0;
    };
    if (cpu) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(*cpu, &set);
        if (!done(sched_setaffinity(thread, sizeof set, &set), "pin a thread to CPU " + std::to_string(*cpu)))
            return false;
    }
    const sched_param parameters{priority};
    return done(sched_setscheduler(thread, SCHED_FIFO, &parameters), "make a thread real-time");
}

uint32_t interface_index(const std::string& device) {
    const uint32_t index = if_nametoindex(device.c_str());
    if (index == 0) fail_errno("interface " + device);
    return index;
}

void enable_gro(const std::string& device) {
    ethtool_value value{ETHTOOL_SGRO, 1};
    ethtool(device, &value, "enable GRO");
}

void set_threaded_napi(const std::string& device, bool threaded, unsigned cpu) {
    const Descriptor sysfs = own_sysfs();
    write_file(sysfs.get(), "class/net/" + device + "/threaded", threaded ? "1" : "0");
    if (!threaded) return;
    const auto threads = napi_threads(device);
    if (threads.empty())
        throw Failure(device + ": no NAPI thread appeared; is the device up, with XDP or GRO?");
    for (const pid_t thread : threads)
        if (!schedule_thread(thread, cpu, Schedule::traffic))
            throw Failure(device + ": a NAPI thread has ended");
}

void set_sysctl(std::string_view path, std::string_view value) {
    write_file(AT_FDCWD, "/proc/sys/" + std::string(path), value);
}

uint64_t device_statistic(const std::string& device, std::string_view name) {
    alignas(ethtool_sset_info) char question[sizeof(ethtool_sset_info) + sizeof(uint32_t)] = {};
    auto* sets = reinterpret_cast<ethtool_sset_info*>(question);
    sets->cmd = ETHTOOL_GSSET_INFO;
    sets->sset_mask = 1ull << ETH_SS_STATS;
    ethtool(device, sets, "count statistics");
    const uint32_t count = sets->data[0];
    std::vector<char> names(sizeof(ethtool_gstrings) + size_t{count} * ETH_GSTRING_LEN);
    std::vector<char> values(sizeof(ethtool_stats) + size_t{count} * sizeof(uint64_t));
    auto* strings = reinterpret_cast<ethtool_gstrings*>(names.data());
    strings->cmd = ETHTOOL_GSTRINGS;
    strings->string_set = ETH_SS_STATS;
    strings->len = count;
    ethtool(device, strings, "name statistics");
    auto* statistics = reinterpret_cast<ethtool_stats*>(values.data());
    statistics->cmd = ETHTOOL_GSTATS;
    statistics->n_stats = count;
    ethtool(device, statistics, "read statistics");
    for (size_t i = 0; i < count; i++) {
        const char* text = names.data() + sizeof(ethtool_gstrings) + i * ETH_GSTRING_LEN;
        if (name != std::string_view(text, strnlen(text, ETH_GSTRING_LEN))) continue;
        uint64_t value = 0;
        std::memcpy(&value, values.data() + sizeof(ethtool_stats) + i * sizeof value, sizeof value);
        return value;
    }
    return 0;
}

size_t schedule_threads(pid_t process, std::string_view name, std::optional<unsigned> cpu, int priority) {
    size_t found = 0;
    for (const auto& task :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/task")) {
        std::ifstream file(task.path() / "comm");
        std::string command;
        std::getline(file, command);
        if (!command.starts_with(name)) continue;
        found += schedule_thread(static_cast<pid_t>(std::stoi(task.path().filename())), cpu, priority);
    }
    return found;
}

RealTime::RealTime(int priority) {
    schedule_thread(0, std::nullopt, priority);
}

RealTime::~RealTime() {
    const sched_param normal{};
    sched_setscheduler(0, SCHED_OTHER, &normal);
}

}  // namespace pktpit::bench::harness
