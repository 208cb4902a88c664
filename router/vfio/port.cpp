// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/port.h"

#include <sys/eventfd.h>

#include <algorithm>

namespace pktpit::router {
namespace {

constexpr uint32_t default_mtu = 1500;
constexpr uint32_t ethernet_header = 14;
constexpr uint32_t vlan_tags = 8;  // an interface may have two
constexpr uint32_t smallest_max_frame = 1522;

std::string list_of_drivers() {
    std::string list;
    for (const auto name : offload::supported_nics())
        list += (list.empty() ? "" : ", ") + std::string(name);
    return list;
}

}  // namespace

NicPort::NicPort(const config::Interface& interface, offload::PciAddress pci, Tap port_tap)
    : TapPort(interface.name, std::move(port_tap)), address(pci), mtu(interface.mtu.value_or(default_mtu)) {}

offload::NicLayout NicPort::layout(const config::Vfio& settings) const {
    offload::NicLayout layout;
    layout.rx_descriptors = settings.rx_descriptors;
    layout.tx_descriptors = settings.tx_descriptors;
    layout.header_bytes = header_bytes;
    layout.payload_bytes = settings.slot_bytes;
    layout.max_frame = std::max(mtu + ethernet_header + vlan_tags, smallest_max_frame);
    return layout;
}

Result<std::unique_ptr<NicPort>> NicPort::open(const config::Interface& interface,
                                               const offload::PciTree& tree,
                                               offload::VfioContainers& containers) {
    const std::string where = "/interfaces/" + interface.name + "/pci";
    const auto at_port = [&](Error error) {
        error.where = where + (error.where.empty() ? "" : " (" + error.where + ")");
        return tl::unexpected(std::move(error));
    };
    const auto address = offload::PciAddress::parse(interface.pci);
    if (!address) return at_port(address.error());
    const offload::PciFunction* function = tree.find(*address);
    if (!function)
        return fail(where, "there is no PCI device " + interface.pci, "a NIC of this machine",
                    "`pktpit doctor` lists the NICs");
    auto device = offload::VfioDevice::open(containers, *function);
    if (!device) return at_port(device.error());
    if (auto mapped = (*device)->map_registers(); !mapped) return at_port(mapped.error());
    auto nic = offload::make_nic(function->vendor, function->device, **device);
    if (!nic)
        return fail(where, interface.pci + " is a " + function->kind() + " (" + function->ids() + ")",
                    "a NIC that there is a driver for: " + list_of_drivers(), "");
    if (auto reset = nic->reset(); !reset) return at_port(reset.error());
    auto tap = Tap::create(interface.name, nic->mac());
    if (!tap) return tl::unexpected(tap.error());
    tap->set_carrier(false);

    std::unique_ptr<NicPort> port(new NicPort(interface, *address, std::move(*tap)));
    port->interrupt = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    port->removal = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    (*device)->on_removal_request(port->removal.get());
    port->device = std::move(*device);
    port->nic = std::move(nic);
    return port;
}

size_t NicPort::ring_bytes(const config::Vfio& settings) const {
    return nic->ring_bytes(layout(settings));
}

Result<void> NicPort::start(const config::Vfio& settings, config::Polling polling,
                            SlotMemory::Shared memory) {
    rings = std::move(memory);
    if (auto mastering = device->set_bus_master(true); !mastering) return mastering;
    if (polling != config::Polling::busy)
        if (auto set = device->set_interrupt(interrupt.get()); !set) return set;
    auto done = nic->start(layout(settings), {rings.mapping.bytes(), rings.iova}, false);
    started = done.has_value();
    if (!done) done.error().where = "/interfaces/" + name;
    return done;
}

Result<void> NicPort::start_in(const config::Vfio& settings, offload::DmaBuffer place) {
    if (auto mastering = device->set_bus_master(true); !mastering) return mastering;
    auto done = nic->start(layout(settings), place, false);
    started = done.has_value();
    if (!done) done.error().where = "/interfaces/" + name;
    return done;
}

void NicPort::stop(std::vector<offload::Slot>& left) {
    if (!std::exchange(started, false)) return;
    nic->set_interrupts(false);
    // One that does not come to rest is not to reach any memory any more.
    if (!nic->stop(left)) (void)device->set_bus_master(false);
}

}  // namespace pktpit::router
