// SPDX-License-Identifier: BSD-3-Clause
// The fabric's parts one by one: times, errors, redirection, memory under load.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/model/two_behind_switch.h"

namespace pktpit::model {
namespace {

struct Client : DmaClient {
    void dma_done(uint64_t cookie, DmaResult result) override { results.emplace_back(cookie, result); }
    std::vector<std::pair<uint64_t, DmaResult>> results;
};

/// The first endpoint's transfers, each of which has a number; what becomes of them is in `client`.
struct World : TwoBehindSwitch {
    explicit World(SwitchSettings chip = {}, RootSettings root_settings = {})
        : TwoBehindSwitch(chip, root_settings) {
        a->attach_client(client);
    }
    void write(uint64_t to, std::span<const std::byte> bytes, uint64_t number = Requester::no_cookie,
               bool relaxed = false) {
        a->dma().write(to, bytes.data(), static_cast<uint32_t>(bytes.size()),
                       {number, 0, relaxed, TlpType::memory_write});
    }
    void read(uint64_t from, std::span<std::byte> bytes, uint64_t number) {
        a->dma().read(from, bytes.data(), static_cast<uint32_t>(bytes.size()),
                      {number, 0, false, TlpType::memory_write});
    }
    [[nodiscard]] bool comes_to_rest(uint64_t events = 10000) { return fabric.events().run_all(events); }
    [[nodiscard]] Port& switch_port(size_t index) { return fabric.find("switch")->port(index); }
    [[nodiscard]] const LinkCounters& up_from_switch() { return switch_port(0).counters(); }

    Client client;
};

TEST(Fabric, TurnsPeerTrafficRoundInTheSwitch) {
    World world;
    const std::vector<std::byte> bytes(1000, std::byte{0x5a});
    world.write(World::bar_b + 100, bytes, 7);
    ASSERT_TRUE(world.comes_to_rest());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), world.b->memory().at(100)));
    EXPECT_EQ(world.up_from_switch().all_tlps(), 0U);
    // 1,000 bytes at 256 a TLP: four of them.
    EXPECT_EQ(world.a->port(0).counters().tlps[0], 4U);
    EXPECT_EQ(world.a->port(0).counters().wire_bytes[0], 1000 + 4 * 24U);
    ASSERT_EQ(world.client.results.size(), 1U);
    EXPECT_EQ(world.client.results[0], std::pair(uint64_t{7}, DmaResult::done));
}

TEST(Fabric, AcsSendsRequestsThroughTheRoot) {
    World world({.latency = 150 * nanosecond, .redirect_requests = 3, .redirect_completions = 0});
    std::vector<std::byte> bytes(512);
    world.read(World::bar_b, bytes, 1);
    ASSERT_TRUE(world.comes_to_rest());
    EXPECT_EQ(world.client.results.size(), 1U);
    EXPECT_EQ(world.up_from_switch().tlps[static_cast<size_t>(TlpType::memory_read)], 1U);
    EXPECT_EQ(world.up_from_switch().tlps[static_cast<size_t>(TlpType::completion_data)], 0U);
}

TEST(Fabric, TheRootSplitsPeerReads) {
    RootSettings root;
    root.peer_split = 64;
    World world({.latency = 150 * nanosecond, .redirect_requests = 3, .redirect_completions = 3}, root);
    std::vector<std::byte> bytes(256);
    std::fill_n(world.b->memory().at(0), 256, std::byte{9});
    world.read(World::bar_b, bytes, 1);
    ASSERT_TRUE(world.comes_to_rest());
    EXPECT_EQ(bytes, std::vector<std::byte>(256, std::byte{9}));
    const LinkCounters& down = world.root->port(0).counters();
    EXPECT_EQ(down.tlps[static_cast<size_t>(TlpType::memory_read)], 4U);
    EXPECT_EQ(world.up_from_switch().tlps[static_cast<size_t>(TlpType::completion_data)], 4U);
}

TEST(Fabric, AnAddressOfNobodyIsAnUnsupportedRequest) {
    World world;
    std::vector<std::byte> bytes(64);
    world.read(0x1000, bytes, 3);
    world.write(0x1000, bytes, 4);
    ASSERT_TRUE(world.comes_to_rest());
    ASSERT_EQ(world.client.results.size(), 2U);
    EXPECT_EQ(world.client.results[0], std::pair(uint64_t{4}, DmaResult::done))
        << "posted: nobody hears of it";
    EXPECT_EQ(world.client.results[1], std::pair(uint64_t{3}, DmaResult::unsupported_request));
    EXPECT_EQ(world.root->counters().unsupported_requests, 2U);
    EXPECT_EQ(world.fabric.tlps().out(), 0U);
}

TEST(Fabric, ALinkThatIsDownRefusesReadsAndSwallowsWrites) {
    World world;
    world.switch_port(2).set_up(false);
    std::vector<std::byte> bytes(64, std::byte{1});
    world.read(World::bar_b, bytes, 1);
    world.write(World::bar_b, bytes, 2);
    ASSERT_TRUE(world.comes_to_rest());
    ASSERT_EQ(world.client.results.size(), 2U);
    EXPECT_EQ(world.client.results[1].second, DmaResult::unsupported_request);
    EXPECT_EQ(*world.b->memory().at(0), std::byte{0});
    EXPECT_EQ(world.switch_port(2).counters().discarded, 2U);

    world.switch_port(2).set_up(true);
    world.write(World::bar_b, bytes, 3);
    ASSERT_TRUE(world.comes_to_rest());
    EXPECT_EQ(*world.b->memory().at(0), std::byte{1});
    EXPECT_EQ(world.fabric.tlps().out(), 0U);
}

TEST(Fabric, AnAnswerThatNeverComesIsATimeout) {
    World world;
    world.b->port(0).set_up(false);  // the way there is up, the way back is not: the completion is lost
    std::vector<std::byte> bytes(64);
    world.read(World::bar_b, bytes, 1);
    ASSERT_TRUE(world.comes_to_rest());
    ASSERT_EQ(world.client.results.size(), 1U);
    EXPECT_EQ(world.client.results[0].second, DmaResult::timeout);
    EXPECT_EQ(world.a->dma().counters().timeouts, 1U);
}

TEST(Fabric, ASwitchAddsItsLatencyOnce) {
    std::array<Time, 2> ends{};
    for (size_t i = 0; i < 2; i++) {
        World world({.latency = (i + 1) * 100 * nanosecond});
        const std::vector<std::byte> bytes(64);
        world.write(World::bar_b, bytes);
        ASSERT_TRUE(world.comes_to_rest());
        ends[i] = world.fabric.events().now();
    }
    EXPECT_EQ(ends[1] - ends[0], 100 * nanosecond);
}

TEST(Fabric, ALongStreamRunsAtTheLinksRate) {
    World world;
    const std::vector<std::byte> bytes(4096);
    for (int i = 0; i < 1000; i++)
        world.write(World::bar_b, bytes);
    ASSERT_TRUE(world.comes_to_rest(1'000'000));
    const double seconds = to_seconds(world.fabric.events().now());
    const double expected = offload::write_rate({8, 8}, 256, 4096);
    EXPECT_NEAR(4096 * 1000 / seconds, expected, expected * 0.002);
}

TEST(Fabric, RelaxedOrderingOvertakesWhatTheIommuHoldsUp) {
    for (const bool relaxed : {false, true}) {
        RootSettings root;
        root.iommu = {
            .on = true, .page_bytes = 4096, .entries = 64, .walkers = 4, .hit = 0, .walk = microsecond};
        World world({}, root);
        const uint64_t base = root.memory.base;
        const std::vector<std::byte> one(64, std::byte{1});
        // The second page is in the IOTLB, the first is not.
        world.write(base + 4096, one);
        ASSERT_TRUE(world.comes_to_rest());
        struct Order : MemoryWatcher {
            void memory_written(uint64_t address, uint32_t, uint64_t) override { seen.push_back(address); }
            std::vector<uint64_t> seen;
        } order;
        world.root->watch(&order);
        world.write(base, one);
        world.write(base + 4096, one, Requester::no_cookie, relaxed);
        ASSERT_TRUE(world.comes_to_rest());
        const std::vector<uint64_t> in_order = {base, base + 4096};
        EXPECT_EQ(order.seen == in_order, !relaxed);
    }
}

TEST(Fabric, ConfigurationAndMessagesGoTheirWay) {
    World world;
    std::vector<std::pair<NodeId, bool>> configured;
    world.root->on_configured([&](NodeId node, bool there) { configured.emplace_back(node, there); });
    world.root->config_write(world.b->id());
    ASSERT_TRUE(world.comes_to_rest(1000));
    EXPECT_EQ(configured, (std::vector<std::pair<NodeId, bool>>{{world.b->id(), true}}));
    const LinkCounters& down = world.switch_port(2).counters();
    EXPECT_EQ(down.tlps[static_cast<size_t>(TlpType::config_write)], 1U);
    EXPECT_EQ(down.wire_bytes[static_cast<size_t>(TlpType::config_write)], 4U + 20) << "3-DW header";
    EXPECT_EQ(world.b->port(0).counters().tlps[static_cast<size_t>(TlpType::completion)], 1U);

    world.switch_port(2).set_up(false);
    world.root->config_write(world.b->id());
    ASSERT_TRUE(world.comes_to_rest(1000));
    ASSERT_EQ(configured.size(), 2U);
    EXPECT_FALSE(configured[1].second) << "nobody is there";
    EXPECT_EQ(world.root->counters().configured, 1U);

    const std::byte nothing{};
    world.a->dma().write_copy(0, std::span(&nothing, 1), {Requester::no_cookie, 0, false, TlpType::message});
    world.a->dma().write_copy(0xfee00000, std::span(&nothing, 1),
                              {Requester::no_cookie, 0, false, TlpType::msi});
    ASSERT_TRUE(world.comes_to_rest(1000));
    EXPECT_EQ(world.root->counters().messages, 1U);
    EXPECT_EQ(world.root->counters().interrupts, 1U);
    EXPECT_EQ(world.up_from_switch().tlps[static_cast<size_t>(TlpType::message)], 1U);
    EXPECT_EQ(world.up_from_switch().tlps[static_cast<size_t>(TlpType::msi)], 1U);
    EXPECT_EQ(world.fabric.tlps().out(), 0U);
    EXPECT_TRUE(world.fabric.root().port(0).credits_complete());
}

TEST(MainMemory, AWriteLoadSlowsWritesAndNotReads) {
    MemorySettings settings;
    const Time idle = MainMemory(settings).write(0, settings.base, 4096);
    settings.write_load = 1;
    settings.write_by_write_load = 0.7;
    MainMemory loaded(settings);
    const Time slow = loaded.write(0, settings.base, 4096);
    const double factor = static_cast<double>(slow - settings.write_latency) /
                          static_cast<double>(idle - settings.write_latency);
    EXPECT_NEAR(factor, 1 / 0.3, 0.01);
    EXPECT_EQ(loaded.read(0, settings.base, 4096), MainMemory(MemorySettings{}).read(0, settings.base, 4096));
}

TEST(WireFormat, CountsWhatTheSpecificationSays) {
    LinkSettings settings;
    const WireFormat gen3(settings);
    Tlp tlp;
    tlp.type = TlpType::memory_write;
    tlp.address = uint64_t{1} << 32;
    tlp.length = 64;
    EXPECT_EQ(gen3.bytes(tlp), 64U + 24);
    tlp.address = 0x1000;
    EXPECT_EQ(gen3.bytes(tlp), 64U + 20) << "3-DW header below 4 GiB";
    tlp.length = 61;
    EXPECT_EQ(gen3.bytes(tlp), 64U + 20) << "double words";
    settings.ecrc = true;
    EXPECT_EQ(WireFormat(settings).bytes(tlp), 64U + 24);
    settings.ecrc = false;
    settings.link = {64, 16};
    EXPECT_EQ(WireFormat(settings).bytes(tlp), 64U + 12) << "no framing in flits";
}

}  // namespace
}  // namespace pktpit::model
