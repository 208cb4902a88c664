// SPDX-License-Identifier: BSD-3-Clause
// A reader beside the writer: what it sees is the old or the new, never nothing, never another prefix's.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

/// Rounds of a reader, and changes beside it.
const size_t enough_rounds = pktpit::test::rounds_of(16'000U);

using test::prefix;
using test::TestImage;

/// A reader thread that looks up all the time; grace_period() waits until it has begun a new round.
class Reader {
  public:
    explicit Reader(std::function<void()> round)
        : thread_([this, round = std::move(round)] {
              while (!stop_.load(std::memory_order_relaxed)) {
                  round();
                  rounds_.fetch_add(1, std::memory_order_release);
              }
              stopped_.store(true, std::memory_order_release);
          }) {}
    ~Reader() {
        stop_ = true;
        thread_.join();
    }
    void grace_period() const {
        const uint64_t now = rounds_.load(std::memory_order_acquire);
        while (rounds_.load(std::memory_order_acquire) < now + 2 && !stopped_)
            std::this_thread::yield();
    }
    [[nodiscard]] uint64_t rounds() const { return rounds_; }

  private:
    std::atomic<bool> stop_ = false;
    std::atomic<bool> stopped_ = false;
    std::atomic<uint64_t> rounds_ = 0;
    std::thread thread_;  // last: the others must be there when it starts
};

constexpr uint32_t regions = 16;

struct Wrong {
    std::atomic<uint64_t> count = 0;
    std::atomic<uint32_t> saw = 0;
    std::atomic<uint32_t> region = 0;
};

// Each region has a covering prefix and longer ones that come, change and go. So few blocks are there that
// one freed in one region is soon used in another: a reader that held it too long would see that region's
// groups.
template <Family family>
void run_regions() {
    // Roots and a few pages: what one region gives back another soon uses.
    const Capacity capacity =
        TestImage::small({.groups = 256,
                          .adjacencies = 256,
                          .roots = 0,
                          .node_bytes = family == Family::ipv4 ? 16U << 10 : 32U << 10});
    std::atomic<Reader*> reader_of_grace = nullptr;
    TestImage image(capacity, [&] {
        if (Reader* reader = reader_of_grace) reader->grace_period();
    });
    const auto in_region = [](uint32_t region, uint32_t host) {
        if (family == Family::ipv4) return IpAddress::v4(0x0a000000u + (region << 16) + host);
        std::array<uint8_t, 16> bytes{0x20, static_cast<uint8_t>(region)};
        bytes[2] = static_cast<uint8_t>(host >> 24);
        bytes[4] = static_cast<uint8_t>(host >> 8);
        bytes[5] = static_cast<uint8_t>(host);
        return IpAddress::v6(bytes.data());
    };
    const unsigned longest = family == Family::ipv4 ? 32 : 48;
    const unsigned cover = 16;

    // Groups of region r: 4 of them, from first_group[r] on.
    std::array<std::array<GroupId, 4>, regions> groups{};
    for (uint32_t region = 0; region < regions; region++) {
        for (GroupId& group : groups[region])
            group = image.add_group();
        ASSERT_TRUE(image->set(Prefix::of(in_region(region, 0), cover), groups[region][0]));
    }
    const std::byte* base = image.base();
    const pp_fib_geometry geometry = image.geometry();
    Wrong wrong;
    Reader reader([&, random = std::mt19937(1)]() mutable {
        for (uint32_t region = 0; region < regions; region++) {
            const IpAddress address = in_region(region, static_cast<uint32_t>(random()) & 0x3ff);
            const uint32_t seen = family == Family::ipv4
                                      ? pp_fib_lookup4(base, &geometry, address.v4_host_order())
                                      : pp_fib_lookup6(base, &geometry, address.bytes.data());
            if (seen >= groups[region].front() && seen <= groups[region].back()) continue;
            wrong.saw = seen;
            wrong.region = region;
            wrong.count++;
        }
    });
    reader_of_grace = &reader;

    std::mt19937 random(2);
    std::vector<Prefix> installed;
    size_t changes = 0, refused = 0;
    while (reader.rounds() < enough_rounds || changes < enough_rounds ||
           image.grace_periods() < enough_rounds / 20) {
        const auto region = static_cast<uint32_t>(random()) % regions;
        const unsigned length = cover + 1 + static_cast<unsigned>(random()) % (longest - cover);
        const Prefix net = Prefix::of(in_region(region, static_cast<uint32_t>(random()) & 0x3ff), length);
        if (image->set(net, groups[region][random() % 4])) {
            installed.push_back(net);
        } else {
            // Make room, in other regions mostly.
            refused++;
            for (size_t left = installed.size() / 2; installed.size() > left;) {
                std::swap(installed[random() % installed.size()], installed.back());
                (void)image->erase(installed.back());
                installed.pop_back();
            }
        }
        // The covering prefix is replaced, too, under all that lies in it.
        if (random() % 16 == 0) {
            ASSERT_TRUE(image->set(Prefix::of(in_region(region, 0), cover), groups[region][random() % 4]));
        }
        changes++;
    }
    EXPECT_EQ(wrong.count, 0u) << "region " << wrong.region << " saw group " << wrong.saw;
    std::printf("%zu changes, %zu refused, %zu grace periods, %llu reader rounds\n", changes, refused,
                image.grace_periods(), static_cast<unsigned long long>(reader.rounds()));
    reader_of_grace = nullptr;
}

TEST(ConcurrentReader, SeesOldOrNewIpv4) {
    run_regions<Family::ipv4>();
}

TEST(ConcurrentReader, SeesOldOrNewIpv6) {
    run_regions<Family::ipv6>();
}

// A group that shrinks, grows and moves always leads to one of its members.
TEST(ConcurrentReader, AlwaysFindsAMember) {
    std::atomic<Reader*> reader_of_grace = nullptr;
    TestImage image(TestImage::small({.buckets = 1024}), [&] {
        if (Reader* reader = reader_of_grace) reader->grace_period();
    });
    std::array<AdjacencyId, 10> adjacencies{};
    for (AdjacencyId& id : adjacencies)
        id = image->add_adjacency({}).value();
    using Members = std::vector<std::pair<AdjacencyId, uint16_t>>;
    // Group 0 uses the first half of the adjacencies, group 1 the second; each is never without its first.
    std::array<GroupId, 2> groups{};
    for (size_t i = 0; i < 2; i++)
        groups[i] = image->add_group(Members{{adjacencies[5 * i], 1}}).value();
    std::atomic<uint64_t> wrong = 0;
    Reader reader([&, random = std::mt19937(1)]() mutable {
        for (size_t i = 0; i < 2; i++) {
            const uint32_t seen = image.member(groups[i], static_cast<uint32_t>(random()));
            if (seen < adjacencies[5 * i] || seen > adjacencies[5 * i + 4]) wrong++;
        }
    });
    reader_of_grace = &reader;
    std::mt19937 random(2);
    size_t changes = 0;
    while (reader.rounds() < enough_rounds || changes < enough_rounds ||
           image.grace_periods() < enough_rounds / 20) {
        const size_t which = random() % 2;
        Members members = {{adjacencies[5 * which], 1}};
        for (size_t i = 1; i < 5; i++)
            if (random() % 2)
                members.push_back({adjacencies[5 * which + i], static_cast<uint16_t>(1 + random() % 3)});
        changes += image->replace_group(groups[which], members).has_value();
    }
    EXPECT_EQ(wrong, 0u);
    reader_of_grace = nullptr;
}

// Replacing is one step: at no time is there neither the old nor the new, however many entries a prefix has.
TEST(ConcurrentReader, ReplacingIsNeverRemoving) {
    TestImage image;
    const GroupId first = image.add_group();
    const GroupId second = image.add_group();
    const Prefix nets[] = {prefix("0.0.0.0/0"), prefix("10.0.0.0/8"), prefix("10.1.0.0/17"),
                           prefix("::/0"),      prefix("2001::/17"),  prefix("2001:db8::/34")};
    for (const Prefix& net : nets)
        ASSERT_TRUE(image->set(net, first));
    std::atomic<uint64_t> wrong = 0;
    const FibImage& view = *image;
    Reader reader([&, random = std::mt19937(1)]() mutable {
        for (const Prefix& net : nets) {
            IpAddress address = net.last();
            address.bytes[net.length / 8] =
                static_cast<uint8_t>(address.bytes[net.length / 8] - random() % 16);
            const GroupId seen = view.lookup(address);
            if (seen != first && seen != second) wrong++;
        }
    });
    for (size_t i = 1; reader.rounds() < enough_rounds || i < enough_rounds / 10; i++)
        for (const Prefix& net : nets)
            ASSERT_TRUE(image->set(net, i % 2 ? second : first));
    EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace pktpit::fib
