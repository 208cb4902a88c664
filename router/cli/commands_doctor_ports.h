// SPDX-License-Identifier: BSD-3-Clause
/// `pktpit doctor FILE` of a configuration whose ports are Linux devices (the `xdp` dataplane): what of this
/// machine stands in their way. Reads devices and switches, changes nothing, needs no daemon.
#pragma once

#include "config/config.h"
#include "router/cli/commands.h"

namespace pktpit::router::cli {

/// Exit status: 0 nothing was found, 1 slower or less sure than it could be, 2 a port cannot work like this.
int doctor_ports(const Session& session, const config::Config& config);

}  // namespace pktpit::router::cli
