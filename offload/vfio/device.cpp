// SPDX-License-Identifier: BSD-3-Clause
#include "offload/vfio/device.h"

#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"

namespace pktpit::offload {
namespace {

constexpr uint32_t gone = 0xffffffff;

}  // namespace

Result<std::unique_ptr<VfioDevice>> VfioDevice::open(VfioContainers& containers,
                                                     const PciFunction& function) {
    const std::string where = function.address.to_string();
    if (!function.iommu_group)
        return fail(where, "the device is in no IOMMU group", "an IOMMU that is on",
                    "`pktpit doctor` says how this machine's is switched on");
    auto hold = containers.take(function, *function.iommu_group);
    if (!hold) return tl::unexpected(hold.error());
    auto device = hold->container->open_device(where);
    if (!device) {
        containers.give_back(std::move(*hold));
        return tl::unexpected(device.error());
    }
    return std::unique_ptr<VfioDevice>(
        new VfioDevice(function.address, containers, std::move(*hold), std::move(*device)));
}

VfioDevice::~VfioDevice() {
    if (left_)
        hold_.binding.leave();
    else
        (void)set_bus_master(false);
    registers_ = {};
    device_ = {};  // the kernel ends DMA and resets
    containers_.give_back(std::move(hold_));
}

Result<void> VfioDevice::map_registers() {
    auto bar = region(VFIO_PCI_BAR0_REGION_INDEX);
    if (!bar) return tl::unexpected(bar.error());
    if (!bar->mappable || bar->bytes == 0)
        return fail(address_.to_string(), "BAR 0 cannot be mapped", "a NIC with its registers in BAR 0", "");
    auto mapping = CpuMapping::of_file(device_.get(), bar->offset, bar->bytes, address_.to_string());
    if (!mapping) return tl::unexpected(mapping.error());
    registers_ = std::move(*mapping);
    return enable_memory();
}

uint32_t VfioDevice::read(uint32_t offset) {
    if (offset > registers_.bytes().size() - sizeof(uint32_t)) return gone;
    return *reinterpret_cast<volatile const uint32_t*>(registers_.bytes().data() + offset);
}

void VfioDevice::write(uint32_t offset, uint32_t value) {
    if (offset > registers_.bytes().size() - sizeof(uint32_t)) return;
    *reinterpret_cast<volatile uint32_t*>(registers_.bytes().data() + offset) = value;
}

Result<VfioDevice::Region> VfioDevice::region(uint32_t index) const {
    vfio_region_info info{};
    info.argsz = sizeof info;
    info.index = index;
    if (ioctl(device_.get(), VFIO_DEVICE_GET_REGION_INFO, &info) != 0)
        return fail(address_.to_string(), "region " + std::to_string(index) + ": " + errno_text(errno),
                    "a region of the device", "");
    return Region{info.offset, info.size, (info.flags & VFIO_REGION_INFO_FLAG_MMAP) != 0};
}

Result<uint64_t> VfioDevice::config_space() const {
    auto config = region(VFIO_PCI_CONFIG_REGION_INDEX);
    if (!config) return tl::unexpected(config.error());
    return config->offset;
}

Result<uint16_t> VfioDevice::command() const {
    auto config = region(VFIO_PCI_CONFIG_REGION_INDEX);
    if (!config) return tl::unexpected(config.error());
    uint16_t value = 0;
    if (pread(device_.get(), &value, sizeof value, static_cast<off_t>(config->offset + PCI_COMMAND)) !=
        sizeof value)
        return fail(address_.to_string(), "its configuration space cannot be read: " + errno_text(errno), "",
                    "");
    return value;
}

Result<void> VfioDevice::change_command(uint16_t set, uint16_t clear) {
    auto config = region(VFIO_PCI_CONFIG_REGION_INDEX);
    if (!config) return tl::unexpected(config.error());
    auto before = command();
    if (!before) return tl::unexpected(before.error());
    const auto value = static_cast<uint16_t>((*before | set) & ~clear);
    if (pwrite(device_.get(), &value, sizeof value, static_cast<off_t>(config->offset + PCI_COMMAND)) !=
        sizeof value)
        return fail(address_.to_string(), "its configuration space cannot be written: " + errno_text(errno),
                    "", "");
    return {};
}

Result<void> VfioDevice::set_bus_master(bool on) {
    return on ? change_command(PCI_COMMAND_MASTER, 0) : change_command(0, PCI_COMMAND_MASTER);
}

Result<void> VfioDevice::enable_memory() {
    return change_command(PCI_COMMAND_MEMORY, 0);
}

bool VfioDevice::set_irq(uint32_t index, int eventfd) {
    alignas(vfio_irq_set) char buffer[sizeof(vfio_irq_set) + sizeof(int)]{};
    auto* request = reinterpret_cast<vfio_irq_set*>(buffer);
    request->index = index;
    request->start = 0;
    if (eventfd < 0) {
        request->argsz = sizeof(vfio_irq_set);
        request->flags = VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER;
        request->count = 0;
    } else {
        request->argsz = sizeof buffer;
        request->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
        request->count = 1;
        std::memcpy(request->data, &eventfd, sizeof eventfd);
    }
    return ioctl(device_.get(), VFIO_DEVICE_SET_IRQS, request) == 0;
}

Result<void> VfioDevice::set_interrupt(int eventfd) {
    if (set_irq(VFIO_PCI_MSI_IRQ_INDEX, eventfd)) return {};
    return fail(address_.to_string(), "its interrupt cannot be had: " + errno_text(errno),
                "a device with MSI", "\"polling\": \"busy\" does without");
}

void VfioDevice::on_removal_request(int eventfd) {
    (void)set_irq(VFIO_PCI_REQ_IRQ_INDEX, eventfd);  // only newer kernels have it
}

}  // namespace pktpit::offload
