// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/system_calls.h"

#include <linux/if_xdp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <memory>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

// By what they are for. Found with the handler below and with strace, over the end-to-end tests on every
// dataplane; what glibc and libstdc++ may choose in place of another is there, too.
constexpr const char* allowed[] = {
    // files: configuration, routes, state, pins, sysfs and procfs; pcap files of modelled wires
    "open",
    "openat",
    "openat2",
    "close",
    "close_range",
    "read",
    "pread64",
    "readv",
    "preadv",
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "lseek",
    "stat",
    "fstat",
    "lstat",
    "newfstatat",
    "statx",
    "statfs",
    "fstatfs",
    "access",
    "faccessat",
    "faccessat2",
    "getdents",
    "getdents64",
    "readlink",
    "readlinkat",
    "getcwd",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "mkdir",
    "mkdirat",
    "rmdir",
    "chmod",
    "fchmod",
    "fchmodat",
    "chown",
    "fchown",
    "lchown",
    "fchownat",
    "umask",
    "flock",
    "fcntl",
    "ftruncate",
    "fallocate",
    "fsync",
    "fdatasync",
    "utimensat",
    "dup",
    "dup2",
    "dup3",
    "pipe",
    "pipe2",
    "ioctl",
    "fadvise64",
    // memory
    "brk",
    "mmap",
    "munmap",
    "mremap",
    "mprotect",
    "madvise",
    "mlock",
    "mlock2",
    "mlockall",
    "munlock",
    "munlockall",
    "msync",
    "mincore",
    "memfd_create",
    "mbind",
    "get_mempolicy",
    "set_mempolicy",
    "move_pages",

    // threads and time
    "futex",
    "set_robust_list",
    "get_robust_list",
    "rseq",
    "gettid",
    "getpid",
    "getppid",
    "tgkill",
    "wait4",  // for the keeper that main has started
    "exit",
    "exit_group",
    "sched_yield",
    "sched_getaffinity",
    "sched_setaffinity",
    "sched_getparam",
    "sched_setparam",
    "sched_getscheduler",
    "sched_setscheduler",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "membarrier",
    "set_tid_address",
    "arch_prctl",
    "prctl",
    "getcpu",
    "getrusage",
    "prlimit64",
    "getrlimit",
    "clock_gettime",
    "clock_getres",
    "clock_nanosleep",
    "nanosleep",
    "gettimeofday",
    "time",
    "times",
    "getrandom",
    "uname",
    "sysinfo",
    // signals
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigpending",
    "rt_sigtimedwait",
    "rt_sigsuspend",
    "sigaltstack",
    "signalfd",
    "signalfd4",
    "restart_syscall",
    // waiting
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "poll",
    "ppoll",
    "select",
    "pselect6",
    "eventfd",
    "eventfd2",
    "timerfd_create",
    "timerfd_settime",
    "timerfd_gettime",
    "inotify_init1",
    "inotify_add_watch",
    "inotify_rm_watch",
    // sockets: their families below
    "bind",
    "listen",
    "accept",
    "accept4",
    "connect",
    "shutdown",
    "getsockname",
    "getpeername",
    "getsockopt",
    "setsockopt",
    "send",
    "sendto",
    "sendmsg",
    "sendmmsg",
    "recv",
    "recvfrom",
    "recvmsg",
    "recvmmsg",
    // the data path
    "bpf",
    // who it is
    "getuid",
    "geteuid",
    "getgid",
    "getegid",
    "getresuid",
    "getresgid",
    "getgroups",
    "capget",
    "getpgrp",
    "getpgid",
    "getsid",
};

constexpr int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_XDP};

constexpr uint64_t new_namespaces =
    CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr int by_a_filter = 1;  // SYS_SECCOMP, which <signal.h> leaves out
constexpr size_t numbers = 512;
std::array<std::atomic<bool>, numbers> told_of;

/// Decimal or hexadecimal, without what a signal handler may not call.
char* put(char* to, uint64_t value, unsigned base) {
    char digits[20];
    int count = 0;
    do
        digits[count++] = "0123456789abcdef"[value % base];
    while (value /= base);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

char* put(char* to, const char* text) {
    while (*text)
        *to++ = *text++;
    return to;
}

/// The call has not been made: it returns EPERM.
void refuse_call(int, siginfo_t* info, void* context) {
    const int before = errno;
    if (info->si_code == by_a_filter) {
        auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
        registers.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
        registers.regs[0] = static_cast<uint64_t>(-EPERM);
#else
#error "which register has a system call's result here?"
#endif
        const auto number = static_cast<size_t>(info->si_syscall);
        if (number >= numbers || !told_of[number].exchange(true)) {
            char line[200];
            char* end = put(line, "<3>pktpitd: system call ");  // <3>: an error, for the journal
            end = put(end, number, 10);
            end = put(end, " is not on the allow-list and was refused, at 0x");
            end = put(end, reinterpret_cast<uintptr_t>(info->si_call_addr), 16);
            end = put(end, "; please report it; \"seccomp\": false turns the list off\n");
            [[maybe_unused]] const auto written = write(STDERR_FILENO, line, static_cast<size_t>(end - line));
        }
    }
    errno = before;
}

struct Release {
    void operator()(void* filter) const { seccomp_release(filter); }
};
using Filter = std::unique_ptr<void, Release>;

tl::unexpected<Error> failed(const char* what, int error) {
    return fail("/seccomp", std::string("cannot ") + what + ": " + errno_text(-error),
                "a kernel with seccomp filters", "\"seccomp\": false does without");
}

int add_rules(scmp_filter_ctx filter) {
    int error = 0;
    for (const char* name : allowed) {
        const int number = seccomp_syscall_resolve_name(name);
        // Another architecture need not have it.
        if (number != __NR_SCMP_ERROR && error == 0)
            error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 0);
    }
    for (const int family : families)
        for (const int call : {SCMP_SYS(socket), SCMP_SYS(socketpair)})
            if (error == 0)
                error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
                                         SCMP_A0(SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)));
    // Threads, but no namespaces. clone3's arguments lie in memory, where a filter cannot look: glibc takes
    // clone then.
    if (error == 0)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                 SCMP_A0(SCMP_CMP_MASKED_EQ, new_namespaces, 0));
    if (error == 0) error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    // DPDK's EAL asks for I/O ports, which no driver here uses, and goes on without.
    if (error == 0) error = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(iopl), 0);
    return error;
}

}  // namespace

bool system_calls_are_left_open() {
#ifdef PKTPIT_SANITIZED
    return true;
#else
    return false;
#endif
}

Result<void> allow_known_system_calls() {
    struct sigaction action {};
    action.sa_sigaction = refuse_call;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSYS, &action, nullptr) != 0) return failed("handle SIGSYS", -errno);
    const Filter filter(seccomp_init(SCMP_ACT_TRAP));
    if (!filter) return failed("make a filter", -ENOMEM);
    if (const int error = add_rules(filter.get()); error != 0) return failed("make the filter", error);
    // Faster than one comparison a call: the daemon makes hundreds of thousands a second.
    (void)seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (const int error = seccomp_load(filter.get()); error != 0) return failed("load the filter", error);
    return {};
}

}  // namespace pktpit::router
