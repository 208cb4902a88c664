// SPDX-License-Identifier: BSD-3-Clause
/// Batches against single lookups, on tables whose nodes are of every width and depth: what a batch takes for
/// all of its addresses, for a few of them, or once for all.
#include <gtest/gtest.h>

#include <random>

#include "tests/unit/fib/cpu_variants.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::TestImage;

constexpr size_t batch = 64;

/// With roots, and group ids of one, two and three bytes.
class Batch : public testing::Test {
  protected:
    Batch() : image_(capacity()) {
        const std::pair<AdjacencyId, uint16_t> member{image_->add_adjacency({}).value(), 1};
        for (size_t i = 0; i < 70'000; i++)
            groups_.push_back(image_->add_group({&member, 1}).value());
    }

    static Capacity capacity() {
        return TestImage::small({.groups = 1 << 17, .roots = 4, .node_bytes = 1 << 24});
    }
    uint32_t below(size_t limit) { return static_cast<uint32_t>(random_() % limit); }
    /// Of 1, 2 or 3 bytes.
    GroupId any_group() {
        constexpr size_t limits[] = {200, 60'000, 70'000};
        return groups_[below(limits[below(3)])];
    }
    IpAddress any_address6(const std::array<uint8_t, 16>& around, unsigned common) {
        std::array<uint8_t, 16> bytes = around;
        for (size_t i = common; i < bytes.size(); i++)
            bytes[i] = static_cast<uint8_t>(random_());
        return IpAddress::v6(bytes.data());
    }

    template <class Address>
    void expect_as_one_by_one(const std::vector<Address>& addresses, const std::string& what) {
        std::vector<GroupId> expected, found(addresses.size());
        const FibReader single(image_->memory());
        for (const Address& address : addresses)
            expected.push_back(single.lookup(address));
        for (const CpuVariant variant : test::cpu_variants()) {
            FibReader(image_->memory(), variant).lookup_batch(std::span<const Address>(addresses), found);
            ASSERT_EQ(found, expected) << what << ", " << to_string(variant);
        }
    }

    TestImage image_;
    std::vector<GroupId> groups_;
    std::mt19937_64 random_{2544};
};

TEST_F(Batch, AnyNumberOfItsAddressesTakesAThirdStep) {
    std::vector<uint32_t> shallow, deep;
    for (size_t i = 0; i < 6000; i++) {
        const auto net = static_cast<uint32_t>(random_()) & 0xffffff00;
        const bool longer = i % 2 == 0;
        const uint32_t bits = longer ? 25 + below(8) : 9 + below(16);
        ASSERT_TRUE(image_->set(Prefix::of(IpAddress::v4(net | below(256)), bits), any_group()));
        (longer ? deep : shallow).push_back(net);
    }
    ASSERT_EQ(PP_FIB_KIND(pp_fib_load32(image_.base(), image_.geometry().table_offset)), PP_FIB_ROOT);
    for (size_t third = 0; third <= batch; third++) {
        std::vector<uint32_t> addresses;
        for (size_t i = 0; i < batch; i++)
            addresses.push_back((i < third ? deep[below(deep.size())] : shallow[below(shallow.size())]) |
                                below(256));
        std::shuffle(addresses.begin(), addresses.end(), random_);
        expect_as_one_by_one(addresses, std::to_string(third) + " deep");
    }
}

TEST_F(Batch, AnyNumberOfLeadingBytesIsCommonToItsAddresses) {
    std::vector<std::array<uint8_t, 16>> nets;
    for (size_t i = 0; i < 6000; i++) {
        // Half of them around one of those before, so that there are nodes at every depth.
        const std::array<uint8_t, 16> around =
            i > 0 ? nets[below(nets.size())] : std::array<uint8_t, 16>{0x20};
        const IpAddress address = any_address6(around, i % 2 == 0 ? 1 + below(8) : 2);
        ASSERT_TRUE(image_->set(Prefix::of(address, 16 + below(50)), any_group()));
        nets.push_back(address.bytes);
    }
    ASSERT_EQ(PP_FIB_KIND(pp_fib_load32(image_.base(), image_.geometry().table_offset + 4)), PP_FIB_ROOT);
    for (unsigned common = 0; common <= 16; common++)
        for (size_t times = 0; times < 200; times++) {
            const std::array<uint8_t, 16> net = nets[below(nets.size())];
            std::vector<Ip6Bytes> addresses;
            for (size_t i = 0; i < batch; i++)
                addresses.push_back(any_address6(net, common).bytes);
            expect_as_one_by_one(addresses, std::to_string(common) + " bytes in common");
            // One address alone that differs, anywhere.
            if (common > 0) addresses[below(batch)][common - 1] ^= static_cast<uint8_t>(1 + below(255));
            expect_as_one_by_one(addresses, std::to_string(common) + " bytes, but for one address");
        }
}

}  // namespace
}  // namespace pktpit::fib
