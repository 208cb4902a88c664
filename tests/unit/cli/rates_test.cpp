// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/rates.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

json counters(double time, uint64_t packets, uint64_t forwarded) {
    const json port = {{"rx_packets", packets},
                       {"rx_bytes", packets * 64},
                       {"tx_packets", packets / 2},
                       {"tx_bytes", packets * 32},
                       {"verdicts", {{"forwarded", forwarded}, {"host_arp", 3}}}};
    return {{"time", time},
            {"ports", {{"eth0", port}}},
            {"totals", port},
            {"slow_path", {{"icmp4_sent", packets / 10}}}};
}

TEST(Rates, ByTheDaemonsClock) {
    const Rates rates = rates_between(counters(10, 1000, 900), counters(12, 3000, 2900), 99);
    EXPECT_DOUBLE_EQ(rates.interval, 2);
    const PortRates& port = rates.ports.at("eth0");
    EXPECT_DOUBLE_EQ(port.rx_packets, 1000);
    EXPECT_DOUBLE_EQ(port.rx_bits, 64'000 * 8);
    EXPECT_DOUBLE_EQ(port.tx_packets, 500);
    EXPECT_DOUBLE_EQ(port.tx_bits, 32'000 * 8);
    EXPECT_EQ(port.verdicts, (std::map<std::string, double>{{"forwarded", 1000}}));
    EXPECT_EQ(rates.slow_path, (std::map<std::string, double>{{"icmp4_sent", 100}}));
    EXPECT_DOUBLE_EQ(rates.totals.rx_packets, 1000);
}

TEST(Rates, RestartedDaemonGoesByOurClock) {
    const Rates rates = rates_between(counters(1000, 1000, 900), counters(1, 5000, 4900), 4);
    EXPECT_DOUBLE_EQ(rates.interval, 4);
    EXPECT_DOUBLE_EQ(rates.ports.at("eth0").rx_packets, 1000);
}

TEST(Rates, CountersThatBeganAnewCountFromZero) {
    const Rates rates = rates_between(counters(10, 5000, 5000), counters(11, 300, 300), 1);
    EXPECT_DOUBLE_EQ(rates.ports.at("eth0").rx_packets, 300);
}

TEST(Rates, PortsComeAndGo) {
    json before = counters(1, 100, 100);
    json after = counters(2, 200, 200);
    after["ports"]["eth1"] = after["ports"]["eth0"];
    EXPECT_DOUBLE_EQ(rates_between(before, after, 1).ports.at("eth1").rx_packets, 200);
    EXPECT_EQ(rates_between(after, before, 1).ports.size(), 1U);
}

TEST(Rates, AnswersOfAnyShapeAreSurvived) {
    for (const char* text :
         {"null", "[]", "7", "{}", R"({"ports": 7})", R"({"ports": {"a": null}, "time": "x"})",
          R"({"ports": {"a": {"verdicts": [1], "rx_packets": -1}}, "slow_path": {"x": "y"}})"}) {
        const json odd = json::parse(text);
        (void)rates_between(odd, odd, 1);
        (void)rates_between(counters(1, 1, 1), odd, 1);
        (void)rates_between(odd, odd, 0);
    }
}

}  // namespace
}  // namespace pktpit::router::cli
