// SPDX-License-Identifier: BSD-3-Clause
// NIC programs under traffic: what comes in comes out, once, whole and by the right port, or is counted as
// dropped; the fabric is at rest afterwards.
#include <gtest/gtest.h>

#include "tests/unit/model/experiments.h"

namespace pktpit::model {
namespace {

struct Case {
    Program program;
    Transfer transfer;
    unsigned slice;
};

ExperimentSettings traffic(const Case& item, uint32_t size, double load) {
    ExperimentSettings settings = drained(item.program, both_ways(load));
    settings.transfer = item.transfer;
    settings.slice = item.slice;
    settings.traffic.size = size;
    settings.traffic.poisson = true;
    return settings;
}

void expect_clean(const ExperimentResult& result, bool l3fwd = false) {
    expect_at_rest(result);
    expect_whole_and_in_order(result);
    const NicSums nics(result);
    // Of pktpit's the NIC counts them, when it is told.
    const uint64_t dropped = nics.dropped + result.cpu.tx_full + (l3fwd ? result.cpu.no_route : 0);
    EXPECT_EQ(nics.received, result.after_draining.offered);
    EXPECT_EQ(nics.received, nics.sent + dropped) << "a packet is neither sent nor counted";
    EXPECT_GT(nics.sent, 0U);
}

class Programs : public testing::TestWithParam<Case> {};

TEST_P(Programs, ForwardEverythingAtModestLoad) {
    for (const char* name : {"two-nics", "root-ports", "two-nics-acs"}) {
        SCOPED_TRACE(name);
        const ExperimentResult result = run(name, traffic(GetParam(), 0, 0.05));
        expect_clean(result);
        for (const NicCounters& nic : result.nics)
            EXPECT_EQ(nic.no_slot, 0U);
    }
}

TEST_P(Programs, CountWhatTheyDropUnderOverload) {
    expect_clean(run("two-nics", traffic(GetParam(), 64, 1)));
}

TEST_P(Programs, SurviveTinyBuffers) {
    const Profile tiny = with("generic", {{"link.posted_headers", 1},
                                          {"link.posted_data", 256},
                                          {"link.non_posted_headers", 1},
                                          {"link.completion_headers", 1},
                                          {"link.completion_data", 64},
                                          {"dma.tags", 1},
                                          {"nic.slots", 64},
                                          {"nic.window", 64},
                                          {"nic.credit_batch", 64},
                                          {"root.peer_reads", 1}});
    for (const char* name : {"two-nics", "root-ports"})
        expect_clean(run(name, traffic(GetParam(), 0, 0.5), tiny));
}

TEST_P(Programs, ForwardToANicOnceItHasBeenAdded) {
    auto settings = traffic(GetParam(), 128, 0.1);
    settings.traffic.flows = {{0, 0, 1, 0, 0.1}, {0, 1, 0, 0, 0.1}};
    settings.hot_add = {1, 50 * microsecond};
    const bool l3fwd = GetParam().program == Program::l3fwd;
    const ExperimentResult result = run("two-nics", settings);
    expect_clean(result, l3fwd);
    EXPECT_EQ(result.root.configured, 1U);
    const uint64_t unroutable = result.nics[0].no_route + (l3fwd ? result.cpu.no_route : 0);
    const auto offered = static_cast<double>(result.after_draining.offered);
    EXPECT_NEAR(static_cast<double>(unroutable), 0.25 * offered, 0.1 * offered);
    EXPECT_GT(result.nics[1].sent, 50U);
}

TEST_P(Programs, RunTheSameForTheSameSeed) {
    const auto settings = traffic(GetParam(), 0, 0.4);
    const Profile profile = *Profile::open("kakenhi");
    const ExperimentResult first = run("two-nics", settings, profile);
    const ExperimentResult second = run("two-nics", settings, profile);
    EXPECT_EQ(first.events, second.events);
    EXPECT_EQ(first.latency_mean_ns, second.latency_mean_ns);
    for (size_t i = 0; i < first.links.size(); i++)
        EXPECT_EQ(first.links[i].counters, second.links[i].counters);
}

INSTANTIATE_TEST_SUITE_P(
    All, Programs,
    testing::Values(Case{Program::l3fwd, Transfer::write, 0}, Case{Program::p2pnic, Transfer::write, 0},
                    Case{Program::p2pnic, Transfer::read, 0}, Case{Program::p2pnic, Transfer::bounce, 0},
                    Case{Program::pktpit, Transfer::write, 0}, Case{Program::pktpit, Transfer::write, 128},
                    Case{Program::pktpit, Transfer::read, 64}, Case{Program::pktpit, Transfer::bounce, 0}),
    [](const auto& test) {
        return name_of(test.param.program, test.param.transfer) + "_" + std::to_string(test.param.slice);
    });

TEST(Programs, RefuseFlowsThatTheTopologyHasNot) {
    ExperimentSettings settings;
    settings.traffic.flows = {{0, 0, 7, 0, 1}};
    const auto result = run_experiment(*Topology::open("two-nics"), *Profile::open("generic"), settings);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().where, "flow");
}

TEST(Programs, AJourneyIsWrittenDownInOrder) {
    ExperimentSettings settings;
    settings.traffic.flows = {{0, 0, 1, 0, 1}};
    settings.traffic.most = 1;
    settings.traffic.size = 512;
    settings.trace = 1;
    settings.drain = true;
    std::vector<std::string> tlps;
    for (const TraceEntry& entry : run("two-nics", settings).trace)
        if (entry.is_tlp) tlps.push_back(entry.from + " " + entry.to + " " + entry.what);
    EXPECT_EQ(tlps, (std::vector<std::string>{"nic0 switch MWr 256 B", "nic0 switch MWr 256 B",
                                              "nic0 switch MWr 16 B", "switch nic1 MWr 256 B",
                                              "switch nic1 MWr 256 B", "switch nic1 MWr 16 B"}));
}

}  // namespace
}  // namespace pktpit::model
