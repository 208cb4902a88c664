// SPDX-License-Identifier: BSD-3-Clause
/// Which kernel driver a PCI device is with, and taking it to vfio-pci and back through sysfs
/// (driver_override). Control plane; one thread.
#pragma once

#include <string>

#include "base/result.h"
#include "offload/pci/tree.h"

namespace pktpit::offload {

/// A device at vfio-pci, for as long as this lives; at the end it goes back to the driver it had, unless
/// leave() was called.
class DriverBinding {
  public:
    DriverBinding() = default;
    /// Does nothing if vfio-pci has the device already; it then stays there at the end. Errors: a network
    /// interface of the device is up (somebody uses it), no vfio-pci in the kernel, no permission.
    static Result<DriverBinding> to_vfio(const PciFunction& function, const std::string& sysfs = "/sys");
    ~DriverBinding();
    DriverBinding(DriverBinding&& other) noexcept;
    DriverBinding& operator=(DriverBinding&& other) noexcept;
    void leave() { device_.clear(); }

  private:
    std::string device_;  ///< its sysfs directory; empty: nothing to undo
    std::string address_;
    std::string sysfs_;
};

}  // namespace pktpit::offload
