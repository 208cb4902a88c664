// SPDX-License-Identifier: BSD-3-Clause
#include "config/words.h"

namespace pktpit::config {

std::string to_string(GenericVlan vlan) {
    return vlan == GenericVlan::accept ? "accept" : "refuse";
}

std::string to_string(XdpMode mode) {
    switch (mode) {
        case XdpMode::native:
            return "native";
        case XdpMode::generic:
            return "generic";
        case XdpMode::automatic:
            break;
    }
    return "auto";
}

std::string to_string(Forwarding forwarding) {
    switch (forwarding) {
        case Forwarding::split:
            return "split";
        case Forwarding::automatic:
            return "auto";
        case Forwarding::inline_:
            break;
    }
    return "inline";
}

std::string to_string(PayloadPlace place) {
    return place == PayloadPlace::bounce ? "bounce" : "auto";
}

std::string to_string(Polling polling) {
    switch (polling) {
        case Polling::busy:
            return "busy";
        case Polling::interrupt:
            return "interrupt";
        case Polling::adaptive:
            break;
    }
    return "adaptive";
}

std::string to_string(OnDaemonLoss loss) {
    return loss == OnDaemonLoss::kernel ? "kernel" : "forward";
}

std::string to_string(DpdkMemory memory) {
    switch (memory) {
        case DpdkMemory::hugepages:
            return "hugepages";
        case DpdkMemory::pages:
            return "pages";
        case DpdkMemory::automatic:
            break;
    }
    return "auto";
}

std::string to_string(ModelTransfer transfer) {
    switch (transfer) {
        case ModelTransfer::read:
            return "read";
        case ModelTransfer::bounce:
            return "bounce";
        case ModelTransfer::write:
            break;
    }
    return "write";
}

std::string to_string(ElementType type) {
    return type == ElementType::bfp16 ? "bfp16" : "int32";
}

std::string to_string(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::pci_bar:
            return "pci_bar";
        case MemoryKind::nvme_cmb:
            return "nvme_cmb";
        case MemoryKind::vfio_region:
            return "vfio_region";
        case MemoryKind::p2pmem:
            return "p2pmem";
        case MemoryKind::hugepages:
            break;
    }
    return "hugepages";
}

std::string to_string(RouteType type) {
    switch (type) {
        case RouteType::blackhole:
            return "blackhole";
        case RouteType::unreachable:
            return "unreachable";
        case RouteType::prohibit:
            return "prohibit";
        case RouteType::unicast:
            break;
    }
    return "unicast";
}

std::string to_string(Rpf rpf) {
    if (rpf == Rpf::off) return "off";
    return rpf == Rpf::loose ? "loose" : "strict";
}

std::string vlan_protocol_name(uint16_t tpid) {
    return tpid == 0x88a8 ? "802.1ad" : "802.1Q";
}

std::string vrf_name(const std::string& vrf) {
    return vrf.empty() ? "default" : vrf;
}

std::string to_string(const NextHop& hop) {
    std::string out;
    if (hop.via) out += "via " + hop.via->to_string();
    if (hop.interface) out += (out.empty() ? "on " : " on ") + *hop.interface;
    if (hop.vrf) out += " in VRF " + vrf_name(*hop.vrf);
    if (hop.weight != 1) out += " weight " + std::to_string(hop.weight);
    return out;
}

std::string to_string(const std::vector<NextHop>& hops) {
    std::string out;
    for (const NextHop& hop : hops)
        out += (out.empty() ? "" : ", ") + to_string(hop);
    return out.empty() ? "no next hop" : out;
}

}  // namespace pktpit::config
