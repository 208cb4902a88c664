// SPDX-License-Identifier: BSD-3-Clause
// A container over a kernel that refuses: what an IOMMU does not let go of is told, and is nobody else's.
#include "offload/vfio/container.h"

#include <gtest/gtest.h>
#include <linux/vfio.h>

#include <cerrno>
#include <cstring>

#include "router/vfio/payload_memory.h"

namespace pktpit::router {
namespace {

using offload::DmaAccess;
using offload::Iova;
using offload::VfioContainer;

/// What was asked last, and how the kernel answers. ioctl() has no place for an object.
struct Kernel {
    vfio_iommu_type1_dma_map mapped{};
    uint32_t unmap_argsz = 0;
    Iova unmapped_at = 0;
    uint64_t unmapped_bytes = 0;
    int map_error = 0;
    int unmap_error = 0;
    uint64_t left_mapped = 0;  ///< bytes of what is to be unmapped
    int unmaps = 0;
};
Kernel kernel;

int refuse(int error) {
    errno = error;
    return error == 0 ? 0 : -1;
}

int answer(int, unsigned long request, void* argument) {
    switch (request) {
        case VFIO_IOMMU_MAP_DMA:
            std::memcpy(&kernel.mapped, argument, sizeof kernel.mapped);
            return refuse(kernel.map_error);
        case VFIO_IOMMU_UNMAP_DMA: {
            auto* asked = static_cast<vfio_iommu_type1_dma_unmap*>(argument);
            kernel.unmap_argsz = asked->argsz;
            kernel.unmapped_at = asked->iova;
            kernel.unmapped_bytes = asked->size;
            kernel.unmaps++;
            asked->size -= kernel.left_mapped;
            return refuse(kernel.unmap_error);
        }
        default:
            return refuse(ENOTTY);
    }
}

constexpr size_t room_bytes = size_t{1} << 20;
constexpr Iova room = size_t{4} << 20;

class VfioContainerTest : public testing::Test {
  protected:
    VfioContainerTest() { kernel = {}; }
    Result<MainMemory> take() { return take_main_memory(room_bytes, false, space, container.get()); }
    Result<void> give_back(MainMemory memory) {
        return give_main_memory_back(std::move(memory.mapping), memory.iova, space, *container);
    }

    std::shared_ptr<VfioContainer> container = VfioContainer::over(Fd(), Fd(), 7, answer);
    offload::IovaSpace space{{{room, room + room_bytes - 1}}};  ///< room for one
};

TEST_F(VfioContainerTest, asks_for_what_it_was_asked_for_and_gives_it_back) {
    auto memory = take();
    ASSERT_TRUE(memory);
    EXPECT_EQ(kernel.mapped.argsz, sizeof kernel.mapped);
    EXPECT_EQ(kernel.mapped.flags, unsigned{VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE});
    EXPECT_EQ(kernel.mapped.iova, room);
    EXPECT_EQ(kernel.mapped.size, room_bytes);
    EXPECT_EQ(kernel.mapped.vaddr, reinterpret_cast<uintptr_t>(memory->mapping.bytes().data()));
    ASSERT_TRUE(give_back(std::move(*memory)));
    EXPECT_EQ(kernel.unmap_argsz, sizeof(vfio_iommu_type1_dma_unmap));
    EXPECT_EQ(kernel.unmapped_at, room);
    EXPECT_EQ(kernel.unmapped_bytes, room_bytes);
    EXPECT_TRUE(take()) << "what was given back is there again";
    ASSERT_TRUE(container->map({}, room, DmaAccess::read));
    EXPECT_EQ(kernel.mapped.flags, unsigned{VFIO_DMA_MAP_FLAG_READ});
}

TEST_F(VfioContainerTest, a_mapping_that_is_refused_says_why_and_costs_no_addresses) {
    kernel.map_error = ENOMEM;
    const auto refused = take();
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().to_string().find("ulimit -l"), std::string::npos)
        << refused.error().to_string();
    kernel.map_error = 0;
    EXPECT_TRUE(take());
}

/// Error of the system call, or bytes that it leaves mapped without one.
class RefusedUnmap : public VfioContainerTest,
                     public testing::WithParamInterface<std::pair<int, uint64_t>> {};
INSTANTIATE_TEST_SUITE_P(Ways, RefusedUnmap,
                         testing::Values(std::pair(EINVAL, 0), std::pair(EBUSY, 0), std::pair(0, room_bytes),
                                         std::pair(0, 4096)));

TEST_P(RefusedUnmap, is_told_and_neither_addresses_nor_pages_are_used_again) {
    auto memory = take();
    ASSERT_TRUE(memory);
    std::byte& page = memory->mapping.bytes()[room_bytes - 1];
    kernel.unmap_error = GetParam().first;
    kernel.left_mapped = GetParam().second;
    const auto given = give_back(std::move(*memory));
    ASSERT_FALSE(given);
    EXPECT_EQ(kernel.unmaps, 1);
    EXPECT_NE(given.error().to_string().find("not used again"), std::string::npos)
        << given.error().to_string();
    kernel.unmap_error = 0;
    kernel.left_mapped = 0;
    EXPECT_FALSE(take()) << "a device may still reach it";
    page = std::byte{1};  // still this process's
}

}  // namespace
}  // namespace pktpit::router
