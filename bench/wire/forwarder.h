// SPDX-License-Identifier: BSD-3-Clause
/// A forwarder under measurement: what makes a topology's router namespace route. One object stays on one
/// topology for the whole run, so that measuring in turns needs no attaching and detaching. What would take a
/// core from the others meanwhile is stopped between its turns.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/harness/topology.h"
#include "bench/harness/workload.h"

namespace pktpit::bench::wire {

class Forwarder {
  public:
    virtual ~Forwarder() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    /// What it is and how it was set up, one line for the report.
    [[nodiscard]] virtual std::string description() const = 0;
    /// How its source was changed, as `diff -u` shows it, and how it was started; empty where neither says
    /// anything. The second is known once it is attached.
    [[nodiscard]] virtual std::string patch() const { return {}; }
    [[nodiscard]] virtual std::string command() const { return {}; }
    /// Starts forwarding; routes of both families stay for the object's life.
    virtual void attach(const harness::Topology& topology,
                        const std::vector<const harness::Workload*>& workloads) = 0;
    /// Whether it can be measured so. By default what runs in softirqs alone: there is no process whose core
    /// could be another.
    [[nodiscard]] virtual bool runs_on(harness::Cores cores) const {
        return cores != harness::Cores::free_receive;
    }
    [[nodiscard]] virtual harness::Arrival arrival(Family) const { return harness::Arrival::routed; }
    /// Its process, and what the threads that forward are called there; 0: it has none.
    [[nodiscard]] virtual std::pair<pid_t, std::string> process() const { return {0, {}}; }
    /// Around each of its turns.
    virtual void wake() {}
    virtual void rest() {}
};

/// Of two builds in one run, which: the one that is measured, or another for comparison (--before).
enum class Build { measured, before };
/// Pktpit as users run it; `binary` is pktpitd, `forwarding` the way: inline, split or auto.
std::unique_ptr<Forwarder> make_pktpit_forwarder(const std::string& binary, const std::string& forwarding,
                                                 Build build = Build::measured);
/// The same, inline, with a group of the aggregation service, which nobody joins.
std::unique_ptr<Forwarder> make_pktpit_aggregation_forwarder(const std::string& binary);
/// The same daemon on its dpdk dataplane, on a virtual device of that driver.
std::unique_ptr<Forwarder> make_pktpit_dpdk_forwarder(const std::string& binary, const std::string& driver,
                                                      unsigned busy_budget, Build build = Build::measured);
/// The kernel's ip_forward.
std::unique_ptr<Forwarder> make_kernel_forwarder();
/// XDP with bpf_fib_lookup() on the kernel's table.
std::unique_ptr<Forwarder> make_fib_lookup_forwarder();
/// XDP with eBPF's longest-prefix map.
std::unique_ptr<Forwarder> make_lpm_trie_forwarder();
/// Pktpit's port stage without the daemon: its program, and a FIB image filled by the benchmark.
std::unique_ptr<Forwarder> make_port_stage_forwarder();
/// XDP with no lookup: the upper bound.
std::unique_ptr<Forwarder> make_fixed_redirect_forwarder();

}  // namespace pktpit::bench::wire
