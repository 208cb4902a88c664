// SPDX-License-Identifier: BSD-3-Clause
/// A topology from what `lspci -vvv` printed, for machines of which nothing else is at hand. Its bytes are
/// not trusted; what it does not say (line rates) is assumed. Pure; any thread.
#pragma once

#include <string_view>

#include "offload/model/topology.h"

namespace pktpit::model {

/// As import_topology(). Errors: no device in it; no NIC or memory below a root port whose link is told, as
/// where lspci did not run as root.
Result<Topology> import_lspci(std::string_view text, double gbps);

}  // namespace pktpit::model
