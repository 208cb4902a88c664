// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "base/json/nearest.h"
#include "base/json/pointer.h"
#include "config/dpdk_device.h"
#include "config/eal_options.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

// Other drivers may be loaded from elsewhere ("-d"), so these serve for hints alone.
const std::vector<std::string> well_known_drivers{
    "net_af_packet", "net_af_xdp", "net_bonding", "net_failsafe",    "net_memif", "net_null",
    "net_pcap",      "net_ring",   "net_tap",     "net_virtio_user", "net_vhost"};

/// Where each device is used, for what is used twice.
using Users = std::map<std::string, std::string>;

void check_twice(Users& users, const std::string& what, const std::string& where, Errors& errors) {
    const auto [other, is_new] = users.try_emplace(what, where);
    if (!is_new)
        errors.push_back({where, in_quotes(what) + " is used by " + other->second + " already",
                          "a device of its own", ""});
}

void check_device(const std::string& text, const std::string& where, const Draft& draft,
                  const InterfaceExists& exists, Users& users, Errors& errors) {
    const DpdkDevice device = DpdkDevice::parse(text);
    for (const auto& [key, value] : device.arguments)
        if (key.empty())
            errors.push_back({where, "an argument without a name in " + in_quotes(text),
                              "arguments as in \"net_af_packet,iface=veth0\"", ""});
    if (!device.pci && !device.name.starts_with("net_") && device.name.find(':') == std::string::npos) {
        errors.push_back({where, in_quotes(device.name) + " is no DPDK device",
                          "a PCI address as 0000:03:00.0, or a driver as net_af_packet with its arguments",
                          did_you_mean("net_" + device.name, well_known_drivers)});
        return;
    }
    // A driver's name alone is made one device's by the daemon; with a number it is the device's own.
    if (device.pci || device.driver() != device.name) check_twice(users, device.name, where, errors);
    const auto below = device.linux_device();
    const bool needs_below = device.driver() == "net_af_packet" || device.driver() == "net_af_xdp";
    if (needs_below && (!below || below->empty())) {
        errors.push_back({where, std::string(device.driver()) + " without \"iface\"",
                          "the Linux device that it takes its packets from",
                          in_quotes(std::string(device.driver()) + ",iface=eth0")});
        return;
    }
    if (!below) return;
    const std::string name(*below);
    check_twice(users, name, where, errors);
    if (draft.interface(name))
        errors.push_back({where, "the port " + in_quotes(name) + " has the name of the Linux device below",
                          "another name for one of the two: the port's tap takes the port's name",
                          "call the port \"lan\", \"wan\", …"});
    else if (exists && !exists(name))
        errors.push_back({where, "there is no interface " + in_quotes(name) + " on this machine",
                          "the name of a Linux device", "`ip -br link` lists them"});
}

void check_port(const PlacedInterface& port, const Draft& draft, const InterfaceExists& exists, Users& users,
                Errors& errors) {
    if (port.has_generic_vlan)
        errors.push_back({at(port.where, "generic_vlan"), "a port of the dpdk dataplane has no XDP program",
                          "\"generic_vlan\" with \"dataplane\": \"xdp\" only", ""});
    if (port.has_xdp_mode)
        errors.push_back({at(port.where, "xdp_mode"), "a port of the dpdk dataplane has no XDP program",
                          "\"xdp_mode\" with \"dataplane\": \"xdp\" only", ""});
    if (port.has_forwarding && port.value.forwarding == Forwarding::inline_)
        errors.push_back({at(port.where, "forwarding"), "a DPDK device decides nothing itself",
                          "\"split\", which is what it does without the key", ""});
    check_mtu_fits(port, draft.settings.dpdk.slot_bytes, "/dpdk", errors);
    if (port.value.device.empty()) {
        errors.push_back({port.where, "a port of the dpdk dataplane without \"device\"",
                          "its DPDK device, as in \"device\": \"net_af_packet,iface=eth0\"",
                          "docs/dpdk.md has one for each kind of device"});
        return;
    }
    check_device(port.value.device, at(port.where, "device"), draft, exists, users, errors);
}

}  // namespace

void check_dpdk(const Draft& draft, const InterfaceExists& exists, Errors& errors) {
    const bool dpdk = draft.settings.dataplane == "dpdk";
    const Dpdk& settings = draft.settings.dpdk;
    Users users;
    for (size_t i = 0; i < settings.devices.size(); i++)
        check_device(settings.devices[i], at("/dpdk/devices", i), draft, dpdk ? exists : nullptr, users,
                     errors);
    for (const PlacedInterface& one : draft.interfaces) {
        const bool vlan = one.value.parent || !one.value.vlan.empty();
        if (dpdk && !vlan)
            check_port(one, draft, exists, users, errors);
        else if (!one.value.device.empty())
            errors.push_back(
                {at(one.where, "device"),
                 vlan ? "a VLAN interface is no device" : "only ports of the dpdk dataplane are DPDK devices",
                 "\"device\" at ports of \"dataplane\": \"dpdk\" only", ""});
    }
    if (settings.payload_memory.kind == MemoryKind::vfio_region)
        errors.push_back({"/dpdk/payload_memory/kind", "\"vfio_region\" is not below DPDK's own VFIO",
                          "\"pci_bar\", \"nvme_cmb\", \"p2pmem\" or \"hugepages\"", ""});
    check_eal_options(settings.eal, "/dpdk/eal", errors);
    check_payload_memory(settings.payload_memory, draft.has_dpdk_memory_bar, "/dpdk/payload_memory", errors);
    check_ring_sizes(settings.rx_descriptors, settings.tx_descriptors, settings.slot_bytes, "/dpdk", errors);
}

}  // namespace pktpit::config
