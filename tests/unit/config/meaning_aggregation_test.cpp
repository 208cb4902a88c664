// SPDX-License-Identifier: BSD-3-Clause
// Groups of workers whose vectors the router adds.
#include "meaning_cases.h"

namespace pktpit::config {
namespace {

using test::expect_cases;

std::string with_groups(const std::string& groups) {
    return R"({"interfaces": {"eth0": {"addresses": ["192.0.2.1/24"]}}, "aggregation": {"groups": {)" +
           groups + "}}}";
}

std::string with_group(const std::string& rest) {
    return with_groups(R"("job1": {"workers": ["192.0.2.11", "192.0.2.12"], "key": "5f3a1c9e7b2d4680", )" +
                       rest + "}");
}

std::string with_group_workers(const std::string& workers) {
    return with_groups(R"("job1": {"key": "5f3a1c9e7b2d4680", "workers": [)" + workers + "]}");
}

std::string with_groups_on(const std::string& dataplane) {
    return R"({"dataplane": ")" + dataplane +
           R"(", "interfaces": {"eth0": {"pci": "0000:03:00.0"}}, "aggregation": {"groups": {
        "job1": {"workers": ["192.0.2.11"], "key": "5f3a1c9e7b2d4680"}}}})";
}

TEST(MeaningOfAggregation, Workers) {
    expect_cases(
        with_group_workers,
        {
            {R"("192.0.2.11", "203.0.113.9")"},
            {R"("192.0.2.11", "192.0.2.300")", "/aggregation/groups/job1/workers/1", "192.0.2.300"},
            {R"("2001:db8::1")", "/aggregation/groups/job1/workers/0", "IPv6", "IPv4"},
            {R"("224.0.0.5")", "/aggregation/groups/job1/workers/0", "multicast"},
            {R"("192.0.2.11", "192.0.2.12", "192.0.2.11")", "/aggregation/groups/job1/workers/2", "worker 0"},
            {R"("192.0.2.11", "192.0.2.1")", "/aggregation/groups/job1/workers/1", "eth0"},
            {"", "/aggregation/groups/job1/workers"},
        });
}

TEST(MeaningOfAggregation, Settings) {
    expect_cases(
        with_group,
        {
            {R"("slots": 1)"},
            {R"("slots": 4096, "chunk_bytes": 8, "type": "bfp16")"},
            {R"("slots": 500)", "/aggregation/groups/job1/slots", "500", "power of two"},
            {R"("slots": 8192)", "/aggregation/groups/job1/slots", "8192", "4096"},
            {R"("chunk_bytes": 1444)", "/aggregation/groups/job1/chunk_bytes", "1444", "multiple of 8"},
            {R"("chunk_bytes": 1456)", "/aggregation/groups/job1/chunk_bytes", "1456", "1448"},
            {R"("type": "fp64")", "/aggregation/groups/job1/type", "fp64", "int32"},
        });
    expect_cases(
        with_groups,
        {
            {R"("a": {"workers": ["192.0.2.11"], "key": "0000000000000000"})", "/aggregation/groups/a/key",
             "is 0", "random", "openssl"},
            {R"("a": {"workers": ["192.0.2.11"], "key": "12"})", "/aggregation/groups/a/key"},
            {R"("a": {"workers": ["192.0.2.11"]})", "/aggregation/groups/a", "key"},
            {R"("a": {"workers": ["192.0.2.11"], "key": "0000000000000001"}, "b": {"workers": ["192.0.2.11"], "key": "0000000000000002"})",
             "/aggregation/groups/b/port", "\"a\"", "of its own"},
            {R"("a": {"workers": ["192.0.2.11"], "key": "0000000000000001", "slots": 4096},
                         "b": {"workers": ["192.0.2.11"], "key": "0000000000000002", "port": 7000, "slots": 1})",
             "/aggregation/groups", "4097", "4096"},
        });
}

TEST(MeaningOfAggregation, PortStagesDoTheAdding) {
    expect_cases(with_groups_on, {{"vfio", "/aggregation", "vfio", "xdp"}});
}

}  // namespace
}  // namespace pktpit::config
