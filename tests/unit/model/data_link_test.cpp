// SPDX-License-Identifier: BSD-3-Clause
// What the data link layer is charged with, against formulas that are written here and nowhere else; and the
// completion rule, which is one for all completers of a profile.
#include <gtest/gtest.h>

#include <cmath>

#include "offload/model/build.h"
#include "offload/model/dma_pattern.h"
#include "offload/model/experiment.h"

namespace pktpit::model {
namespace {

constexpr double raw = 8e9 / 8 * 8 * 128 / 130;  // Gen 3 x8, bytes a second
constexpr double skp = 4.0 / 1538;
// PCIe Base 5.0, section 3.6.3.1: (256 + 28) × 2.5 / 8 + 115 symbol times, a whole number.
constexpr double interval = 203;
constexpr double dllps = 16;  // an ACK and a credit update
constexpr double tlp_wire = 256 + 24;

struct Rates {
    double forth = 0, back = 0;              ///< payload, bytes a second
    double dllps_forth = 0, dllps_back = 0;  ///< bytes a second
};

/// 256-byte writes from NIC to NIC, and back if `both`.
Rates rates(DataLink data_link, bool both) {
    Topology topology = *Topology::open("two-nics");
    topology.data_link = data_link;
    Machine machine = build_machine(topology, *Profile::open("generic"));
    Endpoint& a = *machine.nic_endpoints[0];
    Endpoint& b = *machine.nic_endpoints[1];
    DmaPattern there(*machine.fabric, a, {{false, b.settings().bar, 2048, 512, 256}}, 64);
    DmaPattern back(*machine.fabric, b, {{false, a.settings().bar, 2048, 512, 256}}, 64);
    if (both) back.start();
    there.start();
    machine.fabric->events().run_until(20 * microsecond);
    const uint64_t before = there.packets(), before_back = back.packets();
    machine.fabric->clear_counters();
    constexpr double seconds = 200e-6;
    machine.fabric->events().run_until(220 * microsecond);
    const auto a_second = [&](uint64_t count) { return static_cast<double>(count) / seconds; };
    return {a_second(there.packets() - before) * 256, a_second(back.packets() - before_back) * 256,
            a_second(a.port(0).counters().dllp_bytes), a_second(b.port(0).counters().dllp_bytes)};
}

TEST(DataLinkLayer, AsAShareIsSixteenOfTheIntervalInBytes) {
    const double expected = raw * (1 - dllps / interval - skp) * 256 / tlp_wire;
    EXPECT_NEAR(expected * tlp_wire / 256 * 8 / 1e9, 57.9, 0.05);  // the 57.88 Gbit/s of pcie-bench's paper
    EXPECT_NEAR(rates(DataLink::share, false).forth / expected, 1, 0.002);
    EXPECT_NEAR(rates(DataLink::share, true).forth / expected, 1, 0.002) << "whatever comes in";
}

TEST(DataLinkLayer, ByDllpsIsSixteenOfTheIntervalOnAllLanesAndOnlyAgainstTraffic) {
    const Rates one_way = rates(DataLink::dllps, false);
    EXPECT_NEAR(one_way.forth / (raw * (1 - skp) * 256 / tlp_wire), 1, 0.002) << "nothing comes in";
    // An interval of 203 symbol times ends with the TLP that is there: the sixth of 35 symbols.
    const double symbol = 8 / raw;
    const double whole = std::ceil(interval / (tlp_wire / 8)) * tlp_wire / 8;
    const double least = dllps / (whole * symbol) * 0.97, most = dllps / (interval * symbol);
    EXPECT_GT(one_way.dllps_back, least);
    EXPECT_LT(one_way.dllps_back, most);
    EXPECT_EQ(one_way.dllps_forth, 0);
    const Rates both = rates(DataLink::dllps, true);
    for (const double rate : {both.forth, both.back})
        EXPECT_NEAR(rate / (raw * (1 - skp) * (1 - dllps / (interval * 8)) * 256 / tlp_wire), 1, 0.003);
}

TEST(DataLinkLayer, TheTwoWaysAreSevenPerCentApart) {
    const double apart = rates(DataLink::dllps, true).forth / rates(DataLink::share, true).forth - 1;
    const double expected = (1 - skp) * (1 - dllps / (interval * 8)) / (1 - dllps / interval - skp) - 1;
    EXPECT_NEAR(apart, expected, 0.003);
    EXPECT_NEAR(expected, 0.075, 0.001);
}

TEST(DataLinkLayer, SaysInWordsWhatItCharges) {
    LinkSettings link;
    link.data_link = DataLink::share;
    EXPECT_EQ(data_link_words(link),
              "share (pcie-bench): 16 B of DLLPs in 203 B, 7.9 %, whatever comes in; SKP ordered sets 0.3 %");
    link.data_link = DataLink::dllps;
    EXPECT_EQ(data_link_words(link),
              "dllps: 16 B of DLLPs in 1624 B, 1.0 %, of the direction against which TLPs come in; SKP "
              "ordered sets "
              "0.3 %");
    link.data_link = DataLink::none;
    EXPECT_EQ(data_link_words(link), "none: nothing is charged");
    link.link = {64, 8};
    EXPECT_EQ(data_link_words(link), "flits: 236 of 256 bytes are TLPs'");
}

/// Completions of a frame that the egress NIC reads, from the NIC and from main memory.
std::pair<uint64_t, uint64_t> completions(const Topology& topology, const Profile& profile) {
    ExperimentSettings settings;
    settings.traffic.size = 1024;
    settings.traffic.flows = {{0, 0, 1, 0, 0.1}};
    settings.traffic.most = 1;
    settings.drain = true;
    settings.warm_up = 0;
    const auto of = [&](Transfer transfer, const char* from) {
        settings.transfer = transfer;
        const auto result = run_experiment(topology, profile, settings);
        EXPECT_TRUE(result);
        return result->link(from, "switch")->counters.tlps[static_cast<size_t>(TlpType::completion_data)];
    };
    // Of a bounce one more: that of the read which pushes the frame.
    return {of(Transfer::read, "nic0"), of(Transfer::bounce, "root") - 1};
}

TEST(CompletionRule, IsTheProfilesForAllCompleters) {
    const Topology topology = *Topology::open("two-nics");
    Profile profile = *Profile::open("generic");
    ASSERT_TRUE(profile.set("completion.at_boundary", 0, "test"));
    EXPECT_EQ(completions(topology, profile), std::pair(uint64_t{4}, uint64_t{4}));
    ASSERT_TRUE(profile.set("completion.at_boundary", 1, "test"));
    EXPECT_EQ(completions(topology, profile), std::pair(uint64_t{16}, uint64_t{16}));
    Topology wide = topology;
    wide.rcb = 128;
    // A NIC's frame lies 64 bytes behind a boundary of 128: each read of 512 begins and ends with half a
    // piece.
    EXPECT_EQ(completions(wide, profile), std::pair(uint64_t{10}, uint64_t{8}));
    // A topology's own word counts more.
    wide.completions = offload::Completions::as_large_as_payload;
    EXPECT_EQ(completions(wide, profile), std::pair(uint64_t{6}, uint64_t{4}));
    const auto again = Topology::parse(wide.to_json_text());
    ASSERT_TRUE(again);
    EXPECT_EQ(again->completions, wide.completions);
    EXPECT_FALSE(Topology::parse(topology.to_json_text())->completions);
}

}  // namespace
}  // namespace pktpit::model
