// SPDX-License-Identifier: BSD-3-Clause
// NIC programs under traffic: what comes in comes out, once, whole and by the right port, or is counted as
// dropped; the fabric is at rest afterwards.
#include <gtest/gtest.h>

#include "offload/model/experiment.h"

namespace pktpit::model {
namespace {

struct Case {
    Program program;
    Transfer transfer;
    unsigned slice;
};

Topology topology(const std::string& name) {
    return *Topology::open(name);
}
Profile profile(const std::string& name) {
    return *Profile::open(name);
}

ExperimentSettings traffic(const Case& item, uint32_t size, double load) {
    ExperimentSettings settings;
    settings.program = item.program;
    settings.transfer = item.transfer;
    settings.slice = item.slice;
    settings.traffic.size = size;
    settings.traffic.poisson = true;
    settings.traffic.flows = {{0, 0, 1, 0, load}, {0, 1, 1, 1, load}, {1, 0, 0, 0, load}, {1, 1, 1, 0, load}};
    settings.traffic.stop = 100 * microsecond;
    settings.warm_up = 0;
    settings.duration = 100 * microsecond;
    settings.drain = true;
    return settings;
}

void expect_clean(const ExperimentResult& result, bool l3fwd = false) {
    EXPECT_TRUE(result.at_rest) << "deadlock or livelock";
    EXPECT_EQ(result.tlps_left, 0U);
    EXPECT_TRUE(result.credits_whole);
    EXPECT_EQ(result.after_draining.damaged, 0U);
    EXPECT_EQ(result.after_draining.doubled, 0U);
    EXPECT_EQ(result.after_draining.reordered, 0U);
    uint64_t received = 0, sent = 0, dropped = result.cpu.tx_full;
    // Of pktpit's the NIC counts them, when it is told.
    if (l3fwd) dropped += result.cpu.no_route;
    for (const NicCounters& nic : result.nics) {
        received += nic.received;
        sent += nic.sent;
        dropped += nic.no_slot + nic.no_route + nic.too_long + nic.dma_errors;
    }
    EXPECT_EQ(received, result.after_draining.offered);
    EXPECT_EQ(received, sent + dropped) << "a packet is neither sent nor counted";
    EXPECT_GT(sent, 0U);
}

class Programs : public testing::TestWithParam<Case> {};

TEST_P(Programs, ForwardEverythingAtModestLoad) {
    for (const char* name : {"two-nics", "root-ports", "two-nics-acs"}) {
        SCOPED_TRACE(name);
        const auto result = run_experiment(topology(name), profile("generic"), traffic(GetParam(), 0, 0.05));
        ASSERT_TRUE(result);
        expect_clean(*result);
        for (const NicCounters& nic : result->nics)
            EXPECT_EQ(nic.no_slot, 0U);
    }
}

TEST_P(Programs, CountWhatTheyDropUnderOverload) {
    const auto result = run_experiment(topology("two-nics"), profile("generic"), traffic(GetParam(), 64, 1));
    ASSERT_TRUE(result);
    expect_clean(*result);
}

TEST_P(Programs, SurviveTinyBuffers) {
    Profile tiny = profile("generic");
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, double>>{{"link.posted_headers", 1},
                                                               {"link.posted_data", 256},
                                                               {"link.non_posted_headers", 1},
                                                               {"link.completion_headers", 1},
                                                               {"link.completion_data", 64},
                                                               {"dma.tags", 1},
                                                               {"nic.slots", 64},
                                                               {"nic.window", 64},
                                                               {"nic.credit_batch", 64},
                                                               {"root.peer_reads", 1}})
        ASSERT_TRUE(tiny.set(name, value, "test"));
    for (const char* name : {"two-nics", "root-ports"}) {
        const auto result = run_experiment(topology(name), tiny, traffic(GetParam(), 0, 0.5));
        ASSERT_TRUE(result);
        expect_clean(*result);
    }
}

TEST_P(Programs, ForwardToANicOnceItHasBeenAdded) {
    auto settings = traffic(GetParam(), 128, 0.1);
    settings.traffic.flows = {{0, 0, 1, 0, 0.1}, {0, 1, 0, 0, 0.1}};
    settings.hot_add = {1, 50 * microsecond};
    const auto result = run_experiment(topology("two-nics"), profile("generic"), settings);
    ASSERT_TRUE(result) << result.error().to_string();
    expect_clean(*result, GetParam().program == Program::l3fwd);
    EXPECT_EQ(result->root.configured, 1U);
    const uint64_t unroutable =
        result->nics[0].no_route + (GetParam().program == Program::l3fwd ? result->cpu.no_route : 0);
    EXPECT_NEAR(static_cast<double>(unroutable), 0.25 * static_cast<double>(result->after_draining.offered),
                0.1 * static_cast<double>(result->after_draining.offered));
    EXPECT_GT(result->nics[1].sent, 50U);
}

TEST_P(Programs, RunTheSameForTheSameSeed) {
    const auto settings = traffic(GetParam(), 0, 0.4);
    const auto first = run_experiment(topology("two-nics"), profile("kakenhi"), settings);
    const auto second = run_experiment(topology("two-nics"), profile("kakenhi"), settings);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->events, second->events);
    EXPECT_EQ(first->latency_mean_ns, second->latency_mean_ns);
    for (size_t i = 0; i < first->links.size(); i++)
        EXPECT_EQ(first->links[i].counters, second->links[i].counters);
}

INSTANTIATE_TEST_SUITE_P(
    All, Programs,
    testing::Values(Case{Program::l3fwd, Transfer::write, 0}, Case{Program::p2pnic, Transfer::write, 0},
                    Case{Program::p2pnic, Transfer::read, 0}, Case{Program::p2pnic, Transfer::bounce, 0},
                    Case{Program::pktpit, Transfer::write, 0}, Case{Program::pktpit, Transfer::write, 128},
                    Case{Program::pktpit, Transfer::read, 64}, Case{Program::pktpit, Transfer::bounce, 0}),
    [](const auto& test) {
        return std::string(to_string(test.param.program)) + "_" +
               std::string(to_string(test.param.transfer)) + "_" + std::to_string(test.param.slice);
    });

TEST(Programs, RefuseFlowsThatTheTopologyHasNot) {
    ExperimentSettings settings;
    settings.traffic.flows = {{0, 0, 7, 0, 1}};
    const auto result = run_experiment(topology("two-nics"), profile("generic"), settings);
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
    const auto result = run_experiment(topology("two-nics"), profile("generic"), settings);
    ASSERT_TRUE(result);
    std::vector<std::string> tlps;
    for (const TraceEntry& entry : result->trace)
        if (entry.is_tlp) tlps.push_back(entry.from + " " + entry.to + " " + entry.what);
    EXPECT_EQ(tlps, (std::vector<std::string>{"nic0 switch MWr 256 B", "nic0 switch MWr 256 B",
                                              "nic0 switch MWr 16 B", "switch nic1 MWr 256 B",
                                              "switch nic1 MWr 256 B", "switch nic1 MWr 16 B"}));
}

}  // namespace
}  // namespace pktpit::model
