// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eal.h"

#include <pthread.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <sched.h>
#include <unistd.h>

#include "router/dpdk/eal_log.h"

namespace pktpit::router {
namespace {

/// EAL pins the thread that starts it to its main lcore; this one has other work.
class KeepAffinity {
  public:
    KeepAffinity() : known_(pthread_getaffinity_np(pthread_self(), sizeof cpus_, &cpus_) == 0) {}
    ~KeepAffinity() {
        if (known_) pthread_setaffinity_np(pthread_self(), sizeof cpus_, &cpus_);
    }
    KeepAffinity(const KeepAffinity&) = delete;
    KeepAffinity& operator=(const KeepAffinity&) = delete;

  private:
    cpu_set_t cpus_{};
    bool known_;
};

}  // namespace

unsigned a_cpu_of_ours() {
    cpu_set_t cpus;
    if (pthread_getaffinity_np(pthread_self(), sizeof cpus, &cpus) == 0)
        for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
            if (CPU_ISSET(cpu, &cpus)) return cpu;
    return 0;
}

Result<std::unique_ptr<Eal>> Eal::start(const EalPlan& plan) {
    redirect_eal_log();
    const KeepAffinity keep;
    auto words = eal_arguments(plan);
    // EAL permutes and keeps the pointers, not the texts.
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (auto& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    std::unique_ptr<Eal> eal(new Eal(plan.prefix));
    const EalWords said;
    if (rte_eal_init(static_cast<int>(words.size()), arguments.data()) < 0)
        return tl::unexpected(
            said.error("/dpdk", "DPDK does not start", rte_errno,
                       plan.hugepages ? "an EAL that starts with these options, and enough free hugepages"
                                      : "an EAL that starts with these options"));
    return eal;
}

Eal::~Eal() {
    const EalWords said;
    rte_eal_cleanup();
    // EAL empties its directory and leaves it; without a started EAL it may not be there.
    (void)::rmdir(("/run/dpdk/" + prefix_).c_str());
}

}  // namespace pktpit::router
