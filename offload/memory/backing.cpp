// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/backing.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"
#include "offload/memory/nvme_cmb.h"

namespace pktpit::offload {
namespace {

constexpr uint64_t page = 4096;

std::string directory_of(const std::string& sysfs, PciAddress device) {
    return sysfs + "/bus/pci/devices/" + device.to_string();
}

Result<Fd> open_for_mapping(const std::string& path) {
    Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!file)
        return fail(path, "cannot be opened: " + errno_text(errno), "a file that may be read and written",
                    "run as root");
    return file;
}

bool write_file(const std::string& path, std::string_view text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// The device, if nobody but us is to use it.
Result<const PciFunction*> free_device(const MemorySource& source, const PciTree& tree) {
    const PciFunction* function = tree.find(source.device);
    const std::string where = source.device.to_string();
    if (!function)
        return fail(where, "there is no such PCI device", "a device of this machine",
                    "`pktpit doctor` lists candidates");
    if (function->driver == "vfio-pci")
        return fail(where, "vfio-pci drives the device", "a device without driver",
                    "take \"kind\": \"vfio_region\"");
    if (!function->driver.empty() && source.kind != MemoryKind::p2pmem)
        return fail(where, "the kernel's driver " + function->driver + " uses the device",
                    "a device without driver",
                    "echo " + where + " > /sys/bus/pci/drivers/" + function->driver + "/unbind" +
                        (function->p2pmem ? ", or take \"kind\": \"p2pmem\"" : ""));
    return function;
}

Result<Undo> enable(const MemorySource& source, const std::string& sysfs) {
    const std::string path = directory_of(sysfs, source.device) + "/enable";
    if (!write_file(path, "1"))
        return fail(path, "the device cannot be enabled: " + errno_text(errno), "permission to write there",
                    "run as root");
    return Undo([path] { (void)write_file(path, "0"); });
}

Result<Backing> bar_backing(const MemorySource& source, const PciFunction& function, uint8_t index,
                            uint64_t offset, uint64_t bytes, const std::string& sysfs) {
    const std::string where = source.device.to_string();
    const PciBar* bar = function.bar(index);
    if (!bar || !bar->memory || bar->bytes == 0)
        return fail(where, "BAR " + std::to_string(index) + " is no memory BAR", "a memory BAR of the device",
                    "`pktpit doctor` lists candidates");
    if (bytes == 0) bytes = bar->bytes - std::min(bar->bytes, offset);
    if (offset > bar->bytes || bytes > bar->bytes - offset || bytes == 0)
        return fail(where,
                    std::to_string(bytes) + " bytes from " + std::to_string(offset) + " are not inside BAR " +
                        std::to_string(index),
                    "at most " + std::to_string(bar->bytes) + " bytes", "");
    if (offset % page != 0 || bytes % page != 0)
        return fail(where, "the memory does not begin and end at a page", "multiples of 4096", "");
    const std::string directory = directory_of(sysfs, source.device);
    auto file = open_for_mapping(directory + "/resource" + std::to_string(index));
    if (!file) return tl::unexpected(file.error());
    Backing backing;
    backing.file = std::move(*file);
    backing.offset = offset;
    backing.bytes = bytes;
    backing.bus_address = bar->start + offset;
    return backing;
}

uint64_t read64(std::span<std::byte> registers, uint32_t offset) {
    volatile const uint32_t* low = reinterpret_cast<uint32_t*>(registers.data() + offset);
    const uint64_t lower = low[0];
    return lower | static_cast<uint64_t>(low[1]) << 32;
}

uint32_t read32(std::span<std::byte> registers, uint32_t offset) {
    return *reinterpret_cast<volatile const uint32_t*>(registers.data() + offset);
}

void write64(std::span<std::byte> registers, uint32_t offset, uint64_t value) {
    volatile uint32_t* low = reinterpret_cast<uint32_t*>(registers.data() + offset);
    low[0] = static_cast<uint32_t>(value);
    low[1] = static_cast<uint32_t>(value >> 32);
}

Result<Backing> cmb_backing(const MemorySource& source, const PciFunction& function,
                            const std::string& sysfs) {
    const std::string where = source.device.to_string();
    if (!function.is_nvme())
        return fail(where, "the device is no NVMe controller (" + function.kind() + ")", "an NVMe controller",
                    "`pktpit doctor` lists candidates");
    auto registers_file = bar_backing(source, function, 0, 0, page, sysfs);
    if (!registers_file) return registers_file;
    auto registers = registers_file->map(where);
    if (!registers) return tl::unexpected(registers.error());
    // Since revision 1.4 the place is only told once it is asked for, and the buffer is told its own address.
    const bool on_request = read64(registers->bytes(), nvme_cap) & nvme_cap_cmbs;
    if (on_request) write64(registers->bytes(), nvme_cmbmsc, nvme_cmbmsc_cre);
    auto place = locate_cmb(read32(registers->bytes(), nvme_cmbloc), read32(registers->bytes(), nvme_cmbsz));
    if (!place) {
        place.error().where = where;
        return tl::unexpected(place.error());
    }
    const uint64_t bytes = source.bytes ? source.bytes : place->bytes;
    if (bytes > place->bytes)
        return fail(where, "the controller memory buffer has " + std::to_string(place->bytes >> 20) + " MiB",
                    "at least " + std::to_string(bytes >> 20) + " MiB", "a smaller size_mib");
    auto backing = bar_backing(source, function, place->bar, place->offset, bytes, sysfs);
    if (backing && on_request)
        write64(registers->bytes(), nvme_cmbmsc, *backing->bus_address | nvme_cmbmsc_cmse | nvme_cmbmsc_cre);
    return backing;
}

Result<Backing> p2pmem_backing(const MemorySource& source, const PciFunction& function,
                               const std::string& sysfs) {
    const std::string path = directory_of(sysfs, source.device) + "/p2pmem/allocate";
    if (!function.p2pmem || function.p2pmem->available == 0 || source.bytes > function.p2pmem->available)
        return fail(source.device.to_string(),
                    function.p2pmem
                        ? "p2pmem has " + std::to_string(function.p2pmem->available >> 20) + " MiB left"
                        : "the device publishes no p2pmem",
                    "a device with enough of it, and a kernel with CONFIG_PCI_P2PDMA",
                    "take \"kind\": \"pci_bar\" or \"nvme_cmb\" with the driver unbound");
    auto file = open_for_mapping(path);
    if (!file) return tl::unexpected(file.error());
    Backing backing;
    backing.file = std::move(*file);
    backing.bytes = source.bytes ? source.bytes : function.p2pmem->available;
    return backing;
}

}  // namespace

Result<CpuMapping> Backing::map(const std::string& what) const {
    return file ? CpuMapping::of_file(file.get(), offset, bytes, what) : CpuMapping::of_hugepages(bytes);
}

Result<Backing> open_backing(const MemorySource& source, const PciTree& tree, const std::string& sysfs) {
    if (source.kind == MemoryKind::hugepages) {
        Backing backing;
        backing.bytes = source.bytes;
        return backing;
    }
    auto function = free_device(source, tree);
    if (!function) return tl::unexpected(function.error());
    if (source.kind == MemoryKind::p2pmem) return p2pmem_backing(source, **function, sysfs);

    auto undo = enable(source, sysfs);
    if (!undo) return tl::unexpected(undo.error());
    auto backing = source.kind == MemoryKind::nvme_cmb
                       ? cmb_backing(source, **function, sysfs)
                       : bar_backing(source, **function, source.bar, 0, source.bytes, sysfs);
    if (backing) backing->undo = std::move(*undo);
    return backing;
}

}  // namespace pktpit::offload
