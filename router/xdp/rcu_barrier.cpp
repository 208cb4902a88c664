// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/rcu_barrier.h"

#include <bpf/bpf.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

bool membarrier() {
    return syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0;
}

}  // namespace

Result<RcuBarrier> RcuBarrier::make() {
    return membarrier() ? RcuBarrier() : make_by_map();
}

Result<RcuBarrier> RcuBarrier::make_by_map() {
    RcuBarrier barrier;
    barrier.inner_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "pp_rcu_inner", 4, 4, 1, nullptr));
    if (barrier.inner_) {
        LIBBPF_OPTS(bpf_map_create_opts, options,
                    .inner_map_fd = static_cast<uint32_t>(barrier.inner_.get()));
        barrier.outer_ = Fd(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "pp_rcu", 4, 4, 1, &options));
    }
    if (barrier.outer_) return barrier;
    return fail("RCU",
                "no way to wait for running port stages: membarrier() is refused, and so is a map of maps: " +
                    errno_text(errno),
                "CAP_BPF, or a kernel without nohz_full");
}

// Neither fails once it has worked. If one did, time is what is left: no port stage runs for 100 ms.
void RcuBarrier::wait() const {
    const uint32_t key = 0;
    const int inner = inner_.get();
    const bool waited = outer_ ? bpf_map_update_elem(outer_.get(), &key, &inner, BPF_ANY) == 0 : membarrier();
    if (!waited) usleep(100'000);
}

}  // namespace pktpit::router
