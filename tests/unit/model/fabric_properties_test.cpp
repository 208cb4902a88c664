// SPDX-License-Identifier: BSD-3-Clause
// Random topologies under random traffic: nothing is lost or doubled, every byte is where it belongs and is
// accounted for on every link, credits come back, order holds, the same seed gives the same run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>

#include "tests/unit/model/random_fabric.h"

namespace pktpit::model::test {
namespace {

using testing::Each;

/// An endpoint that writes numbered records into a strip of each peer's memory that is its alone, reads back
/// what it wrote, and looks at the order in which others' records come.
class Talker : public Device {
  public:
    static constexpr uint32_t strip = 16384;

    Talker(RandomFabric& world, size_t self) : world_(world), self_(self), read_back_(strip * 64) {
        world.endpoints[self]->attach(*this);
    }
    void dma_done(uint64_t cookie, DmaResult result) override {
        EXPECT_EQ(result, DmaResult::done);
        EXPECT_EQ(finished_[cookie]++, 0) << "told twice";
    }
    void memory_written(uint64_t offset, uint32_t length, uint64_t packet) override {
        bytes_taken += length;
        const uint64_t from = offset / strip;
        if (packet == 0) return;
        // Strictly ordered writes of one requester arrive in their order.
        uint64_t& last = last_[from];
        EXPECT_LE(last, packet) << "a posted write was overtaken";
        last = packet;
    }
    void write(size_t to, bool relaxed) {
        const uint32_t length = 1 + world_.below(1500);
        const uint32_t offset = world_.below(strip - length);
        auto& bytes = sources_.emplace_back(length);
        for (std::byte& byte : bytes)
            byte = static_cast<std::byte>(world_.below(256));
        std::memcpy(shadow(to) + offset, bytes.data(), length);
        world_.endpoints[self_]->dma().write(
            address(to, offset), bytes.data(), length,
            {next_++, relaxed ? 0 : ++number_, relaxed, TlpType::memory_write});
        bytes_given += length;
    }
    void read(size_t to) {
        const uint32_t length = 1 + world_.below(4000);
        const uint32_t offset = world_.below(strip - length);
        world_.endpoints[self_]->dma().read(address(to, offset),
                                            read_back_.data() + reads_++ % 8 * strip + offset, length,
                                            {next_++, 0, false, TlpType::memory_write});
        bytes_asked += length;
    }
    [[nodiscard]] std::byte* shadow(size_t to) {
        return shadows_.try_emplace(to, strip).first->second.data();
    }
    [[nodiscard]] uint64_t address(size_t to, uint32_t offset) const {
        return world_.endpoints[to]->settings().bar + self_ * strip + offset;
    }
    [[nodiscard]] bool all_finished() const { return finished_.size() == next_; }
    /// Reads one whole strip into memory of its own.
    const std::byte* fetch(size_t to) {
        world_.endpoints[self_]->dma().read(address(to, 0), read_back_.data(), strip,
                                            {next_++, 0, false, TlpType::memory_write});
        return read_back_.data();
    }

    uint64_t bytes_given = 0, bytes_asked = 0, bytes_taken = 0;

  private:
    RandomFabric& world_;
    size_t self_;
    uint64_t next_ = 0, number_ = 0, reads_ = 0;
    std::map<uint64_t, int> finished_;
    std::map<uint64_t, uint64_t> last_;
    std::map<size_t, std::vector<std::byte>> shadows_;
    std::deque<std::vector<std::byte>> sources_;
    std::vector<std::byte> read_back_;
};

struct Outcome {
    Time end = 0;
    uint64_t events = 0;
    std::vector<LinkCounters> links;
    bool operator==(const Outcome&) const = default;
};

/// Each link: what one end says it sent must be what TLPs of these sizes cost.
void expect_accounted(Fabric& fabric) {
    for (size_t id = 0; id < fabric.nodes(); id++) {
        Node& node = fabric.node(static_cast<NodeId>(id));
        for (size_t i = 0; i < node.ports(); i++) {
            const Port& port = node.port(i);
            if (!port.peer()) continue;
            EXPECT_EQ(port.queued(), 0U) << node.name();
            EXPECT_GE(port.least_credits(), 0) << node.name();
            EXPECT_TRUE(port.credits_complete()) << node.name() << " port " << i;
        }
    }
    EXPECT_EQ(fabric.tlps().out(), 0U) << "TLPs that nobody has any more";
}

Outcome run(uint64_t seed, bool relaxed) {
    RandomFabric world(seed);
    Fabric& fabric = world.fabric;
    std::vector<std::unique_ptr<Talker>> talkers;
    for (size_t i = 0; i < world.endpoints.size(); i++)
        talkers.push_back(std::make_unique<Talker>(world, i));
    const size_t count = talkers.size();
    for (int i = 0; i < 300 && count > 1; i++) {
        const size_t from = world.below(static_cast<uint32_t>(count));
        const size_t to = (from + 1 + world.below(static_cast<uint32_t>(count - 1))) % count;
        if (world.coin())
            talkers[from]->write(to, relaxed);
        else
            talkers[from]->read(to);
        if (world.below(4) == 0) fabric.events().run_until(fabric.events().now() + world.below(2000000));
    }
    EXPECT_TRUE(fabric.events().run_all(50'000'000)) << "still not at rest: deadlock or livelock";

    uint64_t given = 0, taken = 0;
    for (size_t i = 0; i < count; i++) {
        EXPECT_TRUE(talkers[i]->all_finished()) << "endpoint " << i << " waits for ever";
        EXPECT_TRUE(world.endpoints[i]->dma().idle());
        EXPECT_EQ(world.endpoints[i]->dma().counters().bytes_read, talkers[i]->bytes_asked);
        EXPECT_EQ(world.endpoints[i]->dma().counters().unexpected_completions, 0U);
        given += talkers[i]->bytes_given;
        taken += talkers[i]->bytes_taken;
    }
    EXPECT_EQ(given, taken);
    expect_accounted(fabric);

    Outcome outcome{fabric.events().now(), fabric.events().events_run(), {}};
    for (size_t id = 0; id < fabric.nodes(); id++)
        for (size_t i = 0; i < fabric.node(static_cast<NodeId>(id)).ports(); i++)
            outcome.links.push_back(fabric.node(static_cast<NodeId>(id)).port(i).counters());

    for (size_t from = 0; from < count && !relaxed; from++) {
        for (size_t to = 0; to < count; to++) {
            if (to == from) continue;
            const std::byte* read = talkers[from]->fetch(to);
            EXPECT_TRUE(fabric.events().run_all(50'000'000));
            EXPECT_EQ(std::memcmp(talkers[from]->shadow(to), read, Talker::strip), 0)
                << from << " → " << to << ": other bytes than were written";
        }
    }
    return outcome;
}

class RandomTopology : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomTopology, MovesEveryByteOnceAndInOrderAndTheSameForTheSameSeed) {
    const Outcome first = run(GetParam(), false);
    EXPECT_EQ(first, run(GetParam(), false));
}

TEST_P(RandomTopology, LosesNothingWithRelaxedOrdering) {
    run(GetParam(), true);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTopology, testing::Range<uint64_t>(1, 61));

}  // namespace
}  // namespace pktpit::model::test
