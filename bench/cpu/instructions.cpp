// SPDX-License-Identifier: BSD-3-Clause
#include "bench/cpu/instructions.h"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unordered_map>
#include <vector>

#include "bench/harness/failure.h"

namespace pktpit::bench::cpu {
namespace {

using Times = std::unordered_map<pid_t, uint64_t>;

/// ns on a CPU of each thread that lives.
Times thread_times(pid_t process) {
    Times times;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process)))
        if (uint64_t time = 0; std::ifstream(task.path() / "schedstat") >> time)
            times[std::stoi(task.path().filename())] = time;
    return times;
}

pid_t busiest_thread(pid_t process) {
    const Times before = thread_times(process);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    pid_t busiest = process;
    uint64_t most = 0;
    for (const auto& [thread, time] : thread_times(process)) {
        const auto earlier = before.find(thread);
        if (earlier == before.end() || time - earlier->second <= most) continue;
        most = time - earlier->second;
        busiest = thread;
    }
    return busiest;
}

/// A thread that goes on only by step(), until this is destroyed.
class Stepped {
  public:
    explicit Stepped(pid_t thread) : thread_(thread) {
        if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) harness::fail_errno("trace a forwarder");
        if (ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr) != 0)
            harness::fail_errno("interrupt a forwarder");
        wait();
    }
    ~Stepped() { ptrace(PTRACE_DETACH, thread_, nullptr, nullptr); }
    Stepped(const Stepped&) = delete;
    Stepped& operator=(const Stepped&) = delete;

    /// Where the instruction was that it made.
    uint64_t step() {
        errno = 0;
#if defined(__x86_64__)
        // NOLINTNEXTLINE(performance-no-int-to-ptr): how ptrace() takes an offset
        auto* const program_counter = reinterpret_cast<void*>(offsetof(user, regs.rip));
#else
        throw harness::Failure("instructions are counted on x86-64 alone");
        void* const program_counter = nullptr;
#endif
        const long address = ptrace(PTRACE_PEEKUSER, thread_, program_counter, nullptr);
        if (errno != 0 || ptrace(PTRACE_SINGLESTEP, thread_, nullptr, nullptr) != 0)
            harness::fail_errno("step a forwarder");
        wait();
        return static_cast<uint64_t>(address);
    }

  private:
    void wait() const {
        int status = 0;
        while (waitpid(thread_, &status, __WALL) < 0)
            if (errno != EINTR) harness::fail_errno("wait for a forwarder's step");
        if (!WIFSTOPPED(status))
            throw harness::Failure("a forwarder has ended while its instructions were counted");
    }
    pid_t thread_;
};

struct Mapping {
    uint64_t begin = 0;
    uint64_t end = 0;
    std::string file;
};

std::vector<Mapping> code_of(pid_t process) {
    std::vector<Mapping> mappings;
    std::ifstream maps(fmt::format("/proc/{}/maps", process));
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        Mapping mapping;
        char dash = 0;
        std::string rights, offset, device, inode, path;
        words >> std::hex >> mapping.begin >> dash >> mapping.end >> rights >> offset >> device >> inode >>
            path;
        if (rights.find('x') == std::string::npos) continue;
        mapping.file = path.empty() ? "no file" : std::filesystem::path(path).filename().string();
        mappings.push_back(std::move(mapping));
    }
    return mappings;
}

}  // namespace

Instructions count_instructions(CpuRow& row, uint64_t wanted) {
    Instructions counted;
    std::unordered_map<uint64_t, uint64_t> addresses;
    row.wake();
    {
        Stepped thread(busiest_thread(row.process()));
        const uint64_t before = row.forwarded();
        for (; counted.all < wanted; counted.all++)
            addresses[thread.step()]++;
        counted.packets = row.forwarded() - before;
    }
    const std::vector<Mapping> code = code_of(row.process());
    row.rest();
    for (const auto& [address, times] : addresses) {
        const auto mapping = std::ranges::find_if(
            code, [at = address](const Mapping& one) { return at >= one.begin && at < one.end; });
        counted.by_file[mapping == code.end() ? "no file" : mapping->file] += times;
    }
    return counted;
}

}  // namespace pktpit::bench::cpu
