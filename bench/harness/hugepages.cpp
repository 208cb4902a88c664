#include "bench/harness/hugepages.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>

#include "bench/harness/failure.h"

namespace pktpit::bench {
namespace {

size_t read_number(const std::string& path) {
    size_t number = 0;
    std::ifstream(path) >> number;
    return number;
}

void write_number(const std::string& path, size_t number) {
    std::ofstream(path) << number << std::flush;
}

struct Answer {
    uint64_t added = 0;
    uint64_t enough = 0;
};

Answer grow(size_t needed, const std::string& directory) {
    const std::string total = directory + "/nr_hugepages";
    const std::string free = directory + "/free_hugepages";
    const size_t before = read_number(total);
    const size_t wanted = pages_to_add(needed, read_number(free));
    if (wanted == 0) return {0, 1};
    write_number(total, before + wanted);
    const size_t after = read_number(total);
    const size_t got = after > before ? after - before : 0;
    if (got >= wanted) return {got, 1};
    // The kernel gives as many as it finds: fewer are of no use.
    if (got > 0) write_number(total, pages_to_leave(after, got));
    return {0, 0};
}

/// The child: holds the pages until the parent's end of the pipe is closed.
[[noreturn]] void hold(size_t needed, const std::string& directory, int alive, int answer) {
    // Ctrl-C goes to the whole process group.
    setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT})
        signal(number, SIG_IGN);
    const Answer given = grow(needed, directory);
    const ssize_t sent = write(answer, &given, sizeof given);
    close(answer);
    // A pipeline that waits for our standard output must not wait for the child.
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        close(stream);
    char nothing = 0;
    if (sent == sizeof given)
        while (read(alive, &nothing, 1) < 0 && errno == EINTR) {
        }
    if (given.added > 0) {
        const std::string total = directory + "/nr_hugepages";
        write_number(total, pages_to_leave(read_number(total), given.added));
    }
    _exit(0);
}

}  // namespace

HugepageReservation::HugepageReservation(size_t bytes, const std::string& directory) {
    const size_t needed = (bytes + hugepage_bytes - 1) / hugepage_bytes;
    std::array<int, 2> alive{}, answer{};
    if (pipe2(alive.data(), O_CLOEXEC) != 0) fail_errno("make a pipe");
    if (pipe2(answer.data(), O_CLOEXEC) != 0) fail_errno("make a pipe");
    child_ = fork();
    if (child_ < 0) fail_errno("fork");
    if (child_ == 0) {
        close(alive[1]);
        close(answer[0]);
        hold(needed, directory, alive[0], answer[1]);
    }
    close(alive[0]);
    close(answer[1]);
    alive_ = alive[1];
    Answer given;
    if (read(answer[0], &given, sizeof given) == sizeof given) {
        enough_ = given.enough != 0;
        added_ = given.added;
    }
    close(answer[0]);
}

HugepageReservation::~HugepageReservation() {
    close(alive_);
    waitpid(child_, nullptr, 0);
}

}  // namespace pktpit::bench
