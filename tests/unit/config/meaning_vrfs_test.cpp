// SPDX-License-Identifier: BSD-3-Clause
// VRFs: their names and tables, and what may be twice in two of them.
#include "meaning_cases.h"

namespace pktpit::config {
namespace {

using test::errors_of;
using test::expect_cases;

/// VRFs red (100) and blue (101): eth0 and its VLAN v5 in red, eth1 in blue, eth2 in the default one; `rest`
/// is added.
std::string with_vrfs(const std::string& rest) {
    return R"({"vrfs": {"red": {"table": 100}, "blue": {"table": 101}}, "interfaces": {
        "eth0": {"addresses": ["192.0.2.1/24"], "vrf": "red"},
        "v5": {"parent": "eth0", "vlan": [5], "addresses": ["203.0.113.1/24"], "vrf": "blue"},
        "eth1": {"addresses": ["192.0.2.1/24"], "vrf": "blue"},
        "eth2": {"addresses": ["192.0.2.9/25"]}}, )" +
           rest + "}";
}

std::string with_vrf_route(const std::string& route) {
    return with_vrfs(R"("routes": [)" + route + "]");
}

std::string with_tables(const std::string& vrfs) {
    return R"({"interfaces": {"eth0": {}}, "vrfs": {)" + vrfs + "}}";
}

std::string with_eth0(const std::string& settings) {
    return R"({"vrfs": {"red": {"table": 100}}, "interfaces": {"eth0": {)" + settings + R"(}, "eth1": {
        "addresses": ["192.0.2.1/24"], "vrf": "red"}}})";
}

TEST(MeaningOfVrfs, TablesAndNames) {
    expect_cases(with_tables, {
                                  {R"("red": {"table": 100}, "blue": {"table": 101})"},
                                  {R"("red": {"table": 252}, "blue": {"table": 256})"},
                                  {R"("a": {"table": 100}, "b": {"table": 100})", "/vrfs/b/table",
                                   "another VRF's", "a table for each", "see /vrfs/a/table"},
                                  {R"("red": {"table": 253})", "/vrfs/red/table", "the default VRF's"},
                                  {R"("red": {"table": 254})", "/vrfs/red/table", "the default VRF's"},
                                  {R"("red": {"table": 255})", "/vrfs/red/table", "the default VRF's"},
                                  {R"("red": {"table": 0})", "/vrfs/red/table"},
                                  {R"("red": {})", "/vrfs/red"},
                                  {R"("default": {"table": 100})", "/vrfs/default", "all that names none"},
                              });
    expect_cases(with_vrfs, {
                                {R"("kernel_routes": {"enabled": true, "table": 101})",
                                 "/kernel_routes/table", "\"blue\"", "", "/vrfs/blue/table"},
                                {R"("kernel_routes": {"table": 101})", "/kernel_routes/table", "\"blue\"", "",
                                 "/vrfs/blue/table"},
                                {R"("kernel_routes": {"install": false, "table": 101})"},
                                {R"("kernel_routes": {"enabled": true, "table": 102})"},
                                {R"("fpm": {"listen": "127.0.0.1", "table": 100})", "/fpm/table", "\"red\""},
                            });
}

TEST(MeaningOfVrfs, InterfacesMayOverlapInTwoAndNotInOne) {
    expect_cases(
        with_eth0,
        {
            {R"("addresses": ["192.0.2.1/24"])"},
            {R"("addresses": ["192.0.2.1/24"], "vrf": "default")"},
            {R"("addresses": ["192.0.2.2/25"], "vrf": "red")", "/interfaces/eth0/addresses/0", "overlaps"},
            {R"("vrf": "rde")", "/interfaces/eth0/vrf", "no VRF", "default, red", "did you mean \"red\"?"},
        });
    const Errors twice = errors_of(with_eth0(R"("addresses": ["192.0.2.1/24"], "vrf": "red")"));
    ASSERT_FALSE(twice.empty());
    EXPECT_EQ(twice[0].where, "/interfaces/eth1/addresses/0");
}

TEST(MeaningOfVrfs, RoutesAndTheirNextHops) {
    expect_cases(
        with_vrf_route,
        {
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "vrf": "red"},
                {"prefix": "10.0.0.0/8", "via": "192.0.2.7", "vrf": "blue"},
                {"prefix": "10.0.0.0/8", "via": "192.0.2.7"})"},
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "vrf": "red"},
                {"prefix": "10.0.0.0/8", "via": "192.0.2.8", "vrf": "red"})",
             "/routes/1/prefix", "has a route already"},
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "vrf": "green"})", "/routes/0/vrf", "no VRF",
             "default, blue, red", "add it to /vrfs"},
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "vrf": "red", "counters": true})"},
            // A gateway is looked up where the route is, unless it says otherwise.
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.1"})"},
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.9"})", "/routes/0/via", "own address"},
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.1", "vrf": "red"})", "/routes/0/via", "own address"},
            {R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1", "vrf": "red"}]})",
             "/routes/0/next_hops/0/via", "own address"},
            {R"({"prefix": "192.0.2.0/25", "next_hops": [{"via": "192.0.2.7", "vrf": "red"}]})"},
            {R"({"prefix": "192.0.2.0/25", "via": "192.0.2.7"})", "/routes/0/via", "loop"},
            {R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.7", "vrf": "green"}]})",
             "/routes/0/next_hops/0/vrf", "no VRF"},
            {R"({"prefix": "10.0.0.0/8", "next_hops":
                [{"via": "192.0.2.7", "interface": "eth0", "vrf": "red"}]})",
             "/routes/0/next_hops/0/vrf", "both", "one of the two"},
            // A leak by an interface; and one that is the same next hop twice.
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "interface": "eth1", "vrf": "red"})"},
            {R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.7", "vrf": "red"},
                {"via": "192.0.2.7", "vrf": "blue"}]})"},
            {R"({"prefix": "10.0.0.0/8", "vrf": "red", "next_hops": [{"via": "192.0.2.7", "vrf": "red"},
                {"via": "192.0.2.7"}]})",
             "/routes/0/next_hops/1", "the same next hop"},
        });
    expect_cases(with_vrfs, {
                                {R"("routes_files": [{"path": "t", "next_hops": {"*": "192.0.2.1"}}])"},
                                {R"("routes_files": [{"path": "t", "vrf": "red",
                                     "next_hops": {"*": "192.0.2.1"}}])",
                                 "/routes_files/0/next_hops/*", "own address"},
                                {R"("routes_files": [{"path": "t", "vrf": "green",
                                     "next_hops": {"*": "192.0.2.7"}}])",
                                 "/routes_files/0/vrf", "no VRF"},
                                {R"("neighbours": [{"address": "192.0.2.9", "mac": "02:00:00:00:00:01",
                                     "interface": "eth0"}])"},
                                {R"("neighbours": [{"address": "192.0.2.1", "mac": "02:00:00:00:00:01",
                                     "interface": "eth1"}])",
                                 "/neighbours/0/address", "own address"},
                            });
}

}  // namespace
}  // namespace pktpit::config
