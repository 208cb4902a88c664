// SPDX-License-Identifier: BSD-3-Clause
// Translation under peer traffic (IOTLB misses, relaxed ordering, ATS) and CXL.mem as payload memory, against
// closed formulas that are worked out here.
#include <gtest/gtest.h>

#include "offload/model/build.h"
#include "offload/model/dma_pattern.h"
#include "tests/unit/model/experiments.h"

namespace pktpit::model {
namespace {

constexpr double gen3_x8_share = 57.88e9 / 8;  // pcie-bench's: bytes a second, DLLPs charged as a share
constexpr uint32_t framing_and_header = 8 + 16;

/// Writes a second of NIC 0 to NIC 1: `bytes` each, so far apart, around `pages` pages.
double writes_per_second(const char* topology, const Profile& profile, uint32_t bytes, uint64_t stride,
                         uint64_t places, RootCounters* root = nullptr) {
    Machine machine = build_machine(*Topology::open(topology), profile);
    DmaPattern pattern(*machine.fabric, *machine.nic_endpoints[0],
                       {{false, machine.nic_endpoints[1]->settings().bar, stride, places, bytes}}, 64);
    const double rate = measure(*machine.fabric, pattern, 100 * microsecond, 400 * microsecond);
    if (root) *root = machine.fabric->root().counters();
    return rate;
}

// Each write to another page, of more than the IOTLB holds: walks are all that counts, so many at once.
TEST(Iotlb, MissesOfPeerTrafficTakeTheWalkers) {
    for (const unsigned walkers : {1U, 2U, 4U}) {
        const Profile profile =
            with("generic", {{"iommu.entries", 64}, {"iommu.walkers", walkers}, {"iommu.walk_ns", 500}});
        EXPECT_NEAR(writes_per_second("two-nics-acs", profile, 64, 4096, 1000), walkers / 500e-9,
                    0.01 * walkers / 500e-9)
            << walkers;
    }
    // All on one page: the link.
    const double all_hit =
        writes_per_second("two-nics-acs", with("generic", {{"iommu.walk_ns", 500}}), 64, 64, 64);
    EXPECT_NEAR(all_hit, gen3_x8_share / (64 + framing_and_header), 0.01 * all_hit);
}

struct Landing : Device {
    explicit Landing(Fabric& of) : fabric(of) {}
    void memory_written(uint64_t offset, uint32_t, uint64_t) override {
        at[offset / 4096 % 2] = fabric.events().now();
    }
    void dma_done(uint64_t, DmaResult) override {}
    Fabric& fabric;
    std::array<Time, 2> at{};
};

// A write that misses, and behind it one whose page is known: with relaxed ordering it does not wait.
TEST(Iotlb, RelaxedOrderingPassesAMiss) {
    constexpr double walk = 700;
    for (const bool relaxed : {false, true}) {
        Machine machine =
            build_machine(*Topology::open("two-nics-acs"), with("generic", {{"iommu.walk_ns", walk}}));
        Landing landing(*machine.fabric);
        machine.nic_endpoints[1]->attach(landing);
        const std::array<std::byte, 64> bytes{};
        const uint64_t bar = machine.nic_endpoints[1]->settings().bar;
        Requester& dma = machine.nic_endpoints[0]->dma();
        const Requester::Options options{Requester::no_cookie, 0, relaxed, TlpType::memory_write};
        dma.write(bar + 4096, bytes.data(), 64, options);  // page 1 is known now
        machine.fabric->events().run_until(20 * microsecond);
        dma.write(bar, bytes.data(), 64, options);
        dma.write(bar + 4096, bytes.data(), 64, options);
        machine.fabric->events().run_until(40 * microsecond);
        const double later = to_ns(landing.at[1]) - to_ns(landing.at[0]);
        const double on_the_link = (64 + framing_and_header) / gen3_x8_share * 1e9;
        EXPECT_NEAR(later, relaxed ? on_the_link - walk : on_the_link, 2) << relaxed;
    }
}

TEST(Ats, TranslatedRequestsGoStraightToPeers) {
    RootCounters with_ats, without;
    const Profile profile = *Profile::open("generic");
    const double straight = writes_per_second("two-nics", profile, 256, 2048, 512);
    const double ats = writes_per_second("two-nics-ats", with("generic", {{"iommu.page_bytes", 2 << 20}}),
                                         256, 2048, 512, &with_ats);
    (void)writes_per_second("two-nics-acs", profile, 256, 2048, 512, &without);
    EXPECT_NEAR(ats / straight, 1, 0.001);
    EXPECT_EQ(with_ats.peer_requests, 0U);
    EXPECT_GT(without.peer_requests, 1000U);
    EXPECT_GE(with_ats.translations, 1U);
    EXPECT_LE(with_ats.translations, 2U) << "of 1 MiB that may lie on two pages";
}

// Each write to a page that the device does not know any more: one round trip to the root complex for each,
// one after the other, since writes leave in order.
TEST(Ats, AMissIsARoundTrip) {
    const Profile profile =
        with("generic", {{"ats.entries", 8}, {"iommu.entries", 64}, {"iommu.walk_ns", 300}});
    const double link8 = gen3_x8_share / 1e9, link16 = 2 * link8;  // bytes a nanosecond
    // Up: a read of 8 bytes, 24 on the wire, first into the switch and out again cut-through (the wider link
    // waits until it would not run dry); at the root it is looked at when its last bit is there. Down: a
    // completion with 8 bytes, 28 on the wire; it is whole when its last bit has come by the narrower link.
    const double hops = 2 * (5 + 5) + 2 * 150;
    const double up = 24 / link8 + 150 + 300;  // root.latency_ns, a walk
    const double down = 28 / link8;            // begins to leave the switch when it begins to come in
    const double write = (64 + framing_and_header) / link8;
    // The next translation is asked for when the write has been given to the link, and leaves behind it.
    const double expected = 1e9 / (hops + up + down + write);
    const double got = writes_per_second("two-nics-ats", profile, 64, 4096, 1000);
    EXPECT_NEAR(got / expected, 1, 0.02)
        << 1e9 / got << " ns, expected " << 1e9 / expected << ", wide link " << link16;
}

TEST(Ats, ProgramsLoseNothingWithIt) {
    for (const Transfer transfer : {Transfer::write, Transfer::read, Transfer::bounce}) {
        for (const bool relaxed : {false, true}) {
            ExperimentSettings settings = drained(relaxed ? Program::pktpit : Program::p2pnic,
                                                  {{0, 0, 1, 0, 0.05}, {1, 0, 0, 0, 0.05}});
            settings.transfer = transfer;
            settings.relaxed_payload = relaxed;
            settings.traffic.size = 0;
            const ExperimentResult result =
                run("two-nics-ats", settings, with("generic", {{"ats.entries", 4}}));
            EXPECT_EQ(result.after_draining.delivered, result.after_draining.offered);
            EXPECT_EQ(result.after_draining.damaged, 0U);
            expect_at_rest(result);
            EXPECT_GT(result.root.translations, 4U);
            EXPECT_EQ(result.root.peer_requests, 0U);
        }
    }
}

TEST(Ats, NeedsSomebodyWhoTranslates) {
    const auto refused = Topology::parse(
        R"({"name": "x", "ats": true, "root_ports": [{"name": "n", "kind": "nic", "gbps": [1], "link": {"gen": 3, "lanes": 8}}]})");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().front().where, "/ats");
}

// A line of 64 bytes is five slots of 17 bytes on the link to the memory, a request one.
TEST(Cxl, CarriesLinesInSlots) {
    Topology topology = *Topology::open("gen5-cxl");
    const double line_rate = 32e9 * 8 / 8 * 128 / 130;  // Gen 5 x8, bytes a second
    for (const bool read : {false, true}) {
        // Reads' completions need headers for each line; a deep buffer of writes would count what has not
        // arrived.
        const Profile profile = with("generic", {{"dma.tags", 1024},
                                                 {"root.peer_reads", 1024},
                                                 {"link.non_posted_headers", 4096},
                                                 {"link.completion_headers", 4096},
                                                 {"link.completion_data", 65535}});
        Machine machine = build_machine(topology, profile);
        DmaPattern pattern(*machine.fabric, *machine.nic_endpoints[0],
                           {{read, machine.memories[0]->settings().bar, 2048, 512, 1024}}, 256);
        const double rate = measure(*machine.fabric, pattern, 50 * microsecond, 1000 * microsecond) * 1024;
        EXPECT_NEAR(rate / (line_rate * 64 / (5 * 17)), 1, 0.01) << read;
    }
}

TEST(Cxl, HoldsPayloadsInsteadOfMainMemory) {
    ExperimentSettings settings = drained(Program::p2pnic, {{0, 0, 1, 0, 0.1}});
    settings.transfer = Transfer::bounce;
    settings.payload_memory = "cxl0";
    settings.traffic.size = 512;
    settings.duration = 200 * microsecond;  // all has come out by then
    const Topology topology = *Topology::open("gen5-cxl");
    const Profile profile = *Profile::open("gen5");
    const ExperimentResult result = run(topology, settings, profile);
    EXPECT_EQ(result.after_draining.delivered, result.after_draining.offered);
    EXPECT_EQ(result.after_draining.damaged, 0U);
    EXPECT_EQ(result.root.memory_writes, 0U);
    EXPECT_EQ(result.root.memory_reads, 0U);
    const auto* link = result.link("root", "cxl0");
    const auto writes = link->counters.tlps[static_cast<size_t>(TlpType::memory_write)];
    // 512 bytes that begin at a line are eight, headroom is 64 bytes.
    EXPECT_EQ(writes, 8 * result.after_draining.delivered);
    settings.payload_memory = "nic0";
    EXPECT_EQ(run_experiment(topology, profile, settings).error().where, "payload memory");
    settings.payload_memory = "cxl0";
    settings.transfer = Transfer::write;
    EXPECT_EQ(run_experiment(topology, profile, settings).error().where, "payload memory");
}

TEST(Cxl, HangsAtARootPortThatIsFastEnough) {
    for (const auto& [root_ports, where] : std::initializer_list<std::pair<const char*, const char*>>{
             {R"({"name": "s", "kind": "switch", "link": {"gen": 5, "lanes": 8}, "below": [
                  {"name": "m", "kind": "memory", "protocol": "cxl", "link": {"gen": 5, "lanes": 8}}]})",
              "/root_ports/0/below/0/protocol"},
             {R"({"name": "m", "kind": "memory", "protocol": "cxl", "link": {"gen": 4, "lanes": 8}})",
              "/root_ports/0/link/gen"}}) {
        const auto refused =
            Topology::parse(R"({"name": "x", "root_ports": [)" + std::string(root_ports) + "]}");
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().front().where, where);
    }
    const Topology topology = *Topology::open("gen5-cxl");
    EXPECT_EQ(Topology::parse(topology.to_json_text())->to_json_text(), topology.to_json_text());
}

}  // namespace
}  // namespace pktpit::model
