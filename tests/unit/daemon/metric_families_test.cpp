// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "router/daemon/metrics_reading.h"

namespace pktpit::router {
namespace {

/// The last bucket whose border is not below the value has it; the one before does not.
TEST(MetricFamilies, HistogramsCountWhatIsNotAboveTheirBorder) {
    std::mt19937_64 random(3);
    std::lognormal_distribution<double> spread(13, 4);
    LatencyHistogram histogram;
    std::vector<uint64_t> all;
    double sum = 0;
    for (int i = 0; i < 20'000; i++) {
        const auto taken = static_cast<uint64_t>(spread(random));
        histogram.add(taken, 1);
        all.push_back(taken);
        sum += static_cast<double>(taken) * 1e-9;
    }
    const auto metric = latency_histogram(histogram.read()).histogram;
    ASSERT_EQ(metric.bucket.size(), 22u);
    for (const auto& bucket : metric.bucket) {
        const auto below = std::ranges::count_if(all, [&](uint64_t taken) {
            return std::isinf(bucket.upper_bound) ||
                   static_cast<double>(taken) <= bucket.upper_bound * 1e9 + 0.5;
        });
        EXPECT_EQ(bucket.cumulative_count, static_cast<uint64_t>(below)) << bucket.upper_bound;
    }
    EXPECT_TRUE(std::isinf(metric.bucket.back().upper_bound));
    EXPECT_EQ(metric.sample_count, all.size());
    EXPECT_NEAR(metric.sample_sum, sum, sum * 1e-6);
}

TEST(MetricFamilies, NamesAreOnceAndSampledWithEveryVerdict) {
    MetricsValues values;
    values.ports.resize(2);
    values.ports[0].name = "eth0";
    values.ports[1].name = "a\"b\\c\nd";
    values.fpm = MetricsValues::FpmValues{};
    std::set<std::string> names;
    for (const auto& family : metric_families(values)) {
        EXPECT_TRUE(names.insert(family.name).second) << family.name;
        EXPECT_FALSE(family.help.empty());
        if (family.type == prometheus::MetricType::Counter) {
            EXPECT_TRUE(family.name.ends_with("_total")) << family.name;
        }
        if (family.name == "pktpit_port_verdicts_total") {
            EXPECT_EQ(family.metric.size(), 2u * (PP_VERDICT_COUNT - 1));
        }
    }
    const std::string text = DaemonMetrics(values).text();
    EXPECT_NE(text.find(R"(pktpit_port_up{port="a\"b\\c\nd"} 0)"), std::string::npos) << "escaped";
    EXPECT_EQ(text.find("pktpit_nic_statistic"), std::string::npos) << "a family without samples";
}

}  // namespace
}  // namespace pktpit::router
