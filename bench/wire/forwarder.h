/// A forwarder under measurement: what makes a topology's router namespace route. One object stays on one
/// topology for the whole run, so that measuring in turns needs no attaching and detaching.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/harness/topology.h"
#include "bench/harness/workload.h"

namespace pktpit::bench {

class Forwarder {
  public:
    virtual ~Forwarder() = default;
    [[nodiscard]] virtual std::string name() const = 0;
    /// What it is and how it was set up, one line for the report.
    [[nodiscard]] virtual std::string description() const = 0;
    /// Starts forwarding; routes of both families stay for the object's life.
    virtual void attach(const Topology& topology, const std::vector<const Workload*>& workloads) = 0;
};

/// Pktpit as users run it; `binary` is pktpitd.
std::unique_ptr<Forwarder> make_pktpit_forwarder(const std::string& binary);
/// The kernel's ip_forward.
std::unique_ptr<Forwarder> make_kernel_forwarder();
/// XDP with bpf_fib_lookup() on the kernel's table.
std::unique_ptr<Forwarder> make_fib_lookup_forwarder();
/// Pktpit's port stage without the daemon: its program, and a FIB image filled by the benchmark.
std::unique_ptr<Forwarder> make_port_stage_forwarder();
/// XDP with no lookup: the upper bound.
std::unique_ptr<Forwarder> make_fixed_redirect_forwarder();

}  // namespace pktpit::bench
