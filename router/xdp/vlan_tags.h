// SPDX-License-Identifier: BSD-3-Clause
/// Where VLAN tags of received frames are when an XDP program sees them: in the frame, or kept apart from it
/// by the device, where only a driver that is asked tells of them (bpf/metadata_tag.h).
///
/// Asked at each attachment, after stripping has been turned off where that can be done. A few calls of
/// ethtool.
#pragma once

#include <string>

namespace pktpit::router {

enum class VlanTags {
    in_frame,
    apart_by_peer,  ///< a veth pair: what the far end sends is as its stack made it
    apart_below,    ///< a device on others, which have taken the tag off: seen by no generic program
    stripped,       ///< a NIC that strips them and could not be told not to
};

VlanTags vlan_tags_of(const std::string& device);

/// Can a frame have a tag that the port's program does not see? `asked`: the program asks the driver for it.
bool may_be_hidden(VlanTags tags, bool generic, bool asked);

/// What is to be said of a port that may be handed tags apart; empty: nothing. `asked`: its program asks the
/// driver for them.
std::string tags_warning(VlanTags tags, bool generic, bool asked);

}  // namespace pktpit::router
