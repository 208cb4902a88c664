// SPDX-License-Identifier: BSD-3-Clause
/// What the kernel says of a PCI function that goes away: the text of its event (uevent). Pure; any thread.
/// The bytes are not trusted.
#pragma once

#include <optional>
#include <span>

#include "offload/pci/address.h"

namespace pktpit::offload {

/// The PCI function that an event says is gone; nothing for all other events, and for what is none.
/// `message`: as from NETLINK_KOBJECT_UEVENT, "remove@/devices/…" and then NUL-terminated KEY=value strings,
/// SUBSYSTEM among them.
std::optional<PciAddress> removed_function(std::span<const char> message);

}  // namespace pktpit::offload
