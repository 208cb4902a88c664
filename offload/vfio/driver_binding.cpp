// SPDX-License-Identifier: BSD-3-Clause
#include "offload/vfio/driver_binding.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <utility>

#include "base/errno_text.h"

namespace pktpit::offload {
namespace {

namespace fs = std::filesystem;

bool write_file(const std::string& path, const std::string& text) {
    errno = 0;
    std::ofstream file(path);
    file << text << std::flush;
    return file.good();
}

std::string read_word(const std::string& path) {
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

std::string driver_of(const std::string& device) {
    std::error_code error;
    const fs::path link = fs::read_symlink(device + "/driver", error);
    return error ? "" : link.filename().string();
}

constexpr unsigned flag_up = 1;  // IFF_UP

/// A network interface of the device that somebody has set up.
std::string interface_in_use(const PciFunction& function, const std::string& sysfs) {
    for (const std::string& name : function.interfaces) {
        const std::string flags =
            read_word(std::string(sysfs).append("/class/net/").append(name).append("/flags"));
        if (std::strtoul(flags.c_str(), nullptr, 16) & flag_up) return name;
    }
    return "";
}

}  // namespace

Result<DriverBinding> DriverBinding::to_vfio(const PciFunction& function, const std::string& sysfs) {
    DriverBinding binding;
    const std::string address = function.address.to_string();
    const std::string device = sysfs + "/bus/pci/devices/" + address;
    const std::string before = driver_of(device);
    if (before == "vfio-pci") return binding;
    if (const std::string name = interface_in_use(function, sysfs); !name.empty())
        return fail(address, "its interface " + name + " is up, so it is in use",
                    "a NIC that nobody else uses", "ip link set " + name + " down");
    if (!fs::exists(sysfs + "/bus/pci/drivers/vfio-pci"))
        return fail(address, "the kernel has no vfio-pci", "the driver vfio-pci", "modprobe vfio-pci");
    if (!write_file(device + "/driver_override", "vfio-pci"))
        return fail(address, "driver_override cannot be written: " + errno_text(errno), "", "run as root");
    binding.device_ = device;
    binding.address_ = address;
    binding.sysfs_ = sysfs;
    if (!before.empty() && !write_file(device + "/driver/unbind", address))
        return fail(address, "the driver " + before + " does not let go of it: " + errno_text(errno), "", "");
    (void)write_file(sysfs + "/bus/pci/drivers_probe", address);
    if (driver_of(device) != "vfio-pci")
        return fail(address, "vfio-pci does not take the device", "an IOMMU group, and a device at rest",
                    "`pktpit doctor` says how an IOMMU is switched on; dmesg says more");
    return binding;
}

DriverBinding::~DriverBinding() {
    if (device_.empty()) return;
    if (driver_of(device_) == "vfio-pci") (void)write_file(device_ + "/driver/unbind", address_);
    (void)write_file(device_ + "/driver_override", "\n");
    (void)write_file(sysfs_ + "/bus/pci/drivers_probe", address_);
}

DriverBinding::DriverBinding(DriverBinding&& other) noexcept
    : device_(std::exchange(other.device_, {})),
      address_(std::move(other.address_)),
      sysfs_(std::move(other.sysfs_)) {}

DriverBinding& DriverBinding::operator=(DriverBinding&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(sysfs_, other.sysfs_);
    return *this;
}

}  // namespace pktpit::offload
