// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/freeze.h"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>

#include "bench/harness/failure.h"

namespace pktpit::bench::harness {

void freeze_process(pid_t child) {
    if (kill(child, SIGSTOP) != 0) fail_errno("SIGSTOP to a forwarder");
    siginfo_t state{};
    while (waitid(P_PID, static_cast<id_t>(child), &state, WSTOPPED | WEXITED | WNOWAIT) != 0)
        if (errno != EINTR) fail_errno("wait until a forwarder stands still");
}

void thaw_process(pid_t child) {
    if (kill(child, SIGCONT) != 0) fail_errno("SIGCONT to a forwarder");
}

}  // namespace pktpit::bench::harness
