// SPDX-License-Identifier: BSD-3-Clause
/// Network namespaces without names: held by a descriptor alone, so that they and the devices in them vanish
/// with the process however it ends. Needs CAP_SYS_ADMIN. Never touches the namespace that the process
/// started in.
#pragma once

#include "bench/harness/descriptor.h"

namespace pktpit::bench::harness {

class NetworkNamespace {
  public:
    /// A new, empty namespace; its loopback is down. The calling thread stays where it was.
    NetworkNamespace();
    [[nodiscard]] int descriptor() const { return descriptor_.get(); }

  private:
    Descriptor descriptor_;
};

/// The calling thread is in the namespace as long as this lives. Nests.
class InNamespace {
  public:
    explicit InNamespace(const NetworkNamespace& target);
    ~InNamespace();
    InNamespace(const InNamespace&) = delete;
    InNamespace& operator=(const InNamespace&) = delete;

  private:
    Descriptor previous_;
};

/// Gives the process a mount namespace of its own with an empty bpffs at /sys/fs/bpf, so that what a daemon
/// pins during the benchmark neither meets nor outlives anything on this machine. Once, before any thread is
/// started.
void make_private_mounts();

}  // namespace pktpit::bench::harness
