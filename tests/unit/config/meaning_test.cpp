// SPDX-License-Identifier: BSD-3-Clause
// What the schema cannot say. Each case is a document with one thing wrong and the only place that may be
// named.
#include "meaning_cases.h"

namespace pktpit::config {
namespace {

using test::errors_of;
using test::expect_cases;
using test::expect_one;
using test::places;
using test::with_interfaces;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

/// eth0 192.0.2.0/24 and 2001:db8:0:1::/64, eth1 198.51.100.0/24, eth2 without addresses; `rest` is added.
std::string with_routes(const std::string& rest) {
    return R"({"interfaces": {
        "eth0": {"addresses": ["192.0.2.1/24", "2001:db8:0:1::1/64"]},
        "eth1": {"addresses": ["198.51.100.1/24"]},
        "eth2": {}}, )" +
           rest + "}";
}

std::string with_route(const std::string& route) {
    return with_routes(R"("routes": [)" + route + "]");
}

std::string with_v4_route(const std::string& rest) {
    return with_route(R"({"prefix": "10.0.0.0/8", )" + rest + "}");
}

std::string with_v6_route(const std::string& rest) {
    return with_route(R"({"prefix": "2001:db8:9::/48", )" + rest + "}");
}

/// A route to the prefix over a gateway of eth0.
std::string with_prefix(const std::string& prefix) {
    const bool is_v6 = prefix.find(':') != prefix.npos;
    return with_route(R"({"prefix": ")" + prefix + R"(", "via": ")" +
                      (is_v6 ? "2001:db8:0:1::2" : "192.0.2.2") + R"("})");
}

std::string with_file(const std::string& file) {
    return with_routes(R"("routes_files": [)" + file + "]");
}

TEST(Meaning, Backups) {
    expect_cases(with_v4_route,
                 {
                     {R"("via": "192.0.2.7", "backup": "198.51.100.7")"},
                     {R"("via": "192.0.2.7", "backup": "2001:db8:0:1::7")"},
                     {R"("via": "192.0.2.7", "backup": [{"via": "192.0.2.7"}])", "/routes/0/backup/0",
                      "is a next hop, too"},
                     {R"("type": "blackhole", "backup": "192.0.2.7")", "/routes/0/backup", "\"blackhole\""},
                     {R"("via": "192.0.2.7", "backup": "192.0.2.1")", "/routes/0/backup"},
                 });
    expect_cases(with_v6_route, {
                                    {R"("via": "2001:db8:0:1::7", "backup": "192.0.2.7")", "/routes/0/backup",
                                     "is IPv4, but prefix 2001:db8:9::/48 is IPv6", "an IPv6 address"},
                                });
    expect_cases(
        with_file,
        {
            {R"({"path": "t", "next_hops": {"1": "192.0.2.7"}, "backup": {"*": "198.51.100.7"}})"},
            {R"({"path": "t", "next_hops": {"1": "192.0.2.7"}, "backup": {"2": "198.51.100.7"}})",
             "/routes_files/0/backup/2", "no next hops"},
            {R"({"path": "t", "next_hops": {"1": "192.0.2.7"}, "backup": {"1": "2001:db8:0:1::7"}})"},
        });
}

TEST(Meaning, ParentsAndVlans) {
    expect_cases(
        with_interfaces,
        {
            {R"("p": {}, "v": {"parent": "p", "vlan": [5]})"},
            {R"("p0": {}, "v": {"parent": "p1", "vlan": [5]})", "/interfaces/v/parent",
             "\"p1\" is no interface of this configuration", "one of p0, v", "did you mean \"p0\"?"},
            {R"("p0": {}, "v": {"parent": "uplink", "vlan": [5]})", "/interfaces/v/parent",
             "\"uplink\" is no interface of this configuration", "", "add it to /interfaces"},
            {R"("v": {"parent": "v", "vlan": [5]})", "/interfaces/v/parent", "loop of parents: v → v",
             "a port"},
            {R"("p": {}, "v": {"parent": "p", "vlan": [5]}, "w": {"parent": "v", "vlan": [6]})",
             "/interfaces/w/parent", "\"v\" is a VLAN interface itself", "a port",
             "\"parent\": \"p\", \"vlan\": [5, 6]"},
            {R"("p": {}, "v": {"parent": "p", "vlan": [5]}, "w": {"parent": "p", "vlan": [5]})",
             "/interfaces/w/vlan", "same VLAN IDs on \"p\" as \"v\""},
            {R"("p": {}, "v": {"parent": "p", "vlan": [5]}, "w": {"parent": "p", "vlan": [5], "vlan_protocol": "802.1ad"})",
             "/interfaces/w/vlan", "same VLAN IDs"},
            {R"("p": {}, "v": {"parent": "p", "vlan": [5]}, "w": {"parent": "p", "vlan": [5, 5]})"},
            {R"("p": {}, "q": {}, "v": {"parent": "p", "vlan": [5]}, "w": {"parent": "q", "vlan": [5]})"},
            {R"("p": {}, "v": {"parent": "p"})", "/interfaces/v", "\"parent\" without \"vlan\"", "",
             "\"vlan\": [100]"},
            {R"("v": {"vlan": [5]})", "/interfaces/v", "\"vlan\" without \"parent\""},
            {R"("p": {"vlan_protocol": "802.1Q"})", "/interfaces/p/vlan_protocol", "a port has no VLAN tag"},
            {R"("p": {}, "v": {"parent": "p", "vlan": [5], "xdp_mode": "auto"})", "/interfaces/v/xdp_mode",
             "a VLAN interface has no XDP program", "\"p\""},
            {R"("p": {}, "v": {"parent": "p", "vlan": [5], "generic_vlan": "accept"})",
             "/interfaces/v/generic_vlan", "a VLAN interface has no XDP program", "\"p\""},
            {R"("p": {"mtu": 1500}, "v": {"parent": "p", "vlan": [5], "mtu": 1501})", "/interfaces/v/mtu",
             "MTU 1501 is larger than that of its parent \"p\"", "at most 1500"},
            {R"("p": {"mtu": 1500}, "v": {"parent": "p", "vlan": [5], "mtu": 1500})"},
            {R"("p": {}, "o": {"parent": "p", "vlan": [5], "mtu": 1496},
                "v": {"parent": "p", "vlan": [5, 6], "mtu": 1497})",
             "/interfaces/v/mtu", "MTU 1497 is larger than that of its outer VLAN \"o\"", "at most 1496"},
            {R"("p": {}, "o": {"parent": "p", "vlan": [6], "mtu": 1496},
                "v": {"parent": "p", "vlan": [5, 6], "mtu": 1497})"},
        });
}

TEST(Meaning, LoopOfParentsNamesEveryMemberAndOnlyThem) {
    Errors errors =
        errors_of(with_interfaces(R"("a": {"parent": "b", "vlan": [1]}, "b": {"parent": "c", "vlan": [1]},
        "c": {"parent": "b", "vlan": [2]})"));
    EXPECT_THAT(places(errors),
                UnorderedElementsAre("/interfaces/a/parent", "/interfaces/b/parent", "/interfaces/c/parent"));
    EXPECT_EQ(errors[0].message, "\"b\" is a VLAN interface itself");
    EXPECT_EQ(errors[1].message, "loop of parents: b → c → b");
    EXPECT_EQ(errors[2].message, "loop of parents: c → b → c");
}

TEST(Meaning, InterfacesOfTheMachine) {
    std::string text = with_interfaces(R"("eth0": {}, "eth1": {}, "v": {"parent": "eth0", "vlan": [5]})");
    Errors errors = errors_of(text, [](std::string_view name) { return name == "eth0"; });
    expect_one(errors, "/interfaces/eth1", "there is no interface \"eth1\" on this machine");
    EXPECT_THAT(errors_of(text, [](std::string_view name) { return name != "v"; }), testing::IsEmpty())
        << "a VLAN interface may be made later";
    EXPECT_THAT(errors_of(text), testing::IsEmpty());
}

TEST(Meaning, NumberOfPorts) {
    std::string interfaces;
    for (int i = 0; i < 255; i++)
        interfaces += (i ? ", " : "") + ("\"p" + std::to_string(i) + "\": {}");
    EXPECT_THAT(errors_of(with_interfaces(interfaces)), testing::IsEmpty());
    interfaces += R"(, "v": {"parent": "p0", "vlan": [1]})";
    EXPECT_THAT(errors_of(with_interfaces(interfaces)), testing::IsEmpty());
    expect_one(errors_of(with_interfaces(interfaces + R"(, "p255": {})")), "/interfaces",
               "more than 255 ports");
}

std::string with_address(const std::string& address) {
    return R"({"interfaces": {"eth0": {"addresses": [")" + address + "\"]}}}";
}

TEST(Meaning, AddressesOfInterfaces) {
    const std::string where = "/interfaces/eth0/addresses/0";
    expect_cases(
        with_address,
        {
            {"192.0.2.1/24"},
            {"192.0.2.1/32"},
            {"192.0.2.0/31"},
            {"192.0.2.1/31"},
            {"169.254.3.4/16"},
            {"2001:db8::/127"},
            {"2001:db8::/128"},
            {"2001:db8::ffff:ffff:ffff:ffff/64"},
            {"192.0.2.0/24", where, "\"192.0.2.0/24\" is the network address of 192.0.2.0/24", "a host"},
            {"192.0.2.255/24", where, "is the broadcast address of 192.0.2.0/24", "a host"},
            {"192.0.2.3/30", where, "is the broadcast address of 192.0.2.0/30"},
            {"2001:db8::/64", where, "is the subnet-router anycast address of 2001:db8::/64"},
            {"224.0.0.5/24", where, "is a multicast address", "a unicast address"},
            {"ff02::5/64", where, "is a multicast address"},
            {"127.0.0.1/8", where, "is a loopback address"},
            {"::1/128", where, "is a loopback address"},
            {"0.0.0.0/8", where, "is the unspecified address"},
            {"::/64", where, "is the unspecified address"},
            {"0.1.2.3/8", where, "is in 0.0.0.0/8"},
            {"240.0.0.1/24", where, "is in 240.0.0.0/4"},
            {"255.255.255.255/32", where, "is the limited broadcast address"},
            {"::ffff:192.0.2.1/128", where, "is an IPv4-mapped address"},
            {"192.0.2.1/0", where, "makes every address one of this link", "", "\"prefix\": \"0.0.0.0/0\""},
            {"192.0.2.1/33", where, "\"192.0.2.1/33\" is no interface address: length 33", "from 0 to 32"},
            {"2001:db8::1/129", where, "length 129", "from 0 to 128"},
            {"192.0.2.1/024", where, "length 024"},
            {"192.0.2.300/24", where, "\"192.0.2.300\" is no IPv4 or IPv6 address", "such as 192.0.2.1/24"},
            {"192.0.2.01/24", where, "\"192.0.2.01\" is no IPv4 or IPv6 address", "", "no leading zeros"},
            {"2001:db8:::1/64", where, "is no IPv4 or IPv6 address"},
        });
}

TEST(Meaning, OverlappingAndRepeatedAddresses) {
    expect_cases(
        with_interfaces,
        {
            {R"("a": {"addresses": ["10.0.0.1/8", "10.1.0.1/16", "10.0.0.2/8"]})"},
            {R"("a": {"addresses": ["10.0.0.1/24"]}, "b": {"addresses": ["10.0.1.1/24"]})"},
            {R"("a": {"addresses": ["fe80::1/64"]}, "b": {"addresses": ["fe80::1/64"]})"},
            {R"("a": {"addresses": ["10.0.0.1/24"]}, "b": {"addresses": ["10.0.0.2/24"]})",
             "/interfaces/b/addresses/0", "\"10.0.0.2/24\": net 10.0.0.0/24 overlaps 10.0.0.0/24 of \"a\"",
             "a net of its own", "see /interfaces/a/addresses/0"},
            {R"("a": {"addresses": ["10.0.0.129/25"]}, "b": {"addresses": ["10.0.0.2/24"]})",
             "/interfaces/a/addresses/0", "net 10.0.0.128/25 overlaps 10.0.0.0/24 of \"b\""},
            {R"("a": {"addresses": ["10.0.0.1/8", "10.9.0.1/16"]}, "b": {"addresses": ["10.200.0.1/16"]})",
             "/interfaces/b/addresses/0", "overlaps 10.0.0.0/8 of \"a\""},
            {R"("a": {"addresses": ["10.0.0.1/24"]}, "b": {"addresses": ["10.0.0.1/24"]})",
             "/interfaces/b/addresses/0", "\"10.0.0.1\" is there twice", "each address once",
             "see /interfaces/a/addresses/0"},
            {R"("a": {"addresses": ["10.0.0.1/24", "10.0.0.1/25"]})", "/interfaces/a/addresses/1",
             "\"10.0.0.1\" is there twice"},
            // Unnumbered links: an address without a net, or one that others have with theirs.
            {R"("a": {"addresses": ["10.0.0.1/32"]}, "b": {"addresses": ["10.0.0.1/32"]})"},
            {R"("a": {"addresses": ["10.0.0.1/32"]}, "b": {"addresses": ["10.0.0.1/24"]}, "c": {"addresses": ["10.0.0.1/32"]})"},
            {R"("a": {"addresses": ["2001:db8::1/128"]}, "b": {"addresses": ["2001:db8::1/128"]})"},
            {R"("a": {"addresses": ["10.0.0.7/32"]}, "b": {"addresses": ["10.0.0.1/24"]})"},
            {R"("a": {"addresses": ["10.0.0.1/24"]}, "b": {"addresses": ["10.0.0.1/32"]}, "c": {"addresses": ["10.0.0.1/25"]})",
             "/interfaces/c/addresses/0", "\"10.0.0.1\" is there twice", "as \"10.0.0.1/32\"",
             "see /interfaces/a/addresses/0"},
            {R"("a": {"addresses": ["10.0.0.1/32", "10.0.0.1/32"]})", "/interfaces/a/addresses/1",
             "is there twice"},
            {R"("a": {"addresses": ["fe80::1/64", "fe80::1/64"]})", "/interfaces/a/addresses/1",
             "is there twice"},
            {R"("a": {"addresses": ["2001:db8::1/32"]}, "b": {"addresses": ["2001:db8:5::1/64"]})",
             "/interfaces/b/addresses/0", "overlaps 2001:db8::/32 of \"a\""},
        });
}

TEST(Meaning, MtuBelowThatOfIpv6) {
    expect_cases(
        with_interfaces,
        {
            {R"("a": {"mtu": 1279, "addresses": ["192.0.2.1/24"]})"},
            {R"("a": {"mtu": 1280, "addresses": ["2001:db8::1/64"]})"},
            {R"("a": {"mtu": 1279, "addresses": ["192.0.2.1/24", "2001:db8::1/64", "2001:db8:1::1/64"]})",
             "/interfaces/a/mtu", "MTU 1279 on an interface with the IPv6 address \"2001:db8::1/64\"",
             "at least 1280 (RFC 8200 5)"},
            {R"("a": {"mtu": 65535, "addresses": ["2001:db8::1/64"]})"},
            {R"("a": {"mtu": 65536})", "/interfaces/a/mtu", "found 65536", "an integer from 68 to 65535"},
        });
}

TEST(Meaning, PrefixesOfRoutes) {
    const std::string where = "/routes/0/prefix";
    expect_cases(with_prefix,
                 {
                     {"10.0.0.0/8"},
                     {"0.0.0.0/0"},
                     {"10.1.2.3/8", where, "prefix \"10.1.2.3/8\" has bits set behind its length",
                      "\"10.0.0.0/8\"", "or \"10.1.2.3/32\" for this one address"},
                     {"2001:db8:0:1::2/48", where, "has bits set behind its length", "\"2001:db8::/48\"",
                      "\"2001:db8:0:1::2/128\""},
                     {"10.0.0.0/33", where, "\"10.0.0.0/33\" is no prefix: length 33", "from 0 to 32"},
                     {"10.0.0/8", where, "\"10.0.0\" is no IPv4 or IPv6 address"},
                     {"224.0.0.0/4", where, "is multicast", "a unicast prefix"},
                     {"ff00::/8", where, "is multicast"},
                     {"127.0.0.0/8", where, "is loopback"},
                     {"169.254.1.0/24", where, "is link-local"},
                     {"fe80::/10", where, "is link-local"},
                 });
    expect_cases(
        with_route,
        {
            {R"({"prefix": "224.0.0.0/4", "type": "blackhole"})"},
            {R"({"prefix": "::/0", "type": "blackhole"})"},
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.2"}, {"prefix": "10.0.0.0/9", "via": "192.0.2.2"})"},
            {R"({"prefix": "10.0.0.0/8", "via": "192.0.2.2"}, {"prefix": "10.0.0.0/8", "type": "blackhole", "metric": 9})",
             "/routes/1/prefix", "\"10.0.0.0/8\" has a route already", "one route for each prefix",
             "see /routes/0/prefix; several next hops go into one route's \"next_hops\""},
            {R"({"prefix": "2001:db8:1::/48", "type": "prohibit"}, {"prefix": "2001:0db8:1:0::/48", "type": "prohibit"})",
             "/routes/1/prefix", "\"2001:db8:1::/48\" has a route already"},
        });
}

TEST(Meaning, TypesOfRoutes) {
    expect_cases(with_v4_route,
                 {
                     {R"("type": "unicast")", "/routes/0", "route without a next hop"},
                     {R"("type": "prohibit", "via": "192.0.2.2")", "/routes/0",
                      "route of type \"prohibit\" with a next hop", "no \"via\"", "\"type\": \"unicast\""},
                     {R"("type": "unreachable", "next_hops": [{"via": "192.0.2.2"}])", "/routes/0",
                      "route of type \"unreachable\" with a next hop"},
                     {R"("via": "192.0.2.2", "next_hops": [{"via": "192.0.2.3"}])", "/routes/0",
                      "next hops given twice", "either \"next_hops\""},
                 });
    expect_cases(with_route, {
                                 {R"({"prefix": "10.0.0.0/8"})", "/routes/0", "route without a next hop",
                                  "\"via\", \"interface\" or", "blackhole"},
                             });
}

TEST(Meaning, NextHops) {
    const std::string where = "/routes/0/via";
    expect_cases(
        with_v4_route,
        {
            {R"("via": "203.0.113.1")"},
            {R"("via": "203.0.113.1", "interface": "eth2")"},
            {R"("interface": "eth2")"},
            {R"("via": "203.0.113.1", "interface": "eth0")", where,
             "gateway \"203.0.113.1\" is on no net of \"eth0\"", "an address in 192.0.2.0/24 (eth0)"},
            {R"("via": "192.0.2.2", "interface": "eth0")"},
            {R"("via": "192.0.2.2", "interface": "eth1")", "/routes/0/interface",
             "gateway \"192.0.2.2\" is not on \"eth1\" but in 192.0.2.0/24", "\"eth0\"", "found by itself"},
            {R"("via": "192.0.2.2", "interface": "eth2")", "/routes/0/interface", "is not on \"eth2\"",
             "\"eth0\""},
            {R"("via": "192.0.2.2", "interface": "eht0")", "/routes/0/interface",
             "\"eht0\" is no interface of this configuration", "one of eth0, eth1, eth2",
             "did you mean \"eth0\"?"},
            {R"("via": "192.0.2.1")", where, "gateway \"192.0.2.1\" is this router's own address on \"eth0\"",
             "another router", "loop"},
            {R"("via": "192.0.2.1", "interface": "eth2")", where, "own address on \"eth0\""},
            {R"("via": "192.0.2.0")", where, "is the network address of 192.0.2.0/24"},
            {R"("via": "192.0.2.255")", where, "is the broadcast address of 192.0.2.0/24"},
            {R"("via": "224.0.0.1")", where, "is a multicast address"},
            {R"("via": "127.0.0.1")", where, "is a loopback address"},
            {R"("via": "0.0.0.0")", where, "is the unspecified address"},
            {R"("via": "1.2.3")", where, "\"1.2.3\" is no IPv4 or IPv6 address"},
            // RFC 8950
            {R"("via": "2001:db8:0:1::2")"},
            {R"("next_hops": [{"via": "2001:db8:0:1::2"}, {"via": "192.0.2.2"}])"},
            {R"("via": "fe80::1", "interface": "eth1")"},
            {R"("via": "fe80::1")", where, "\"fe80::1\" is link-local", "\"interface\""},
            {R"("via": "2001:db8:0:1::1")", where, "own address on \"eth0\""},
            {R"("via": "ff02::1")", where, "is a multicast address"},
            {R"("next_hops": [{"via": "192.0.2.2"}, {"weight": 3}])", "/routes/0/next_hops/1",
             "next hop without \"via\" and \"interface\"", "one of them or both"},
            {R"("next_hops": [{"via": "192.0.2.2"}, {"via": "192.0.2.3"}, {"via": "192.0.2.2", "weight": 2}])",
             "/routes/0/next_hops/2", "the same next hop as /routes/0/next_hops/0", "each next hop once",
             "\"weight\""},
            {R"("next_hops": [{"interface": "eth2"}, {"interface": "eth2"}])", "/routes/0/next_hops/1",
             "the same next hop"},
        });
    expect_cases(with_v6_route,
                 {
                     {R"("via": "2001:db8:0:2::1")"},
                     {R"("via": "::")", where, "is the unspecified address"},
                     {R"("via": "192.0.2.2")", where, "is IPv4, but prefix 2001:db8:9::/48 is IPv6",
                      "an IPv6 address"},
                     {R"("via": "fe80::1")", where, "\"fe80::1\" is link-local", "\"interface\""},
                     {R"("via": "fe80::1", "interface": "eth1")"},
                 });
}

TEST(Meaning, RouteMtu) {
    const std::string where = "/routes/0/mtu";
    expect_cases(with_v4_route, {
                                    {R"("via": "192.0.2.2", "mtu": 68)"},
                                    {R"("via": "192.0.2.2", "mtu": 65535)"},
                                    {R"("via": "192.0.2.2", "mtu": 67)", where, "67", "68"},
                                    {R"("via": "192.0.2.2", "mtu": 65536)", where, "65536", "65535"},
                                    {R"("type": "blackhole", "mtu": 1400)", where,
                                     "MTU of a route of type \"blackhole\"", "a route with next hops"},
                                });
    expect_cases(with_v6_route, {
                                    {R"("via": "2001:db8:0:1::2", "mtu": 1280)"},
                                    {R"("via": "2001:db8:0:1::2", "mtu": 1279)", where,
                                     "MTU 1279 of an IPv6 prefix", "at least 1280 (RFC 8200 5)"},
                                });
}

TEST(Meaning, GatewaysWithinTheirOwnRoute) {
    const std::string where = "/routes/0/via";
    expect_cases(
        with_route,
        {
            {R"({"prefix": "192.0.0.0/16", "via": "192.0.2.2"})"},
            {R"({"prefix": "192.0.2.0/24", "via": "192.0.2.2"})", where,
             "loop: gateway \"192.0.2.2\" lies within the route's own prefix 192.0.2.0/24", "outside of it"},
            {R"({"prefix": "192.0.2.0/29", "via": "192.0.2.2"})", where, "loop:"},
            {R"({"prefix": "192.0.2.2/32", "via": "192.0.2.2"})", where, "loop:"},
            {R"({"prefix": "192.0.2.8/29", "via": "192.0.2.2"})"},
            {R"({"prefix": "192.0.2.0/24", "via": "198.51.100.2"})"},
            {R"({"prefix": "2001:db8:0:1::/64", "via": "2001:db8:0:1::2"})", where, "loop:"},
        });
}

TEST(Meaning, Ipv4LinkLocalGatewaysOnSeveralLinks) {
    std::string text =
        R"({"interfaces": {"a": {"addresses": ["169.254.0.1/16"]}, "b": {"addresses": ["169.254.0.2/16"]}},
        "routes": [{"prefix": "10.0.0.0/8", "via": "169.254.9.9"})";
    expect_one(errors_of(text + "]}"), "/routes/0/via", "\"169.254.9.9\" may be on \"a\" or \"b\"");
    text.insert(text.size() - 1, R"(, "interface": "b")");
    EXPECT_THAT(errors_of(text + "]}"), testing::IsEmpty());
}

TEST(Meaning, NumberOfNextHops) {
    std::string hops;
    for (int i = 0; i < 256; i++)
        hops += (i ? ", " : "") + std::string(R"({"via": "2001:db8:0:1::1:)") + std::to_string(i) + "\"}";
    auto route = [&] { return with_route(R"({"prefix": "2001:db8:9::/48", "next_hops": [)" + hops + "]}"); };
    EXPECT_THAT(errors_of(route()), testing::IsEmpty());
    hops += R"(, {"interface": "eth2"})";
    Errors errors = errors_of(route());
    expect_one(errors, "/routes/0/next_hops", "found an array of 257");
    EXPECT_THAT(errors[0].expected, testing::HasSubstr("1 to 256 items"));
}

TEST(Meaning, RoutesFiles) {
    expect_cases(
        with_file,
        {
            {R"({"path": "t", "next_hops": {"1": "192.0.2.2", "x": {"via": "192.0.2.3"}, "*": [{"interface": "eth2"}]}})"},
            {R"({"path": "t", "next_hops": {"1": "203.0.113.9"}})"},
            {R"({"path": "t", "next_hops": {"1": {"via": "224.0.0.9"}}})", "/routes_files/0/next_hops/1/via",
             "is a multicast address"},
            {R"({"path": "t", "next_hops": {"1": "1.2.3"}})", "/routes_files/0/next_hops/1",
             "is no IPv4 or IPv6 address"},
            {R"({"path": "t", "next_hops": {"a/b": [{"via": "192.0.2.2"}, {"via": "192.0.2.1"}]}})",
             "/routes_files/0/next_hops/a~1b/1/via", "own address"},
            {R"({"path": "t", "next_hops": {"1": [{"via": "192.0.2.2"}, {"via": "2001:db8:0:1::2"}]}})"},
            {R"({"path": "t", "next_hops": {"1": {}}})", "/routes_files/0/next_hops/1", "next hop without"},
            {R"({"path": "t", "next_hops": {"1": "192.0.2.2"}}, {"path": "t", "next_hops": {"1": "192.0.2.2"}})",
             "/routes_files/1/path", "\"t\" is there twice", "each file once", "see /routes_files/0/path"},
        });
}

std::string with_neighbour(const std::string& one) {
    return with_routes(R"("neighbours": [)" + one + "]");
}

std::string with_station(const std::string& where) {
    return with_neighbour(R"({"mac": "02:00:00:00:00:07", )" + where + "}");
}

TEST(Meaning, Neighbours) {
    const std::string where = "/neighbours/0/address";
    expect_cases(with_station,
                 {
                     {R"("address": "192.0.2.7", "interface": "eth0")"},
                     {R"("address": "fe80::7", "interface": "eth1")"},
                     {R"("address": "203.0.113.7", "interface": "eth2")"},
                     {R"("address": "192.0.2.7", "interface": "eth1")", where,
                      "neighbour \"192.0.2.7\" is on no net of \"eth1\"", "198.51.100.0/24 (eth1)",
                      "its net is on \"eth0\""},
                     {R"("address": "192.0.2.7", "interface": "eth7")", "/neighbours/0/interface",
                      "\"eth7\" is no interface"},
                     {R"("address": "192.0.2.1", "interface": "eth0")", where, "own address on \"eth0\""},
                     {R"("address": "224.0.0.1", "interface": "eth0")", where, "a multicast address"},
                     {R"("address": "1.2.3", "interface": "eth0")", where, "is no IPv4 or IPv6 address"},
                 });
    expect_cases(
        with_neighbour,
        {
            {R"({"address": "192.0.2.7", "mac": "01:00:5e:00:00:07", "interface": "eth0"})",
             "/neighbours/0/mac", "is a multicast MAC address", "one station"},
            {R"({"address": "192.0.2.7", "mac": "00:00:00:00:00:00", "interface": "eth0"})",
             "/neighbours/0/mac", "is no station's"},
            {R"({"address": "192.0.2.7", "mac": "02:00:00:00:00:07", "interface": "eth0"},
            {"address": "192.0.2.7", "mac": "02:00:00:00:00:08", "interface": "eth0"})",
             "/neighbours/1/address", "\"192.0.2.7\" is there twice on \"eth0\"", "each neighbour once"},
        });
}

std::string with_protocols(const std::string& list) {
    return with_routes(R"("kernel_routes": {"protocols": [)" + list + "]}");
}

TEST(Meaning, ProtocolsOfKernelRoutes) {
    expect_cases(
        with_protocols,
        {
            {R"("kernel", "boot", "static", "redirect", "ra", "mrt", "zebra", "bird", "dhcp", "bgp", "isis", "ospf", "rip", "eigrp", "babel", 200, "201")"},
            {R"("bird", "brid")", "/kernel_routes/protocols/1", "\"brid\" is no routing protocol",
             "zebra, bird", "did you mean \"bird\"?"},
            {R"("256")", "/kernel_routes/protocols/0", "\"256\" is no routing protocol",
             "a number from 0 to 255"},
            {R"("bird", "12")", "/kernel_routes/protocols/1", "\"12\" is there twice", "each protocol once"},
        });
}

std::string with_fpm(const std::string& members) {
    return with_routes(R"("fpm": {)" + members + "}");
}

TEST(Meaning, WhereFpmListens) {
    expect_cases(
        with_fpm,
        {
            {R"("listen": "127.0.0.1:2620")"},
            {R"("listen": "127.9.9.9")"},
            {R"("listen": "::1")"},
            {R"("listen": "[::1]:1")"},
            {R"("listen": "192.0.2.1:2620", "from": ["192.0.2.7/32"])"},
            {R"("listen": "192.0.2.1:2620")", "/fpm/listen", "whoever reaches it could set routes",
             "/fpm/from", "no authentication"},
            {R"("listen": "0.0.0.0:2620")", "/fpm/listen", "is no loopback address"},
            {R"("listen": "localhost:2620")", "/fpm/listen", "\"localhost\" is no IPv4 or IPv6 address",
             "127.0.0.1:2620"},
            {R"("listen": "127.0.0.1:0")", "/fpm/listen", "its port is no number from 1 to 65535"},
            {R"("listen": "127.0.0.1:65536")", "/fpm/listen", "its port is no number"},
            {R"("listen": "127.0.0.1:")", "/fpm/listen", "its port is no number"},
            {R"("listen": "[127.0.0.1]:2620")", "/fpm/listen", "stands in brackets"},
            {R"("listen": "224.0.0.1", "from": ["0.0.0.0/0"])", "/fpm/listen", "is a multicast address"},
            {R"("listen": "127.0.0.1", "from": ["10.0.0.1/8"])", "/fpm/from/0", "has bits set"},
        });
}

/// /metrics and /web, which listen alike.
class MeaningOfHttp : public testing::TestWithParam<std::string> {};

TEST_P(MeaningOfHttp, WhereItListens) {
    const std::string& key = GetParam();
    const auto with_http = [&](const std::string& members) {
        return with_routes("\"" + key + "\": {" + members + "}");
    };
    const std::string listen = "/" + key + "/listen", from = "/" + key + "/from";
    expect_cases(
        with_http,
        {
            {R"("listen": "127.0.0.1:9100")"},
            {R"("listen": "[::1]:9100", "hosts": ["router.example.net"])"},
            {R"("listen": "0.0.0.0:9100", "from": ["192.0.2.0/24"])"},
            {R"("listen": "127.0.0.1")", listen, "it has no port", "127.0.0.1:8080"},
            {R"("listen": "0.0.0.0:9100")", listen, "whoever reaches it could ask", from,
             "names who may connect"},
            {R"("listen": "router:9100")", listen, "\"router\" is no IPv4 or IPv6 address"},
            {R"("listen": "127.0.0.1:0")", listen, "its port is no number"},
            {R"("listen": "224.0.0.1:9100", "from": ["0.0.0.0/0"])", listen, "is a multicast address"},
            {R"("listen": "127.0.0.1:9100", "from": ["10.0.0.1/8"])", from + "/0", "has bits set"},
        });
}

INSTANTIATE_TEST_SUITE_P(Keys, MeaningOfHttp, testing::Values("metrics", "web"),
                         [](const auto& key) { return key.param; });

TEST(Meaning, NoErrorHidesAnother) {
    Errors errors = errors_of(R"({
        "interfaces": {
            "eth0": {"addresses": ["192.0.2.1/24", "192.0.2.0/24"]},
            "eth1": {"addresses": ["192.0.2.130/25"], "vlan_protocol": "802.1ad"},
            "v": {"parent": "eth9", "vlan": [1]}
        },
        "routes": [
            {"prefix": "10.0.0.1/8", "via": "224.0.0.1"},
            {"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.1"}, {"via": "ff02::1"}, {}]},
            {"prefix": "10.0.0.0/8", "type": "blackhole"}
        ],
        "neighbours": [{"address": "192.0.2.1", "mac": "ff:ff:ff:ff:ff:ff", "interface": "eth5"}],
        "kernel_routes": {"protocols": ["nonsense"]}})");
    EXPECT_THAT(
        places(errors),
        UnorderedElementsAre("/interfaces/eth0/addresses/1", "/interfaces/eth1/addresses/0",
                             "/interfaces/eth1/vlan_protocol", "/interfaces/v/parent", "/routes/0/prefix",
                             "/routes/0/via", "/routes/1/next_hops/0/via", "/routes/1/next_hops/1/via",
                             "/routes/1/next_hops/2", "/routes/2/prefix", "/neighbours/0/mac",
                             "/neighbours/0/interface", "/kernel_routes/protocols/0"))
        << test::all_text(errors);
}

TEST(Meaning, ABrokenAddressMakesNoFalseErrorsElsewhere) {
    Errors errors = errors_of(R"({"interfaces": {"eth0": {"addresses": ["192.0.2.300/24"]}},
        "routes": [{"prefix": "10.0.0.0/8", "via": "192.0.2.2"},
                   {"prefix": "11.0.0.0/8", "via": "192.0.2.2", "interface": "eth0"}],
        "neighbours": [{"address": "192.0.2.2", "mac": "02:00:00:00:00:01", "interface": "eth0"}]})");
    EXPECT_THAT(places(errors), ElementsAre("/interfaces/eth0/addresses/0"));
}

}  // namespace
}  // namespace pktpit::config
