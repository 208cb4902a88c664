// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <map>

#include "base/json/pointer.h"
#include "config/meaning.h"
#include "config/words.h"

namespace pktpit::config {
namespace {

void check_port(const PlacedInterface& port, const Draft& draft,
                std::map<std::string, std::string>& by_address, Errors& errors) {
    const Interface& value = port.value;
    if (port.has_generic_vlan)
        errors.push_back({at(port.where, "generic_vlan"), "a port of the vfio dataplane has no XDP program",
                          "\"generic_vlan\" with \"dataplane\": \"xdp\" only", ""});
    if (port.has_xdp_mode)
        errors.push_back({at(port.where, "xdp_mode"), "a port of the vfio dataplane has no XDP program",
                          "\"xdp_mode\" with \"dataplane\": \"xdp\" only", ""});
    if (port.has_forwarding && value.forwarding != Forwarding::split)
        errors.push_back({at(port.where, "forwarding"), "a NIC of the vfio dataplane decides nothing itself",
                          "\"split\", which is what it does without the key", ""});
    if (value.pci.empty()) {
        errors.push_back({port.where, "a port of the vfio dataplane without \"pci\"",
                          "the PCI address of its NIC, as in \"pci\": \"0000:03:00.0\"",
                          "`pktpit doctor` lists the NICs"});
        return;
    }
    const auto [other, is_new] = by_address.try_emplace(value.pci, value.name);
    if (!is_new)
        errors.push_back({at(port.where, "pci"), value.pci + " is " + in_quotes(other->second) + " already",
                          "a NIC of its own", ""});
    if (value.pci == draft.settings.vfio.payload_memory.pci)
        errors.push_back({at(port.where, "pci"), value.pci + " is the payload memory's device",
                          "another device than /vfio/payload_memory/pci", ""});
    check_mtu_fits(port, draft.settings.vfio.slot_bytes, "/vfio", errors);
}

// The peer executes programs on rings, headers and payloads that all lie in its own memory.
void check_peer(const Draft& draft, Errors& errors) {
    const Vfio& settings = draft.settings.vfio;
    if (!settings.peer) return;
    if (!std::has_single_bit(settings.peer->queue_frames))
        errors.push_back({"/vfio/peer/queue_frames", "found " + std::to_string(settings.peer->queue_frames),
                          "a power of two from 16 to 4096",
                          "take " + std::to_string(std::bit_ceil(settings.peer->queue_frames))});
    const MemoryKind kind = settings.payload_memory.kind;
    if (kind == MemoryKind::hugepages || kind == MemoryKind::p2pmem)
        errors.push_back({"/vfio/payload_memory/kind",
                          in_quotes(to_string(kind)) + " is not the memory of a peer device",
                          "\"pci_bar\", \"nvme_cmb\" or \"vfio_region\" with \"peer\"", ""});
    size_t ports = 0;
    for (const PlacedInterface& one : draft.interfaces) {
        if (one.value.parent) continue;
        ports++;
        if (one.value.payload == PayloadPlace::bounce)
            errors.push_back({at(one.where, "payload"), "\"bounce\", beside /vfio/peer",
                              "\"auto\": a peer device forwards what lies in its own memory", ""});
    }
    if (ports > Peer::most_ports)
        errors.push_back({"/vfio/peer", std::to_string(ports) + " ports",
                          "at most " + std::to_string(Peer::most_ports) + " with a peer device", ""});
}

void check_no_vfio_keys(const PlacedInterface& one, const char* why, Errors& errors) {
    if (!one.value.pci.empty())
        errors.push_back({at(one.where, "pci"), why, "\"pci\" at ports of \"dataplane\": \"vfio\" only", ""});
    if (one.has_payload)
        errors.push_back(
            {at(one.where, "payload"), why, "\"payload\" at ports of \"dataplane\": \"vfio\" only", ""});
}

}  // namespace

void check_vfio(const Draft& draft, Errors& errors) {
    const bool vfio = draft.settings.dataplane == "vfio";
    std::map<std::string, std::string> by_address;
    for (const PlacedInterface& one : draft.interfaces) {
        if (one.value.parent || !one.value.vlan.empty())
            check_no_vfio_keys(one, "a VLAN interface is no NIC", errors);
        else if (!vfio)
            check_no_vfio_keys(one,
                               draft.settings.dataplane == "dpdk"
                                   ? "a port of the dpdk dataplane is known by its \"device\""
                               : draft.settings.dataplane == "model"
                                   ? "a modelled port is known by its \"nic_port\""
                                   : "a port of the xdp dataplane is a Linux device, not a NIC of our own",
                               errors);
        else
            check_port(one, draft, by_address, errors);
    }
    const Vfio& settings = draft.settings.vfio;
    check_payload_memory(settings.payload_memory, draft.has_memory_bar, "/vfio/payload_memory", errors);
    if (vfio) check_peer(draft, errors);
    check_ring_sizes(settings.rx_descriptors, settings.tx_descriptors, settings.slot_bytes, "/vfio", errors);
}

}  // namespace pktpit::config
