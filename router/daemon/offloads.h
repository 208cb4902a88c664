/// Offloads of a device that would hide from XDP what is on the wire. One thread.
#pragma once

#include <optional>
#include <string>

namespace pktpit::router {

/// Receive VLAN offload takes tags off frames before an XDP program sees them, which would make every VLAN
/// look like the untagged one. Returns what it was before; nothing where the device has no such switch.
std::optional<bool> set_receive_vlan_offload(const std::string& device, bool on);

}  // namespace pktpit::router
