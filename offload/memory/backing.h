// SPDX-License-Identifier: BSD-3-Clause
/// What stands behind a payload memory: an open file or device, where in it, and at which bus address.
/// Finding it enables the device where it has to, and undoes that at the end. Control plane; one thread.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "offload/dma.h"
#include "offload/memory/cpu_mapping.h"
#include "offload/memory/memory_source.h"
#include "offload/pci/tree.h"

namespace pktpit::offload {

/// Something to be done once, when its owner ends.
class Undo {
  public:
    Undo() = default;
    explicit Undo(std::function<void()> action) : action_(std::move(action)) {}
    ~Undo() {
        if (action_) action_();
    }
    void forget() { action_ = nullptr; }
    Undo(Undo&& other) noexcept : action_(std::exchange(other.action_, nullptr)) {}
    Undo& operator=(Undo&& other) noexcept {
        std::swap(action_, other.action_);
        return *this;
    }

  private:
    std::function<void()> action_;
};

struct Backing {
    Undo undo;  ///< first to be made, last to go
    Fd file;    ///< none: anonymous memory
    uint64_t offset = 0;
    uint64_t bytes = 0;
    std::optional<Iova> bus_address;  ///< device memory
    [[nodiscard]] Result<CpuMapping> map(const std::string& what) const;
};

/// All kinds but vfio_region, which is a VFIO device's (offload/vfio/region_backing.h). Errors: no such
/// device or BAR, a driver holds the device, no memory buffer, too small, not enough hugepages.
Result<Backing> open_backing(const MemorySource& source, const PciTree& tree,
                             const std::string& sysfs = "/sys");

}  // namespace pktpit::offload
