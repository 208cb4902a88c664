// SPDX-License-Identifier: BSD-3-Clause
/// Where readers find what guards interfaces and the host (bpf/guard_layout.h). One thread publishes it, any
/// thread reads; the block stays where it is as long as its dataplane. Values alone.
#pragma once

#include <atomic>

#include "bpf/guard_layout.h"

namespace pktpit::router {

/// Null: nothing is guarded.
using PublishedGuard = std::atomic<pp_guard*>;

/// How sources of packets are checked that come in by the interface: enum pp_rpf.
inline uint8_t rpf_of(const pp_guard& guard, uint16_t interface) {
    return __atomic_load_n(&guard.interfaces[interface].rpf, __ATOMIC_RELAXED);
}
/// The interface's bucket, 0: it is not policed.
inline uint16_t bucket_of(const pp_guard& guard, uint16_t interface) {
    return __atomic_load_n(&guard.interfaces[interface].bucket, __ATOMIC_RELAXED);
}

}  // namespace pktpit::router
