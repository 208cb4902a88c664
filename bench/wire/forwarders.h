// SPDX-License-Identifier: BSD-3-Clause
/// Every forwarder by its name on command lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/wire/forwarder.h"

namespace pktpit::bench::wire {

struct ForwarderSettings {
    std::string pktpitd;
    std::string before;        ///< another build's pktpitd; empty: none
    unsigned busy_budget = 0;  ///< of net_af_xdp
};

std::vector<std::string> forwarder_names();
/// Throws Failure if there is none of that name, or it cannot be built.
std::unique_ptr<Forwarder> make_forwarder(const std::string& name, const ForwarderSettings& settings);
/// Bytes of huge pages that they take together.
size_t hugepages_needed(const std::vector<std::string>& names);

}  // namespace pktpit::bench::wire
