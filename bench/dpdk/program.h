// SPDX-License-Identifier: BSD-3-Clause
/// A DPDK program in a process of its own, on a terminal of its own (so that it writes by the line), in a
/// network namespace if one is given. It ends with this process, however that ends. One thread uses this.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/descriptor.h"
#include "bench/harness/namespaces.h"

namespace pktpit::bench::dpdk {

class DpdkProgram {
  public:
    /// `namespace_`: nullptr for the current one.
    DpdkProgram(std::vector<std::string> arguments, const harness::NetworkNamespace* network);
    /// SIGTERM, then SIGKILL: what it had attached goes with it.
    ~DpdkProgram();
    DpdkProgram(const DpdkProgram&) = delete;
    DpdkProgram& operator=(const DpdkProgram&) = delete;

    /// Throws Failure, with the end of what it said, if it ends before it has said `text`, or says it too
    /// late.
    void wait_until_it_says(const std::string& text, std::chrono::seconds longest);
    /// Stops it where it is (bench/harness/freeze.h) and lets it go on.
    void freeze();
    void thaw();
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// The end of what it said so far.
    [[nodiscard]] std::string output() const;

    [[nodiscard]] bool ended();

  private:
    void read_output();

    std::vector<std::string> arguments_;
    pid_t pid_ = -1;
    harness::Descriptor terminal_;
    std::atomic<bool> closing_{false};
    mutable std::mutex mutex_;  ///< of said_
    std::string said_;
    std::thread reader_;
};

/// The words of a command line, to be shown.
std::string command_line(const std::vector<std::string>& arguments);

/// Of what a DPDK program said: the line that tells why it exits.
std::string last_complaint(const std::string& text);

}  // namespace pktpit::bench::dpdk
