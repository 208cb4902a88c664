// SPDX-License-Identifier: BSD-3-Clause
/// A VFIO container: the IOMMU address space that all ports and payload memories of the router share
/// (Documentation/driver-api/vfio.rst of the kernel). Needs an IOMMU: without one, a device could write
/// anywhere. Control plane; one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
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
    /// Errors: no VFIO in the kernel, no type 1 IOMMU, no permission.
    static Result<std::unique_ptr<VfioContainer>> open();

    /// A group whose devices use this address space, for as long as one of these lives. Then it is let go:
    /// the kernel takes no device of a group back, and gives none again, while somebody has the group open.
    class Group {
      public:
        Group(Group&& other) noexcept
            : container_(std::exchange(other.container_, nullptr)), number_(other.number_) {}
        Group& operator=(Group&&) = delete;
        ~Group();
        /// Whether there are others of the same group.
        [[nodiscard]] bool shared() const;

      private:
        friend class VfioContainer;
        Group(VfioContainer& container, unsigned number) : container_(&container), number_(number) {}
        VfioContainer* container_;
        unsigned number_;
    };
    /// A device at vfio-pci whose group is in the container. The group goes first.
    struct Hold {
        DriverBinding binding;
        Group group;
    };

    /// Takes a device from its kernel driver. The container outlives it. Errors: those of DriverBinding; no
    /// such group, another program has it, a device of the group is still with a kernel driver, no IOMMU.
    Result<Hold> take(const PciFunction& function, unsigned iommu_group);
    /// The device's descriptor. To be closed before give_back().
    Result<Fd> open_device(const Hold& hold, const std::string& address);
    /// To its kernel driver, unless devices of its group are still used from here. With the last group the
    /// kernel would forget all mappings: that device stays taken until there is another.
    void give_back(const std::string& address, Hold hold);

    Result<void> map(std::span<std::byte> memory, Iova iova) override;
    Result<void> unmap(Iova iova, size_t bytes) override;
    /// What the IOMMU can translate, without what the platform keeps (MSI). After the first take().
    [[nodiscard]] Result<std::vector<IovaRange>> usable_ranges() const;

  private:
    struct OpenGroup {
        Fd descriptor;
        unsigned users = 0;
    };
    explicit VfioContainer(Fd container) : container_(std::move(container)) {}
    Result<Group> add_group(unsigned iommu_group);
    Result<Fd> open_group(unsigned iommu_group) const;

    Fd container_;
    std::map<unsigned, OpenGroup> groups_;
    struct Kept {
        std::string address;
        Hold hold;
    };
    std::optional<Kept> kept_;  ///< the last one; goes before groups_
};

}  // namespace pktpit::offload
