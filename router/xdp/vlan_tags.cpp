// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/vlan_tags.h"

#include <linux/ethtool.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include "router/xdp/ethtool.h"

namespace pktpit::router {
namespace {

/// What they hand on has lost its outer tag to metadata below them, or, of netkit, never had it elsewhere.
constexpr std::array<std::string_view, 9> stacked{"bonding", "bridge",      "hsr",    "ipvlan", "macvlan",
                                                  "macvtap", "openvswitch", "netkit", "team"};

/// A command, then `bytes` of room. Words, for their alignment.
std::vector<uint32_t> with_room(size_t head, size_t bytes) {
    return std::vector<uint32_t>((head + bytes + 3) / 4);
}

uint32_t count_of_features(Ethtool& device) {
    auto memory = with_room(sizeof(ethtool_sset_info), sizeof(uint32_t));
    auto* sets = reinterpret_cast<ethtool_sset_info*>(memory.data());
    sets->cmd = ETHTOOL_GSSET_INFO;
    sets->sset_mask = uint64_t{1} << ETH_SS_FEATURES;
    return device.call(sets) && sets->sset_mask != 0 ? sets->data[0] : 0;
}

/// Of 802.1Q or of 802.1ad tags.
bool strips_tags(Ethtool& device) {
    const uint32_t count = count_of_features(device);
    if (count == 0) return false;
    auto names_memory = with_room(sizeof(ethtool_gstrings), size_t{count} * ETH_GSTRING_LEN);
    auto* names = reinterpret_cast<ethtool_gstrings*>(names_memory.data());
    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = ETH_SS_FEATURES;
    names->len = count;
    const uint32_t blocks = (count + 31) / 32;
    auto blocks_memory = with_room(sizeof(ethtool_gfeatures), blocks * sizeof(ethtool_get_features_block));
    auto* features = reinterpret_cast<ethtool_gfeatures*>(blocks_memory.data());
    features->cmd = ETHTOOL_GFEATURES;
    features->size = blocks;
    if (!device.call(names) || !device.call(features)) return false;
    for (uint32_t i = 0; i < names->len && i < count; i++) {
        const auto* text = reinterpret_cast<const char*>(names->data) + size_t{i} * ETH_GSTRING_LEN;
        const std::string_view name(text, strnlen(text, ETH_GSTRING_LEN));
        if (name != "rx-vlan-hw-parse" && name != "rx-vlan-stag-hw-parse") continue;
        if ((features->features[i / 32].active >> i % 32 & 1) != 0) return true;
    }
    return false;
}

}  // namespace

VlanTags vlan_tags_of(const std::string& device) {
    Ethtool asked(device);
    const std::string driver = asked.driver();
    if (driver == "veth") return VlanTags::apart_by_peer;
    if (std::ranges::find(stacked, driver) != stacked.end()) return VlanTags::apart_below;
    return strips_tags(asked) ? VlanTags::stripped : VlanTags::in_frame;
}

bool may_be_hidden(VlanTags tags, bool generic, bool asked) {
    switch (tags) {
        case VlanTags::in_frame:
            return false;
        case VlanTags::apart_by_peer:
            return !asked;
        case VlanTags::apart_below:
            return generic;  // else its program runs on the devices below
        case VlanTags::stripped:
            break;
    }
    return true;
}

std::string tags_warning(VlanTags tags, bool generic, bool asked) {
    if (!may_be_hidden(tags, generic, asked)) return {};
    const std::string consequence = ": such a frame would be forwarded as if it had none; ";
    const std::string unseen =
        std::string(generic ? "generic mode" : "this kernel") + " does not show VLAN tags that ";
    if (tags == VlanTags::stripped)
        return "the device strips VLAN tags of received frames and cannot be told not to (ethtool -K … "
               "rxvlan off), " +
               std::string(asked ? "and not every driver says what it stripped" : "and nobody says which") +
               consequence + "let it receive untagged frames alone";
    if (tags == VlanTags::apart_below)
        return unseen + "the kernel has taken off frames below this device" + consequence +
               "make the device below the port, or a VLAN device on it";
    return unseen +
           "the far end of a veth pair keeps apart from frames, as VLAN devices and bridges there do" +
           consequence + (generic ? "use native mode, or turn" : "turn") + " txvlan off at the far end";
}

}  // namespace pktpit::router
