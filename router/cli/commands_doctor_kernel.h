// SPDX-License-Identifier: BSD-3-Clause
/// What `pktpit doctor` says of the kernel and of ports' drivers for the xdp dataplane. Pure: who asks hands
/// in what was found out. One thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "config/config.h"
#include "offload/pci/finding.h"
#include "router/cli/terminal.h"
#include "router/xdp/driver_faults.h"
#include "router/xdp/kernel_support.h"

namespace pktpit::router::cli {

/// Missing needs, and fallbacks that are in force: those that `config` asks for, or without one those that
/// any does. What could not be asked is one note.
offload::Findings kernel_findings(const KernelSupport& support, const config::Config* config);
/// A table: a line for each part.
std::string kernel_text(const KernelSupport& support, const Terminal& terminal);
nlohmann::json kernel_json(const KernelSupport& support);

offload::Findings driver_findings(const std::string& port, const DriverState& state);

}  // namespace pktpit::router::cli
