// SPDX-License-Identifier: BSD-3-Clause
/// From a topology and a profile to a fabric that runs. One thread.
#pragma once

#include <memory>

#include "offload/model/fabric.h"
#include "offload/model/nic.h"
#include "offload/model/profile.h"
#include "offload/model/topology.h"

namespace pktpit::model {

struct BuildOptions {
    double write_load = 0;  ///< of main memory by the CPU, 0 to 1
    double read_load = 0;
    uint64_t memory_bytes = 64 << 20;
    uint64_t nic_fib_bytes = 0;  ///< room for a FIB image in each NIC
};

/// Everything that the topology has; NICs without programs.
struct Machine {
    std::unique_ptr<Fabric> fabric;
    std::vector<Endpoint*> nic_endpoints;
    std::vector<NicSettings> nic_settings;
    NicLayout layout;
    std::vector<Endpoint*> memories;
};

Machine build_machine(const Topology& topology, const Profile& profile, const BuildOptions& options = {});

/// How completers cut: the topology's word, else the profile's; the same for all of a machine.
CompletionCut completion_cut(const Topology& topology, const Profile& profile);
LinkSettings link_settings(const Topology& topology, const Profile& profile, const offload::PcieLink& link,
                           bool cxl = false);
RootSettings root_settings(const Topology& topology, const Profile& profile, const BuildOptions& options);
EndpointSettings endpoint_settings(const Topology& topology, const Profile& profile);

}  // namespace pktpit::model
