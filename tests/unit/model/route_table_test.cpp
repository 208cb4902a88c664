// SPDX-License-Identifier: BSD-3-Clause
// Real tables: programs decide by lookups in FIB images, on the CPU and in a NIC's memory.
#include "offload/model/route_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "offload/model/cpu_times.h"
#include "tests/unit/model/experiments.h"

namespace pktpit::model {
namespace {

std::shared_ptr<const RouteTable> table() {
    static const auto made = *RouteTable::generate(20000);
    return made;
}

/// By going through all prefixes.
const Prefix* longest(uint32_t address) {
    const IpAddress ip = IpAddress::v4(address);
    const Prefix* best = nullptr;
    for (const Prefix& prefix : table()->prefixes())
        if (prefix.contains(ip) && (!best || prefix.length > best->length)) best = &prefix;
    return best;
}

TEST(RouteTable, DestinationsAreWithinItsPrefixes) {
    EXPECT_EQ(table()->prefixes().size(), 20000U);
    const Destinations where(*table(), 200, 0, 7);
    for (size_t i = 0; i < 200; i++) {
        const Prefix* prefix = longest(where.addresses()[i]);
        ASSERT_TRUE(prefix);
        EXPECT_EQ(table()->image().find(*prefix), where.next_hop(static_cast<uint32_t>(i)));
    }
}

TEST(RouteTable, SharesAreZipfs) {
    for (const double zipf : {0.0, 1.0}) {
        const Destinations where(*table(), 100, zipf, 7);
        std::array<size_t, 100> counts{};
        constexpr size_t draws = 400000;
        for (size_t n = 0; n < draws; n++)
            counts[where.index(3, n)]++;
        double sum = 0;
        for (size_t k = 1; k <= 100; k++)
            sum += 1 / std::pow(static_cast<double>(k), zipf);
        for (const size_t k : {1, 2, 10, 100}) {
            const double expected = draws / std::pow(static_cast<double>(k), zipf) / sum;
            EXPECT_NEAR(static_cast<double>(counts[k - 1]), expected, expected * 0.08) << k;
        }
    }
}

TEST(RouteTable, ANicHoldsTheBusiestAndNeverDecidesOtherwiseThanTheWholeTable) {
    const Destinations where(*table(), 5000, 1, 7);
    const EgressPorts ports = {{1, 0}, {1, 1}, {2, 0}};
    size_t before = 0;
    for (const uint64_t kib : {16, 64, 4096}) {
        FlatMemory memory(NicFib::bytes_for(kib << 10, ports.size()));
        NicFib fib({memory.at(0), memory.size()}, kib << 10, *table(), where, ports);
        TableDecider whole(*table(), ports);
        std::array<std::byte, 64> frame{};
        frame[12] = std::byte{8};
        frame[14] = std::byte{0x45};
        size_t hits = 0;
        for (const uint32_t address : where.addresses()) {
            for (size_t i = 0; i < 4; i++)
                frame[30 + i] = static_cast<std::byte>(address >> (24 - 8 * i));
            const Egress there = whole.decide(0, 0, frame.data(), 64);
            const Egress here = fib.decide(0, 0, frame.data(), 64);
            ASSERT_TRUE(there.forward);
            hits += here.forward;
            EXPECT_TRUE(!here.forward || (here.nic == there.nic && here.port == there.port));
        }
        EXPECT_GT(hits, before);
        EXPECT_EQ(fib.full(), hits < where.addresses().size()) << kib;
        before = hits;
    }
    EXPECT_EQ(before, where.addresses().size()) << "4 MiB hold them all";
}

class RoutedByTable : public testing::TestWithParam<Program> {};

TEST_P(RoutedByTable, EverythingComesOutWhereTheTableSays) {
    ExperimentSettings settings =
        drained(GetParam(), {{0, 0, 1, 0, 0.1}, {0, 1, 1, 1, 0.1}, {1, 0, 0, 0, 0.1}}, 200 * microsecond);
    settings.table = table();
    settings.destinations = std::make_shared<const Destinations>(*table(), 4096, 1.0, 3);
    settings.traffic.size = 0;
    settings.traffic.poisson = true;
    settings.duration = 260 * microsecond;  // all is out by then
    const ExperimentResult result = run("two-nics", settings, with("generic", {{"nic.fib_kib", 64}}));
    expect_at_rest(result);
    expect_whole_and_in_order(result);
    const TrafficCounters& traffic = result.after_draining;
    EXPECT_GT(traffic.delivered, 500U);
    EXPECT_EQ(traffic.delivered, traffic.offered);
    uint64_t hits = 0, misses = 0;
    for (const NicCounters& nic : result.nics) {
        hits += nic.fib_hits;
        misses += nic.fib_misses;
    }
    if (GetParam() == Program::p2pnic) {
        EXPECT_EQ(hits + misses, traffic.offered);
        EXPECT_GT(hits, misses) << "the busiest are on the NIC";
        EXPECT_GT(misses, 0U);
        EXPECT_EQ(result.cpu.packets, misses) << "the host decides what the NIC does not hold";
    } else {
        EXPECT_EQ(hits + misses, 0U);
        EXPECT_EQ(result.cpu.packets, traffic.offered);
    }
}

INSTANTIATE_TEST_SUITE_P(Programs, RoutedByTable,
                         testing::Values(Program::l3fwd, Program::p2pnic, Program::pktpit),
                         name_of_parameter);

TEST(RouteTable, RefusesFilesWithoutRoutes) {
    EXPECT_FALSE(RouteTable::open("/nonexistent"));
}

TEST(CpuTimes, AreTheRatesOfOneCore) {
    Profile profile = *Profile::open("generic");
    const std::string report = R"({"panels":[
        {"family":"ipv4","cores":"cpu","routes":10,"series":[{"forwarder":"l3fwd lpm","mpps":{"median":99}}]},
        {"family":"ipv4","cores":"cpu","routes":1000,"series":[
            {"forwarder":"l3fwd lpm","mpps":{"median":20}},{"forwarder":"l3fwd fib","mpps":{"median":25}},
            {"forwarder":"l3fwd em","mpps":{"median":90}},
            {"forwarder":"pktpit dpdk","mpps":{"median":50}}]}]})";
    ASSERT_TRUE(take_cpu_times(profile, report, "report.json"));
    EXPECT_EQ(profile.value("cpu.packet_ns"), 40);
    EXPECT_EQ(profile.value("cpu.slice_packet_ns"), 20);
    EXPECT_EQ(profile.value("cpu.burst_ns"), 0);
    EXPECT_NE(profile.constants().find("cpu.packet_ns")->second.source.find("report.json"),
              std::string::npos);
    for (const char* bad : {"", "{}", R"({"panels":[]})", R"({"panels":7})",
                            R"({"panels":[{"family":"ipv4","cores":"cpu","routes":1,"series":[]}]})"})
        EXPECT_FALSE(take_cpu_times(profile, bad, "bad")) << bad;
}

}  // namespace
}  // namespace pktpit::model
