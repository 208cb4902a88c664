// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/namespaces.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>

#include "bench/harness/failure.h"

namespace pktpit::bench::harness {
namespace {

Descriptor current_namespace() {
    Descriptor here(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (!here.valid()) fail_errno("open /proc/thread-self/ns/net");
    return here;
}

}  // namespace

NetworkNamespace::NetworkNamespace() {
    const Descriptor before = current_namespace();
    if (unshare(CLONE_NEWNET) != 0) fail_errno("create a network namespace (needs root)");
    descriptor_ = current_namespace();
    if (setns(before.get(), CLONE_NEWNET) != 0) fail_errno("return to the first network namespace");
}

InNamespace::InNamespace(const NetworkNamespace& target) : previous_(current_namespace()) {
    if (setns(target.descriptor(), CLONE_NEWNET) != 0) fail_errno("enter a network namespace");
}

InNamespace::~InNamespace() {
    setns(previous_.get(), CLONE_NEWNET);
}

void make_private_mounts() {
    if (unshare(CLONE_NEWNS) != 0) fail_errno("create a mount namespace (needs root)");
    if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail_errno("make mounts private");
    if (mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700") != 0) fail_errno("mount bpffs at /sys/fs/bpf");
    if (mount("run", "/run", "tmpfs", 0, "mode=0755") != 0) fail_errno("mount an empty /run");
}

}  // namespace pktpit::bench::harness
