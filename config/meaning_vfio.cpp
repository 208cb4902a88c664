#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "config/meaning.h"
#include "config/pointer.h"
#include "config/words.h"

namespace pktpit::config {
namespace {

constexpr uint32_t default_mtu = 1500;

// A payload is at most what is left of a packet behind a bare IP header; so any packet of the MTU fits.
void check_mtu(const PlacedInterface& port, uint32_t slot_bytes, Errors& errors) {
    const uint32_t mtu = port.value.mtu.value_or(default_mtu);
    if (mtu <= slot_bytes) return;
    errors.push_back({port.value.mtu ? at(port.where, "mtu") : port.where,
                      "MTU " + std::to_string(mtu) + (port.value.mtu ? "" : " (the default)") +
                          " does not fit into slots of " + std::to_string(slot_bytes) + " bytes",
                      "an MTU of at most " + std::to_string(slot_bytes),
                      "raise /vfio/slot_bytes, or lower \"mtu\""});
}

void check_port(const PlacedInterface& port, const Draft& draft,
                std::map<std::string, std::string>& by_address, Errors& errors) {
    const Interface& value = port.value;
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
    check_mtu(port, draft.settings.vfio.slot_bytes, errors);
}

void check_no_vfio_keys(const PlacedInterface& one, const char* why, Errors& errors) {
    if (!one.value.pci.empty())
        errors.push_back({at(one.where, "pci"), why, "\"pci\" at ports of \"dataplane\": \"vfio\" only", ""});
    if (one.has_payload)
        errors.push_back(
            {at(one.where, "payload"), why, "\"payload\" at ports of \"dataplane\": \"vfio\" only", ""});
}

void check_payload_memory(const Draft& draft, Errors& errors) {
    const PayloadMemory& memory = draft.settings.vfio.payload_memory;
    const std::string where = "/vfio/payload_memory";
    const bool on_device = memory.kind != MemoryKind::hugepages;
    const bool has_bar = memory.kind == MemoryKind::pci_bar || memory.kind == MemoryKind::vfio_region;
    const std::string kind = in_quotes(to_string(memory.kind));
    if (on_device && memory.pci.empty())
        errors.push_back({where, kind + " without \"pci\"",
                          "the PCI address of the device that has the memory",
                          "`pktpit doctor` lists candidates"});
    if (!on_device && !memory.pci.empty())
        errors.push_back({where + "/pci", kind + " are no device's", "no \"pci\"", ""});
    if (has_bar && !draft.has_memory_bar)
        errors.push_back({where, kind + " without \"bar\"", "the number of the BAR, as in \"bar\": 2",
                          "`pktpit doctor` lists candidates"});
    if (!has_bar && draft.has_memory_bar)
        errors.push_back(
            {where + "/bar", kind + " takes no BAR: it is known where it lies", "no \"bar\"", ""});
}

void check_sizes(const Vfio& vfio, Errors& errors) {
    for (const auto& [key, count] :
         {std::pair{"rx_descriptors", vfio.rx_descriptors}, std::pair{"tx_descriptors", vfio.tx_descriptors}})
        if (!std::has_single_bit(count))
            errors.push_back({std::string("/vfio/") + key, "found " + std::to_string(count),
                              "a power of two from 64 to 4096",
                              "take " + std::to_string(std::min(std::bit_ceil(count), 4096U))});
    if (vfio.slot_bytes % 1024 != 0)
        errors.push_back({"/vfio/slot_bytes", "found " + std::to_string(vfio.slot_bytes),
                          "a multiple of 1024 from 1024 to 15360",
                          "take " + std::to_string((vfio.slot_bytes + 1023) / 1024 * 1024)});
}

}  // namespace

void check_vfio(const Draft& draft, Errors& errors) {
    const bool vfio = draft.settings.dataplane == "vfio";
    std::map<std::string, std::string> by_address;
    for (const PlacedInterface& one : draft.interfaces) {
        if (one.value.parent || !one.value.vlan.empty())
            check_no_vfio_keys(one, "a VLAN interface is no NIC", errors);
        else if (!vfio)
            check_no_vfio_keys(one, "a port of the xdp dataplane is a Linux device, not a NIC of our own",
                               errors);
        else
            check_port(one, draft, by_address, errors);
    }
    check_payload_memory(draft, errors);
    check_sizes(draft.settings.vfio, errors);
}

}  // namespace pktpit::config
