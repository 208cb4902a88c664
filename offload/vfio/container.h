// SPDX-License-Identifier: BSD-3-Clause
/// A VFIO container: the IOMMU address space that all ports and payload memories of the router share
/// (Documentation/driver-api/vfio.rst of the kernel). Needs an IOMMU: without one, a device could write
/// anywhere. Control plane; one thread.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/fd.h"
#include "offload/dma.h"
#include "offload/memory/iova_space.h"

namespace pktpit::offload {

class VfioContainer : public DmaDomain {
  public:
    /// Errors: no VFIO in the kernel, no type 1 IOMMU, no permission.
    static Result<std::unique_ptr<VfioContainer>> open();

    /// Makes the group's devices use this address space. Errors: no such group, another program has it, a
    /// device of the group is still with a kernel driver, no IOMMU.
    Result<void> add_group(unsigned iommu_group);
    /// The device's descriptor. Its group has been added.
    Result<Fd> open_device(unsigned iommu_group, const std::string& address);

    Result<void> map(std::span<std::byte> memory, Iova iova) override;
    Result<void> unmap(Iova iova, size_t bytes) override;
    /// What the IOMMU can translate, without what the platform keeps (MSI). After the first add_group().
    [[nodiscard]] Result<std::vector<IovaRange>> usable_ranges() const;

  private:
    explicit VfioContainer(Fd container) : container_(std::move(container)) {}
    Fd container_;
    std::map<unsigned, Fd> groups_;
};

}  // namespace pktpit::offload
