// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::TestImage;
using Members = std::vector<std::pair<AdjacencyId, uint16_t>>;

class Group : public testing::Test {
  protected:
    Group() {
        for (AdjacencyId& id : a_)
            id = image_->add_adjacency({}).value();
    }

    /// Share of 2^16 evenly spread flow hashes that each adjacency gets.
    std::map<uint32_t, double> shares(GroupId group) {
        std::map<uint32_t, double> result;
        for (uint32_t i = 0; i < 65536; i++)
            result[image_.member(group, i << 16)] += 1.0 / 65536;
        return result;
    }

    TestImage image_;
    AdjacencyId a_[8];
};

TEST_F(Group, ReadersSeeTheWeights) {
    const Members members = {{a_[0], 1}, {a_[1], 2}, {a_[2], 4}};
    const GroupId group = image_->add_group(members).value();
    const auto seen = shares(group);
    ASSERT_EQ(seen.size(), 3u);
    for (const auto& [id, weight] : members)
        EXPECT_NEAR(seen.at(id), weight / 7.0, weight / 7.0 * 0.01);
}

TEST_F(Group, OfOneMemberTakesNoBuckets) {
    const GroupId group = image_->add_group(Members{{a_[3], 65535}}).value();
    EXPECT_EQ(shares(group), (std::map<uint32_t, double>{{a_[3], 1.0}}));
    EXPECT_EQ(image_->usage().buckets, 0u);
}

TEST_F(Group, OfNoMemberLeadsToTheInvalidAdjacency) {
    const GroupId group = image_->add_group({}).value();
    EXPECT_NE(group, 0u);
    EXPECT_EQ(shares(group), (std::map<uint32_t, double>{{0, 1.0}}));
    EXPECT_EQ(pp_fib_adjacency_at(image_.base(), &image_.geometry(), 0)->kind, PP_ADJ_INVALID);
}

TEST_F(Group, LosesAMemberWithoutMovingOtherFlows) {
    Members members;
    for (AdjacencyId id : a_)
        members.push_back({id, 1});
    const GroupId group = image_->add_group(members).value();
    std::vector<uint32_t> before;
    for (uint32_t i = 0; i < 4096; i++)
        before.push_back(image_.member(group, i << 20));
    members.erase(members.begin() + 2);
    ASSERT_TRUE(image_->replace_group(group, members));
    for (uint32_t i = 0; i < 4096; i++) {
        const uint32_t after = image_.member(group, i << 20);
        EXPECT_NE(after, a_[2]);
        if (before[i] != a_[2]) {
            EXPECT_EQ(after, before[i]);
        }
    }
    for (const auto& [id, share] : shares(group))
        EXPECT_NEAR(share, 1.0 / 7, 0.01 / 7);
}

TEST_F(Group, GoesFromAnySizeToAny) {
    const GroupId group = image_->add_group({}).value();
    for (size_t size : {1u, 3u, 0u, 5u, 2u, 8u, 1u, 7u, 1u, 0u}) {
        Members members;
        for (size_t i = 0; i < size; i++)
            members.push_back({a_[i], 1});
        ASSERT_TRUE(image_->replace_group(group, members));
        const auto seen = shares(group);
        ASSERT_EQ(seen.size(), std::max<size_t>(size, 1));
        for (const auto& [id, share] : seen)
            EXPECT_NEAR(share, 1.0 / static_cast<double>(std::max<size_t>(size, 1)), 0.01);
    }
    EXPECT_EQ(image_->usage().buckets, 0u);
}

TEST_F(Group, RemovedGivesBackItsBuckets) {
    for (int i = 0; i < 1000; i++) {
        const GroupId group = image_->add_group(Members{{a_[0], 1}, {a_[1], 1}, {a_[2], 1}}).value();
        image_->remove_group(group);
    }
    EXPECT_EQ(image_->usage().groups, 0u);
    EXPECT_EQ(image_->usage().buckets, 0u);
    EXPECT_LT(image_.grace_periods(), 200u) << "batched";
    EXPECT_GT(image_.grace_periods(), 0u);
}

TEST_F(Group, KeepsItsCounter) {
    const auto counter = [&](GroupId group) {
        return PP_FIB_GROUP_COUNTER(pp_fib_group_word(image_.base(), &image_.geometry(), group));
    };
    const GroupId group = image_->add_group(Members{{a_[0], 1}}, 40000).value();
    EXPECT_EQ(counter(group), 40000u);
    for (const Members& members :
         {Members{{a_[0], 1}, {a_[1], 1}}, Members{{a_[1], 1}, {a_[2], 2}, {a_[3], 4}}, Members{{a_[1], 1}},
          Members{}, Members{{a_[0], 1}, {a_[1], 3}}}) {
        ASSERT_TRUE(image_->replace_group(group, members));
        EXPECT_EQ(counter(group), 40000u);
        EXPECT_EQ(shares(group).size(), std::max<size_t>(members.size(), 1));
    }
    EXPECT_EQ(counter(image_->add_group(Members{{a_[0], 1}, {a_[1], 1}}).value()), 0u);
    image_->remove_group(group);
    EXPECT_EQ(counter(image_->add_group(Members{{a_[0], 1}}).value()), 0u);
}

// Buckets of a group begin where the number of its only member's adjacency was: still a change.
TEST_F(Group, OfOneMemberWhoseIdIsThatOfItsFirstBucket) {
    TestImage image;
    for (int i = 0; i < 20; i++)
        ASSERT_TRUE(image->add_adjacency({}));
    ASSERT_TRUE(image->add_group(Members{{1, 1}, {2, 1}}));  // takes buckets 0 and 1
    const GroupId group = image->add_group(Members{{2, 1}}).value();
    ASSERT_TRUE(image->replace_group(group, Members{{2, 1}, {3, 1}}));  // takes 2 and 3
    EXPECT_NE(image.member(group, 0), image.member(group, 1u << 31));
}

// A reader may have read the group's id just before: what it finds there must still be a way out.
TEST_F(Group, RemovedStaysReadableUntilReadersAreGone) {
    const GroupId group = image_->add_group(Members{{a_[0], 1}, {a_[1], 1}}).value();
    image_->remove_group(group);
    EXPECT_EQ(shares(group).size(), 2u);
}

TEST_F(Group, RefusesWrongMembers) {
    const auto before = image_->usage();
    EXPECT_NE(image_->add_group(Members{{a_[0], 0}}).error().message.find("weight 0"), std::string::npos);
    EXPECT_NE(image_->add_group(Members{{0, 1}}).error().message.find("adjacency 0"), std::string::npos);
    EXPECT_NE(image_->add_group(Members{{64, 1}}).error().message.find("adjacency 64"), std::string::npos);
    EXPECT_NE(image_->add_group(Members(4097, {a_[0], 1})).error().message.find("4097 members"),
              std::string::npos);
    const auto after = image_->usage();
    EXPECT_EQ(before.groups, after.groups);
    EXPECT_EQ(before.buckets, after.buckets);
}

TEST(Adjacency, IsReadAsWritten) {
    TestImage image;
    pp_fib_adjacency value{};
    value.dst_mac[0] = 2;
    value.dst_mac[5] = 9;
    value.kind = PP_ADJ_FORWARD;
    value.src_mac[5] = 7;
    value.port = 3;
    value.tpid[0] = 0x0081;
    value.tci[0] = 0x6400;
    value.mtu = 1500;
    value.interface = 12;
    const AdjacencyId id = image->add_adjacency(value).value();
    EXPECT_NE(id, 0u);
    const auto read = [&] { return *pp_fib_adjacency_at(image.base(), &image.geometry(), id); };
    const auto same = [](const pp_fib_adjacency& a, const pp_fib_adjacency& b) {
        return std::memcmp(&a, &b, sizeof(a)) == 0;
    };
    EXPECT_TRUE(same(read(), value));
    EXPECT_TRUE(same(image->adjacency(id), value));
    value.kind = PP_ADJ_INCOMPLETE;
    value.mtu = 9000;
    image->update_adjacency(id, value);
    EXPECT_TRUE(same(read(), value));
    image->remove_adjacency(id);
    EXPECT_TRUE(same(read(), value)) << "until readers are gone";
    EXPECT_EQ(image->usage().adjacencies, 0u);
}

TEST(Port, IsReadAsWritten) {
    TestImage image;
    for (uint16_t port = 0; port < 8; port++)
        image->set_port(port,
                        {{2, 0, 0, 0, 0, static_cast<uint8_t>(port)}, PP_PORT_UP, 100u + port, port, 0});
    for (uint32_t port = 0; port < 8; port++) {
        const pp_fib_port* read = pp_fib_port_at(image.base(), &image.geometry(), port);
        EXPECT_EQ(read->mac[5], port);
        EXPECT_EQ(read->flags, PP_PORT_UP);
        EXPECT_EQ(read->ifindex, 100 + port);
        EXPECT_EQ(read->interface, port);
    }
}

}  // namespace
}  // namespace pktpit::fib
