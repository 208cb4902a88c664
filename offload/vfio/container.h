// SPDX-License-Identifier: BSD-3-Clause
/// A VFIO container: the IOMMU domain of one IOMMU group, which its devices share and no others
/// (Documentation/driver-api/vfio.rst of the kernel). Needs an IOMMU: without one, a device could write
/// anywhere. Control plane; one thread.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "offload/dma.h"
#include "offload/memory/iova_space.h"
#include "offload/vfio/driver_binding.h"

namespace pktpit::offload {

class VfioContainer : public DmaDomain {
  public:
    /// Of a group whose devices are all at vfio-pci. Errors: no VFIO in the kernel, no type 1 IOMMU, no
    /// permission; no such group, another program has it, a device of the group is still with a kernel
    /// driver.
    static Result<std::shared_ptr<VfioContainer>> open(unsigned iommu_group);
    /// The same over open files, with what asks the kernel in place of ioctl(): for tests.
    using Ask = int (*)(int file, unsigned long request, void* argument);
    static std::shared_ptr<VfioContainer> over(Fd container, Fd group, unsigned iommu_group, Ask ask);
    /// Lets the group go; what was mapped is mapped no more.
    ~VfioContainer() override = default;

    /// The descriptor of one of the group's devices. To be closed before the container goes.
    Result<Fd> open_device(const std::string& address);
    Result<void> map(std::span<std::byte> memory, Iova iova, DmaAccess access) override;
    /// Error: the kernel refuses, or unmaps less than it was asked to: devices may reach what is there.
    Result<void> unmap(Iova iova, size_t bytes) override;
    /// What the IOMMU can translate, without what the platform keeps (MSI).
    [[nodiscard]] Result<std::vector<IovaRange>> usable_ranges() const;
    [[nodiscard]] unsigned iommu_group() const { return number_; }
    /// Of the container and of the group: what was mapped stays mapped while somebody has them open.
    [[nodiscard]] std::pair<int, int> descriptors() const { return {container_.get(), group_.get()}; }

  private:
    VfioContainer(Fd container, Fd group, unsigned number, Ask ask)
        : container_(std::move(container)), group_(std::move(group)), number_(number), ask_(ask) {}

    Fd container_;
    Fd group_;  ///< goes first
    unsigned number_;
    Ask ask_;
};

/// The containers of this process: one a group, for as long as one of its devices is held. Then it is let go:
/// the kernel takes no device of a group back, and gives none again, while somebody has the group open.
class VfioContainers {
  public:
    /// A device at vfio-pci and the container of its group. The container goes first.
    struct Hold {
        DriverBinding binding;
        std::shared_ptr<VfioContainer> container;
    };

    /// Takes a device from its kernel driver. Errors: those of DriverBinding and VfioContainer::open().
    Result<Hold> take(const PciFunction& function, unsigned iommu_group);
    /// To its kernel driver, unless devices of its group are still used from here.
    void give_back(Hold hold) const;

  private:
    std::map<unsigned, std::weak_ptr<VfioContainer>> by_group_;
};

}  // namespace pktpit::offload
