// SPDX-License-Identifier: BSD-3-Clause
// Sparse nodes of IPv6 (PP_FIB_SORTED): at most 16 intervals of the next 16 bits. At their edges, and on the
// way to dense nodes and back, every value of those 16 bits is answered as the prefixes say.
#include <gtest/gtest.h>

#include "tests/unit/fib/cpu_variants.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::prefix;
using test::TestImage;

/// The prefix of this length under 2001:db8::/32 whose next 16 bits begin with `bits`.
Prefix inside(uint32_t bits, unsigned length) {
    IpAddress address = test::address("2001:db8::");
    address.bytes[4] = static_cast<uint8_t>(bits >> 8);
    address.bytes[5] = static_cast<uint8_t>(bits);
    return Prefix::of(address, length);
}

class SparseNode : public testing::Test {
  protected:
    SparseNode() {
        for (GroupId& group : groups_)
            group = image_.add_group();
    }
    void set(const Prefix& net, GroupId group) {
        ASSERT_TRUE(image_->set(net, group));
        installed_.emplace_back(net, group);
    }
    void erase(const Prefix& net) {
        ASSERT_EQ(image_->erase(net), true);
        std::erase_if(installed_, [&net](const auto& entry) { return entry.first == net; });
    }
    /// All 65,536 values, each variant.
    void check() {
        std::vector<Ip6Bytes> addresses;
        std::vector<GroupId> expected;
        for (uint32_t bits = 0; bits <= 0xffff; bits++) {
            const IpAddress address = inside(bits, 48).address;
            addresses.push_back(address.bytes);
            int longest = -1;
            GroupId group = 0;
            for (const auto& [net, value] : installed_)
                if (net.length > longest && net.contains(address)) {
                    longest = net.length;
                    group = value;
                }
            expected.push_back(group);
            ASSERT_EQ(image_->lookup(address), group) << address.to_string();
        }
        std::vector<GroupId> found(addresses.size());
        for (const CpuVariant variant : test::cpu_variants()) {
            FibReader(image_->memory(), variant).lookup_batch(addresses, found);
            ASSERT_EQ(found, expected) << to_string(variant);
        }
    }
    /// How much a way to the 16 bits costs, without them: 2001::/16's slot, then one of 2001:d00::/24.
    static constexpr uint64_t way = 2 * 1024;

    TestImage image_;
    GroupId groups_[8];
    std::vector<std::pair<Prefix, GroupId>> installed_;
};

TEST_F(SparseNode, TheFirstAndTheLastValue) {
    for (const uint32_t bits : {0x0000u, 0xffffu, 0xfffeu, 0x8000u, 0x7fffu, 0x0001u}) {
        set(inside(bits, 48), groups_[bits % 5]);
        check();
        if (HasFatalFailure()) return;
    }
    EXPECT_EQ(image_.nodes(), way + 64) << "one cache line";
    // Others that end at the last value.
    for (const unsigned length : {47u, 40u, 33u}) {
        set(inside(0xffff, length), groups_[length % 5]);
        check();
        if (HasFatalFailure()) return;
    }
    erase(inside(0xffff, 48));
    check();
    erase(inside(0xffff, 47));
    check();
}

// 16 intervals are held by one cache line, 17 by dense nodes.
TEST_F(SparseNode, SixteenIntervalsAndSeventeen) {
    // Each has an end of its own: 0, then begin and end of each but the first, is 2n intervals.
    set(inside(0x0000, 48), groups_[0]);
    for (uint32_t i = 1; i <= 7; i++)
        set(inside(0x1000 * i, 48), groups_[i]);
    ASSERT_EQ(installed_.size(), 8u);  // 0, 1, then 2 for each: 16
    EXPECT_EQ(image_.nodes(), way + 64);
    check();
    set(inside(0x1001, 48), groups_[1]);  // begins where another ends: 17
    EXPECT_GT(image_.nodes(), way + 64);
    check();
    erase(inside(0x1001, 48));
    check();
    while (!image_->compact(1000)) {
    }
    check();
    // From dense nodes to one that leads nowhere.
    while (!installed_.empty())
        erase(installed_.back().first);
    check();
    EXPECT_EQ(image_.nodes(), 0u);
}

// An id that two bytes do not hold, and back.
TEST_F(SparseNode, WideIdsNeedDenseNodes) {
    TestImage image(TestImage::small({.groups = 70'000}));
    GroupId last = 0;
    while (last < 66'000)
        last = image->add_group({}).value();
    const Prefix narrow = inside(0x1234, 48), other = inside(0x8000, 48);
    ASSERT_TRUE(image->set(narrow, 200));
    ASSERT_TRUE(image->set(other, 60'000));
    EXPECT_EQ(image->lookup(narrow.address), 200u);
    EXPECT_EQ(image->lookup(other.last()), 60'000u);
    ASSERT_TRUE(image->set(other, last));
    EXPECT_EQ(image->lookup(narrow.address), 200u);
    EXPECT_EQ(image->lookup(other.last()), last);
    ASSERT_TRUE(image->set(prefix("2001:db8::/32"), last)) << "around them";
    EXPECT_EQ(image->lookup(inside(0x1235, 48).address), last);
    EXPECT_EQ(image->lookup(narrow.address), 200u);
    ASSERT_TRUE(image->set(other, 1));
    EXPECT_EQ(image->erase(prefix("2001:db8::/32")), true);
    EXPECT_EQ(image->lookup(other.address), 1u);
    EXPECT_EQ(image->lookup(inside(0x1235, 48).address), 0u);
}

TEST_F(SparseNode, ThePrefixAroundThemFillsTheGaps) {
    set(inside(0x4000, 48), groups_[0]);
    set(inside(0x4002, 48), groups_[1]);
    set(prefix("2001:db8::/32"), groups_[2]);
    check();
    set(prefix("2001:db8:4000::/34"), groups_[3]);
    check();
    set(prefix("::/0"), groups_[4]);
    erase(prefix("2001:db8::/32"));
    check();
    erase(prefix("2001:db8:4000::/34"));
    check();
    set(prefix("2001:db8:4000::/40"), groups_[5]);
    set(inside(0x4002, 48), groups_[6]);
    installed_.erase(installed_.begin() + 1);
    check();
}

// Longer than the 16 bits: what lies in the sparse node makes way for nodes below.
TEST_F(SparseNode, LongerPrefixesBelow) {
    set(inside(0x0001, 48), groups_[0]);
    set(inside(0xffff, 48), groups_[1]);
    const Prefix host = prefix("2001:db8:1:2:3:4:5:6/128"), half = prefix("2001:db8:ffff:8000::/49");
    set(host, groups_[2]);
    set(half, groups_[3]);
    check();
    EXPECT_EQ(image_->lookup(host.address), groups_[2]);
    EXPECT_EQ(image_->lookup(test::address("2001:db8:1:2:3:4:5:7")), groups_[0]);
    EXPECT_EQ(image_->lookup(half.last()), groups_[3]);
    EXPECT_EQ(image_->lookup(inside(0xffff, 48).address), groups_[1]);
    erase(host);
    erase(half);
    check();
}

// A sparse node reads 2 bytes of the address, so none stands at the last byte; the last bits are decided all
// the same.
TEST_F(SparseNode, TheLastBitsOfAnAddress) {
    const char* const base = "2001:db8::ff00";
    for (unsigned length = 104; length <= 128; length++) {
        const Prefix net = Prefix::of(test::address(base), length);
        set(net, groups_[length % 8]);
        for (const auto& [other, group] : installed_) {
            if (other.length != length) continue;
            ASSERT_EQ(image_->lookup(other.address), group) << other.to_string();
        }
        IpAddress beside = net.address;
        beside.bytes[(length - 1) / 8] ^= static_cast<uint8_t>(0x80 >> (length - 1) % 8);
        ASSERT_EQ(image_->lookup(beside), length == 104 ? 0u : groups_[(length - 1) % 8]) << net.to_string();
    }
    while (!installed_.empty())
        erase(installed_.back().first);
    EXPECT_EQ(image_.nodes(), 0u);
}

TEST_F(SparseNode, DuplicatesAndWhatIsNotThere) {
    set(inside(0x1234, 48), groups_[0]);
    const auto before = image_.bytes();
    ASSERT_TRUE(image_->set(inside(0x1234, 48), groups_[0]));
    for (const Prefix& absent : {inside(0x1235, 48), inside(0x1234, 47), inside(0x1234, 49), inside(0, 32),
                                 prefix("::/0"), prefix("2001:db8:1234::/128"), prefix("0.0.0.0/0")})
        EXPECT_EQ(image_->erase(absent), false) << absent.to_string();
    EXPECT_EQ(image_.bytes(), before) << "nothing was to be done";
    EXPECT_EQ(image_->prefix_count(Family::ipv6), 1u);
    check();
}

}  // namespace
}  // namespace pktpit::fib
