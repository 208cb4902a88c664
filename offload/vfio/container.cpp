// SPDX-License-Identifier: BSD-3-Clause
#include "offload/vfio/container.h"

#include <fcntl.h>
#include <linux/vfio.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"

namespace pktpit::offload {
namespace {

constexpr const char* container_path = "/dev/vfio/vfio";

int ask_kernel(int file, unsigned long request, void* argument) {
    return ioctl(file, request, argument);
}

std::string group_path(unsigned group) {
    return "/dev/vfio/" + std::to_string(group);
}

Result<Fd> open_container() {
    Fd container(::open(container_path, O_RDWR | O_CLOEXEC));
    if (!container)
        return fail(container_path, "cannot be opened: " + errno_text(errno),
                    "VFIO in the kernel, and permission",
                    errno == EACCES ? "run as root" : "modprobe vfio-pci");
    if (ioctl(container.get(), VFIO_GET_API_VERSION) != VFIO_API_VERSION)
        return fail(container_path, "the kernel's VFIO has another version",
                    "version " + std::to_string(VFIO_API_VERSION), "");
    if (ioctl(container.get(), VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) != 1)
        return fail(container_path, "there is no IOMMU of type 1", "vfio_iommu_type1 in the kernel",
                    "modprobe vfio_iommu_type1");
    return container;
}

Result<Fd> open_group(unsigned iommu_group, int container) {
    const std::string path = group_path(iommu_group);
    Fd group(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (!group)
        return fail(path, "cannot be opened: " + errno_text(errno),
                    "the IOMMU group of a device that vfio-pci drives, used by nobody else",
                    errno == EBUSY ? "another program has the group open" : "");
    vfio_group_status status{};
    status.argsz = sizeof status;
    if (ioctl(group.get(), VFIO_GROUP_GET_STATUS, &status) != 0)
        return fail(path, "does not answer: " + errno_text(errno), "a VFIO group", "");
    if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE))
        return fail(path, "some device of the group is with a kernel driver",
                    "every device of an IOMMU group at vfio-pci, or without driver",
                    "`pktpit doctor` lists the group's devices");
    if (ioctl(group.get(), VFIO_GROUP_SET_CONTAINER, &container) != 0)
        return fail(path, "does not go into a container: " + errno_text(errno), "a group of an IOMMU", "");
    if (ioctl(container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0)
        return fail(path, "the IOMMU refuses: " + errno_text(errno), "an IOMMU that can remap interrupts",
                    "`pktpit doctor` says how; without interrupt remapping: modprobe vfio_iommu_type1 "
                    "allow_unsafe_interrupts=1, where every device is trusted");
    return group;
}

}  // namespace

Result<std::shared_ptr<VfioContainer>> VfioContainer::open(unsigned iommu_group) {
    auto container = open_container();
    if (!container) return tl::unexpected(container.error());
    auto group = open_group(iommu_group, container->get());
    if (!group) return tl::unexpected(group.error());
    return over(std::move(*container), std::move(*group), iommu_group, ask_kernel);
}

std::shared_ptr<VfioContainer> VfioContainer::over(Fd container, Fd group, unsigned iommu_group, Ask ask) {
    return std::shared_ptr<VfioContainer>(
        new VfioContainer(std::move(container), std::move(group), iommu_group, ask));
}

Result<VfioContainers::Hold> VfioContainers::take(const PciFunction& function, unsigned iommu_group) {
    auto binding = DriverBinding::to_vfio(function);
    if (!binding) return tl::unexpected(binding.error());
    auto container = by_group_[iommu_group].lock();
    if (!container) {
        auto opened = VfioContainer::open(iommu_group);
        if (!opened) return tl::unexpected(opened.error());
        container = std::move(*opened);
        by_group_[iommu_group] = container;
    }
    return Hold{std::move(*binding), std::move(container)};
}

void VfioContainers::give_back(Hold hold) const {
    // No kernel driver may have a device of a group that others are driven by from here.
    if (hold.container.use_count() > 1) hold.binding.leave();
}

Result<Fd> VfioContainer::open_device(const std::string& address) {
    std::string name = address;
    Fd device(ask_(group_.get(), VFIO_GROUP_GET_DEVICE_FD, name.data()));
    if (!device)
        return fail(address, "VFIO does not give the device: " + errno_text(errno), "a device at vfio-pci",
                    "dmesg says more");
    return device;
}

Result<void> VfioContainer::map(std::span<std::byte> memory, Iova iova, DmaAccess access) {
    vfio_iommu_type1_dma_map request{};
    request.argsz = sizeof request;
    request.flags = VFIO_DMA_MAP_FLAG_READ;
    if (access == DmaAccess::read_write) request.flags |= VFIO_DMA_MAP_FLAG_WRITE;
    request.vaddr = reinterpret_cast<uintptr_t>(memory.data());
    request.iova = iova;
    request.size = memory.size();
    if (ask_(container_.get(), VFIO_IOMMU_MAP_DMA, &request) == 0) return {};
    const int error = errno;
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(iova));
    return fail(
        "IOMMU",
        std::to_string(memory.size()) + " bytes cannot be mapped at " + text + ": " + errno_text(error),
        "memory that the IOMMU takes",
        error == ENOMEM   ? "ulimit -l, or the IOMMU's own limit of mappings"
        : error == EFAULT ? "the kernel gives no page frames for this memory: take another kind"
                          : "");
}

Result<void> VfioContainer::unmap(Iova iova, size_t bytes) {
    vfio_iommu_type1_dma_unmap request{};
    request.argsz = sizeof request;
    request.iova = iova;
    request.size = bytes;
    if (ask_(container_.get(), VFIO_IOMMU_UNMAP_DMA, &request) != 0)
        return fail("IOMMU", "cannot be unmapped: " + errno_text(errno), "what was mapped", "");
    if (request.size != bytes)
        return fail(
            "IOMMU",
            "only " + std::to_string(request.size) + " of " + std::to_string(bytes) + " bytes unmapped",
            "what was mapped", "");
    return {};
}

Result<std::vector<IovaRange>> VfioContainer::usable_ranges() const {
    vfio_iommu_type1_info head{};
    head.argsz = sizeof head;
    if (ask_(container_.get(), VFIO_IOMMU_GET_INFO, &head) != 0)
        return fail("IOMMU", "tells nothing of itself: " + errno_text(errno), "VFIO_IOMMU_GET_INFO", "");
    std::vector<char> answer(std::max<size_t>(head.argsz, sizeof head));
    auto* info = reinterpret_cast<vfio_iommu_type1_info*>(answer.data());
    info->argsz = static_cast<uint32_t>(answer.size());
    if (ask_(container_.get(), VFIO_IOMMU_GET_INFO, info) != 0 || !(info->flags & VFIO_IOMMU_INFO_CAPS))
        return std::vector<IovaRange>{{0, ~Iova{0}}};  // an old kernel, which names no ranges
    for (size_t at = info->cap_offset; at != 0 && at + sizeof(vfio_info_cap_header) <= answer.size();) {
        const auto* header = reinterpret_cast<const vfio_info_cap_header*>(answer.data() + at);
        if (header->id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE) {
            const auto* ranges = reinterpret_cast<const vfio_iommu_type1_info_cap_iova_range*>(header);
            std::vector<IovaRange> usable;
            for (uint32_t i = 0; i < ranges->nr_iovas; i++)
                usable.push_back({ranges->iova_ranges[i].start, ranges->iova_ranges[i].end});
            return usable;
        }
        if (header->next <= at) break;
        at = header->next;
    }
    return std::vector<IovaRange>{{0, ~Iova{0}}};
}

}  // namespace pktpit::offload
