// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/start_keeper.h"

#include <cap-ng.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <spawn.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/errno_text.h"
#include "router/daemon/system_calls.h"
#ifdef PKTPIT_VFIO
#include "router/vfio/keeper_process.h"
#endif

namespace pktpit::router {
namespace {

constexpr const char* own_name = "pktpit-keeper";
constexpr int own_socket = 3;

#ifdef PKTPIT_VFIO
// What the loop of KeeperProcess does, and what the C library needs for it.
constexpr const char* keepers_calls[] = {
    "poll",           "ppoll",           "recvmsg",       "recvfrom",   "sendmsg",
    "sendto",         "accept4",         "listen",        "close",      "read",
    "write",          "pread64",         "pwrite64",      "mmap",       "munmap",
    "mremap",         "mprotect",        "brk",           "madvise",    "futex",
    "getsockopt",     "setsockopt",      "access",        "faccessat",  "faccessat2",
    "nanosleep",      "clock_nanosleep", "clock_gettime", "geteuid",    "rt_sigreturn",
    "rt_sigprocmask", "restart_syscall", "exit",          "exit_group",
};

bool allow_few_system_calls() {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (!filter) return false;
    int error = 0;
    for (const char* name : keepers_calls) {
        const int number = seccomp_syscall_resolve_name(name);
        if (number != __NR_SCMP_ERROR && error == 0)
            error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
    }
    if (error == 0) error = seccomp_load(filter);
    seccomp_release(filter);
    return error == 0;
}

bool give_up_everything() {
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_apply(CAPNG_SELECT_CAPS) != 0) return false;
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    return system_calls_are_left_open() || allow_few_system_calls();
}
#endif

}  // namespace

KeeperLink start_keeper(const config::Config& config) {
    KeeperLink link;
    if (config.dataplane != "vfio" || !config.vfio.peer) return link;
    int ends[2] = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        spdlog::warn("no process can keep the devices: {}", errno_text(errno));
        return link;
    }
    Fd ours(ends[0]);
    const Fd its(ends[1]);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, its.get(), own_socket);
    char name[] = "pktpit-keeper";
    char* const arguments[] = {name, nullptr};
    pid_t process = -1;
    const int error = posix_spawn(&process, "/proc/self/exe", &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        spdlog::warn("no process can keep the devices: {}", errno_text(error));
        return link;
    }
    link.socket = std::move(ours);
    link.process = process;
    return link;
}

bool is_keeper(const char* called) {
    return called && std::string_view(called) == own_name;
}

int be_keeper() {
#ifdef PKTPIT_VFIO
    prctl(PR_SET_NAME, own_name);
    prctl(PR_SET_DUMPABLE, 0);
    setsid();  // what a terminal tells the daemon it does not tell its keeper
    if (chdir("/") != 0) return EXIT_FAILURE;
    int kind = 0;
    socklen_t size = sizeof kind;
    if (getsockopt(own_socket, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_SEQPACKET)
        return EXIT_FAILURE;
    fcntl(own_socket, F_SETFD, FD_CLOEXEC);
    close_range(own_socket + 1, ~0U, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    sigset_t heard;
    sigemptyset(&heard);
    sigaddset(&heard, SIGTERM);
    Fd signals(signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals || !give_up_everything()) return EXIT_FAILURE;
    KeeperProcess(Fd(own_socket), std::move(signals)).run();
    _exit(EXIT_SUCCESS);  // what ends a daemon's libraries may make other calls
#else
    return EXIT_FAILURE;
#endif
}

}  // namespace pktpit::router
