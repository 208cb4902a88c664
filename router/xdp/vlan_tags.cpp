// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/vlan_tags.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace pktpit::router {
namespace {

/// ethtool's calls about one device.
class Ethtool {
  public:
    explicit Ethtool(const std::string& device) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        if (device.size() < sizeof request_.ifr_name)
            std::memcpy(request_.ifr_name, device.data(), device.size());
    }
    bool call(void* data) {
        request_.ifr_data = static_cast<char*>(data);
        return socket_ && ioctl(socket_.get(), SIOCETHTOOL, &request_) == 0;
    }

  private:
    Fd socket_;
    ifreq request_{};
};

std::string driver_of(Ethtool& device) {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (!device.call(&info)) return {};
    return {info.driver, strnlen(info.driver, sizeof info.driver)};
}

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
    if (driver_of(asked) == "veth") return VlanTags::apart_by_peer;
    return strips_tags(asked) ? VlanTags::stripped : VlanTags::in_frame;
}

std::string tags_warning(VlanTags tags, bool generic, bool asked) {
    if (tags == VlanTags::in_frame || (tags == VlanTags::apart_by_peer && asked)) return {};
    const std::string consequence = ": such a frame would be forwarded as if it had none; ";
    if (tags == VlanTags::stripped)
        return "the device strips VLAN tags of received frames and cannot be told not to (ethtool -K … "
               "rxvlan "
               "off), " +
               std::string(asked ? "and not every driver says what it stripped" : "and nobody says which") +
               consequence + "let it receive untagged frames alone";
    return std::string(generic ? "generic mode" : "this kernel") +
           " does not show VLAN tags that the far end of a veth pair keeps apart from frames, as VLAN "
           "devices "
           "and bridges there do" +
           consequence + (generic ? "use native mode, or turn" : "turn") + " txvlan off at the far end";
}

}  // namespace pktpit::router
