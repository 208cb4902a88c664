// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/caretaker.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "bench/harness/failure.h"

namespace pktpit::bench::harness {
namespace {

[[noreturn]] void take_care(const std::function<int64_t()>& change, const std::function<void(int64_t)>& undo,
                            int alive, int answer) {
    // Ctrl-C goes to the whole process group.
    setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT})
        signal(number, SIG_IGN);
    const int64_t result = change();
    const ssize_t sent = write(answer, &result, sizeof result);
    close(answer);
    // A pipeline that waits for our standard output must not wait for the child.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        close(stream);
    char nothing = 0;
    if (sent == sizeof result)
        while (read(alive, &nothing, 1) < 0 && errno == EINTR) {
        }
    undo(result);
    _exit(0);
}

}  // namespace

Caretaker::Caretaker(const std::function<int64_t()>& change, const std::function<void(int64_t)>& undo) {
    std::array<int, 2> alive{}, answer{};
    if (pipe2(alive.data(), O_CLOEXEC) != 0) fail_errno("make a pipe");
    if (pipe2(answer.data(), O_CLOEXEC) != 0) fail_errno("make a pipe");
    child_ = fork();
    if (child_ < 0) fail_errno("fork");
    if (child_ == 0) {
        close(alive[1]);
        close(answer[0]);
        take_care(change, undo, alive[0], answer[1]);
    }
    close(alive[0]);
    close(answer[1]);
    alive_ = alive[1];
    const bool told = read(answer[0], &result_, sizeof result_) == sizeof result_;
    close(answer[0]);
    if (!told) result_ = 0;
}

Caretaker::~Caretaker() {
    close(alive_);
    waitpid(child_, nullptr, 0);
}

}  // namespace pktpit::bench::harness
