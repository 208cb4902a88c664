// SPDX-License-Identifier: BSD-3-Clause
// Checks of sources, rates and samples: what their keys say, and what they cannot say.
#include <nlohmann/json.hpp>

#include <random>

#include "meaning_cases.h"

namespace pktpit::config {
namespace {

using test::expect_cases;

std::string with_interface(const std::string& keys) {
    return R"({"interfaces": {"eth0": {)" + keys + "}}}";
}

TEST(Guards, RatesAreReadAndWritten) {
    EXPECT_EQ(parse_rate("100 Mbit/s"), 100'000'000u);
    EXPECT_EQ(parse_rate("2.5Gbit/s"), 2'500'000'000u);
    EXPECT_EQ(parse_rate("64 kbit/s"), 64'000u);
    EXPECT_EQ(parse_rate("9600 bit/s"), 9'600u);
    for (const char* wrong :
         {"", "100", "Mbit/s", "100 Mbit", "100  Mbit/s", "-1 Mbit/s", "1e3 Mbit/s", "100 MB/s", "999 bit/s",
          "1001 Gbit/s", "inf Gbit/s", "nan bit/s", "100 Mbit/s "})
        EXPECT_FALSE(parse_rate(wrong)) << wrong;
    std::mt19937_64 random(5);
    for (int i = 0; i < 10'000; i++) {
        const uint64_t bits = 1'000 + random() % (uint64_t{1} << (10 + i % 30));
        EXPECT_EQ(parse_rate(rate_text(bits)), bits) << rate_text(bits);
    }
    EXPECT_EQ(rate_text(100'000'000), "100 Mbit/s");
    EXPECT_EQ(rate_text(2'500'000), "2.5 Mbit/s");
    EXPECT_EQ(rate_text(1'234'567), "1234.567 kbit/s");
}

TEST(Guards, KeysOfAnInterface) {
    const auto config = parse(with_interface(R"("rpf": "loose", "police_in": "100 Mbit/s")"), "/");
    ASSERT_TRUE(config);
    const Interface& eth0 = config->interfaces.at("eth0");
    EXPECT_EQ(eth0.rpf, Rpf::loose);
    EXPECT_EQ(eth0.police_in, (Rate{100'000'000, 625'000}));
    const auto small = parse(with_interface(R"("police_in": "64 kbit/s", "police_burst": 9000)"), "/");
    ASSERT_TRUE(small);
    EXPECT_EQ(small->interfaces.at("eth0").police_in, (Rate{64'000, 9'000}));
    EXPECT_EQ(default_burst(64'000), 32'768u);
}

TEST(Guards, WhatTheyCannotBe) {
    expect_cases(
        with_interface,
        {
            {R"("rpf": "strict", "police_in": "1 Gbit/s")"},
            {R"("police_in": "fast")", "/interfaces/eth0/police_in", "no rate", "100 Mbit/s"},
            {R"("police_in": "10 bit/s")", "/interfaces/eth0/police_in", "no rate", "1 kbit/s"},
            {R"("police_burst": 5000)", "/interfaces/eth0/police_burst", "no rate that it belongs to"},
            {R"("sample": 100)", "/interfaces/eth0/sample", "nobody gets", "/sflow"},
        });
}

TEST(Guards, APeerDeviceKnowsNone) {
    const Errors errors = test::errors_of(
        R"({"dataplane": "vfio", "vfio": {"peer": {}, "payload_memory": {"kind": "pci_bar", "pci": "0000:0b:00.0", "bar": 2}},
            "filters": {"f": [{"action": "drop"}]}, "host_police": {"arp": 5},
            "interfaces": {"eth0": {"pci": "0000:0a:00.0", "rpf": "strict", "police_in": "1 Mbit/s", "filter_in": "f", "filter_out": "f"}}})");
    EXPECT_THAT(test::places(errors),
                testing::IsSupersetOf({"/interfaces/eth0/rpf", "/interfaces/eth0/police_in", "/host_police",
                                       "/interfaces/eth0/filter_in", "/interfaces/eth0/filter_out"}));
}

TEST(Guards, CollectorsOfSamples) {
    const auto config = parse(R"({"interfaces": {"eth0": {"sample": 7}},
        "sflow": {"collectors": ["192.0.2.9", "[2001:db8::9]:99"], "agent": "2001:db8::1"}})",
                              "/");
    ASSERT_TRUE(config) << test::all_text(config.error());
    ASSERT_EQ(config->sflow.collectors.size(), 2u);
    EXPECT_EQ(config->sflow.collectors[0].port, 6343);
    EXPECT_EQ(config->sflow.collectors[1].port, 99);
    EXPECT_EQ(config->interfaces.at("eth0").sample, 7u);
    const auto with_sflow = [](const std::string& collectors) {
        return R"({"interfaces": {}, "sflow": {"agent": "192.0.2.1", "collectors": [)" + collectors + "]}}";
    };
    expect_cases(with_sflow,
                 {{R"("192.0.2.9:0")", "/sflow/collectors/0", "no address of a collector", "6343"},
                  {R"("0.0.0.0")", "/sflow/collectors/0", "no collector"},
                  {R"("192.0.2.9", "x")", "/sflow/collectors/1", "no address of a collector"}});
}

}  // namespace
}  // namespace pktpit::config
