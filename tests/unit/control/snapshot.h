// SPDX-License-Identifier: BSD-3-Clause
/// All that a refused reload must leave as it was, in words: kernel, dataplane, routing core, FIB image. Ids
/// that may differ (groups, adjacencies, interfaces) stand by what they mean. Each fact is one line.
#pragma once

#include <set>
#include <string>

#include "router/control/control_plane.h"
#include "tests/unit/control/fake_dataplane.h"
#include "tests/unit/control/fake_host.h"

namespace pktpit::router::fake {

using Snapshot = std::multiset<std::string>;

Snapshot snapshot_of(const Host& host);
Snapshot snapshot_of(const MemoryDataplane& dataplane);
Snapshot snapshot_of(ControlPlane& control, MemoryDataplane& dataplane);
/// Lines of only one of them: "- former", "+ latter". Empty: no difference.
std::string difference(const Snapshot& former, const Snapshot& latter);

}  // namespace pktpit::router::fake
