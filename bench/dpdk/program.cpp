// SPDX-License-Identifier: BSD-3-Clause
#include "bench/dpdk/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "bench/harness/failure.h"
#include "bench/harness/freeze.h"

namespace pktpit::bench::dpdk {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr size_t most_kept = 64 * 1024;
constexpr std::chrono::seconds longest_stop{10};

}  // namespace

std::string command_line(const std::vector<std::string>& arguments) {
    std::string line;
    for (const std::string& argument : arguments) {
        const bool plain = argument.find_first_of(" ()*;&") == std::string::npos;
        line += (line.empty() ? "" : " ") + (plain ? argument : "'" + argument + "'");
    }
    return line;
}

std::string last_complaint(const std::string& text) {
    std::string complaint, line;
    for (std::istringstream lines(text); std::getline(lines, line);) {
        while (!line.empty() && line.back() == '\r')
            line.pop_back();
        if (line.find("EAL: Error - exiting") != std::string::npos) break;
        if (!line.empty()) complaint = line;
    }
    return complaint;
}

DpdkProgram::DpdkProgram(std::vector<std::string> arguments, const harness::NetworkNamespace* network)
    : arguments_(std::move(arguments)) {
    terminal_ = harness::Descriptor(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    std::array<char, 128> name{};
    if (!terminal_.valid() || grantpt(terminal_.get()) != 0 || unlockpt(terminal_.get()) != 0 ||
        ptsname_r(terminal_.get(), name.data(), name.size()) != 0)
        harness::fail_errno("open a terminal");
    // Between fork and exec nothing may allocate.
    std::vector<char*> words;
    for (std::string& argument : arguments_)
        words.push_back(argument.data());
    words.push_back(nullptr);
    const int network_descriptor = network ? network->descriptor() : -1;
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) harness::fail_errno("fork");
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        setsid();
        const sched_param normal{};
        sched_setscheduler(0, SCHED_OTHER, &normal);
        const int slave = open(name.data(), O_RDWR);
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
            dup2(slave, stream);
        if (network_descriptor < 0 || setns(network_descriptor, CLONE_NEWNET) == 0)
            execvp(words.front(), words.data());
        _exit(127);
    }
    reader_ = std::thread([this] { read_output(); });
}

DpdkProgram::~DpdkProgram() {
    if (pid_ > 0) {
        thaw();
        kill(pid_, SIGTERM);
        const auto deadline = SteadyClock::now() + longest_stop;
        while (!ended()) {
            if (SteadyClock::now() > deadline) kill(pid_, SIGKILL);
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }
    closing_ = true;
    reader_.join();
}

void DpdkProgram::read_output() {
    std::array<char, 64 * 1024> buffer;
    while (!closing_) {
        pollfd waiting{terminal_.get(), POLLIN, 0};
        if (poll(&waiting, 1, 50) <= 0) continue;
        const ssize_t bytes = read(terminal_.get(), buffer.data(), buffer.size());
        if (bytes <= 0) return;  // EIO: nobody is on the other side any more
        const std::lock_guard lock(mutex_);
        said_.append(buffer.data(), static_cast<size_t>(bytes));
        if (said_.size() > 2 * most_kept) said_.erase(0, said_.size() - most_kept);
    }
}

std::string DpdkProgram::output() const {
    const std::lock_guard lock(mutex_);
    return said_.substr(said_.size() - std::min<size_t>(said_.size(), 2000));
}

bool DpdkProgram::ended() {
    if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
}

void DpdkProgram::wait_until_it_says(const std::string& text, std::chrono::seconds longest) {
    const auto deadline = SteadyClock::now() + longest;
    while (true) {
        {
            const std::lock_guard lock(mutex_);
            if (said_.find(text) != std::string::npos) return;
        }
        const bool over = ended();
        if (over || SteadyClock::now() > deadline) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));  // its last words
            throw harness::Failure(arguments_.front() + (over ? " ended" : " was not ready in time") + ":\n" +
                                   command_line(arguments_) + "\n" + output());
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

void DpdkProgram::freeze() {
    if (pid_ > 0) harness::freeze_process(pid_);
}

void DpdkProgram::thaw() {
    if (pid_ > 0) harness::thaw_process(pid_);
}

}  // namespace pktpit::bench::dpdk
