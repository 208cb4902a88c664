// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "router/vfio/payload_memory.h"

namespace pktpit::router {
namespace {

class Domain : public offload::DmaDomain {
  public:
    Result<void> map(std::span<std::byte>, offload::Iova, offload::DmaAccess) override {
        return maps ? Result<void>() : fail("IOMMU", "refuses");
    }
    Result<void> unmap(offload::Iova, size_t) override {
        return unmaps ? Result<void>() : fail("IOMMU", "cannot be unmapped");
    }
    bool maps = true;
    bool unmaps = true;
};

constexpr size_t bytes = size_t{1} << 20;

/// Room for exactly one mapping.
class MainMemoryTest : public testing::Test {
  public:
    Domain domain;
    offload::IovaSpace space{{{size_t{4} << 20, (size_t{5} << 20) - 1}}};

    Result<MainMemory> take() { return take_main_memory(bytes, false, space, &domain); }
};

TEST_F(MainMemoryTest, what_is_given_back_is_there_again) {
    for (int round = 0; round < 3; round++) {
        auto memory = take();
        ASSERT_TRUE(memory);
        EXPECT_TRUE(give_main_memory_back(std::move(memory->mapping), memory->iova, space, domain));
    }
}

TEST_F(MainMemoryTest, addresses_that_the_iommu_does_not_let_go_of_are_never_handed_out_again) {
    auto memory = take();
    ASSERT_TRUE(memory);
    std::byte& page = memory->mapping.bytes()[0];
    domain.unmaps = false;
    const auto given = give_main_memory_back(std::move(memory->mapping), memory->iova, space, domain);
    ASSERT_FALSE(given);
    EXPECT_NE(given.error().to_string().find("not used again"), std::string::npos);
    domain.unmaps = true;
    EXPECT_FALSE(take()) << "a device may still reach it";
    page = std::byte{1};  // and the pages are no one else's
}

TEST_F(MainMemoryTest, a_mapping_that_is_refused_costs_no_addresses) {
    domain.maps = false;
    EXPECT_FALSE(take());
    domain.maps = true;
    EXPECT_TRUE(take());
}

}  // namespace
}  // namespace pktpit::router
