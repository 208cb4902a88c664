// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/forward/vectors.h"

namespace pktpit::router::test {
namespace {

constexpr Mac broadcast{0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Mac multicast{0x01, 0x00, 0x5e, 0, 0, 5};
constexpr Mac stranger{2, 0, 0, 0, 0xdd, 9};

Ipv4 to(std::string_view destination, uint8_t ttl = 64) {
    return {.destination = destination, .ttl = ttl};
}
Ipv6 to6(std::string_view destination, uint8_t hop_limit = 64) {
    return {.destination = destination, .hop_limit = hop_limit};
}

const Ethernet to3{.to = port3, .from = peer};

/// A packet to 10.1.0.9 in a frame with these tags, and as it leaves.
Buffer with_tags(std::vector<Tag> tags, const Ethernet& ethernet = arriving) {
    return frame(tagged(ethernet, std::move(tags)), to("10.1.0.9"));
}
const Buffer out2 = frame(leaving2, to("10.1.0.9", 63));

/// Every pair of tag depths, in and out.
void add_tag_changes(std::vector<Vector>& v) {
    struct In {
        const char* name;
        uint16_t port;
        Ethernet ethernet;
    };
    const In ins[] = {
        {"untagged", 1, arriving},
        {"VLAN 10", 1, tagged(arriving, {{0x8100, 10}})},
        {"VLAN 100 with PCP and DEI", 3, tagged(to3, {{0x8100, 0xf064}})},
        {"QinQ 200.7", 3, tagged(to3, {{0x88a8, 200}, {0x8100, 7}})},
        {"VLAN 300.20, both 0x8100", 1, tagged(arriving, {{0x8100, 300}, {0x8100, 20}})},
    };
    struct Out {
        const char* name;
        const char* destination4;
        const char* destination6;
        uint16_t port;
        Ethernet ethernet;
    };
    const Out outs[] = {
        {"untagged", "10.1.0.9", "2001:db8:1::9", 2, leaving2},
        {"VLAN 100", "10.2.0.9", "2001:db8:2::9", 3, leaving3},
        {"QinQ 200.7", "10.3.0.9", "2001:db8:3::9", 3, leaving32},
    };
    for (const In& in : ins) {
        for (const Out& out : outs) {
            const std::string name = std::string(in.name) + " to " + out.name;
            v.push_back({name + ", IPv4", in.port, frame(in.ethernet, to(out.destination4)), PP_FORWARDED,
                         frame(out.ethernet, to(out.destination4, 63)), out.port});
            v.push_back({name + ", IPv6", in.port, frame(in.ethernet, to6(out.destination6)), PP_FORWARDED,
                         frame(out.ethernet, to6(out.destination6, 63)), out.port});
        }
    }
}

void add_priority_tags(std::vector<Vector>& v) {
    v.push_back({"priority tag counts as untagged", 1, with_tags({{0x8100, 0xe000}}), PP_FORWARDED, out2, 2});
    v.push_back({"two priority tags count as untagged", 1, with_tags({{0x88a8, 0}, {0x8100, 0}}),
                 PP_FORWARDED, out2, 2});
    v.push_back({"priority tag before VLAN 10", 1, with_tags({{0x8100, 0xe000}, {0x8100, 10}}), PP_FORWARDED,
                 out2, 2});
    v.push_back({"priority tag behind VLAN 10", 1, with_tags({{0x8100, 10}, {0x8100, 0x2000}}), PP_FORWARDED,
                 out2, 2});
    v.push_back({"priority tag where only tagged frames have an interface", 3,
                 with_tags({{0x8100, 0xe000}}, to3), PP_HOST_UNKNOWN_VLAN});
}

void add_unknown_tags(std::vector<Vector>& v) {
    v.push_back({"VLAN of no interface", 1, with_tags({{0x8100, 77}}), PP_HOST_UNKNOWN_VLAN});
    v.push_back({"VLAN of another port", 1, with_tags({{0x8100, 100}}), PP_HOST_UNKNOWN_VLAN});
    v.push_back({"outer tag of a QinQ interface alone", 1, with_tags({{0x8100, 300}}), PP_HOST_UNKNOWN_VLAN});
    v.push_back({"known outer, unknown inner tag", 1, with_tags({{0x8100, 300}, {0x8100, 21}}),
                 PP_HOST_UNKNOWN_VLAN});
    v.push_back({"inner tag below a single-tagged interface", 1, with_tags({{0x8100, 10}, {0x8100, 21}}),
                 PP_HOST_UNKNOWN_VLAN});
    v.push_back(
        {"untagged where only tagged frames have an interface", 3, with_tags({}, to3), PP_HOST_UNKNOWN_VLAN});
    v.push_back({"ARP of an unknown VLAN", 1, frame(tagged(arriving, {{0x8100, 77}}), Buffer(28), 0x0806),
                 PP_HOST_UNKNOWN_VLAN});
    v.push_back({"three tags", 1, with_tags({{0x88a8, 300}, {0x8100, 20}, {0x8100, 5}}), PP_DROP_VLAN_DEPTH});
    v.push_back(
        {"three priority tags", 1, with_tags({{0x8100, 0}, {0x8100, 0}, {0x8100, 0}}), PP_DROP_VLAN_DEPTH});
}

void add_addresses(std::vector<Vector>& v) {
    const auto in = [](const Mac& to_mac, std::string_view destination) {
        return frame({.to = to_mac, .from = peer}, to(destination));
    };
    v.push_back({"another station's MAC address", 1, in(stranger, "10.1.0.9"), PP_HOST_OTHER_MAC});
    v.push_back({"MAC address of another port", 1, in(port2, "10.1.0.9"), PP_HOST_OTHER_MAC});
    v.push_back({"MAC address that differs in the last bit", 1, in({2, 0, 0, 0, 0, 0}, "10.1.0.9"),
                 PP_HOST_OTHER_MAC});
    v.push_back({"unicast IPv4 in a broadcast frame", 1, in(broadcast, "10.1.0.9"), PP_DROP_L2_BROADCAST});
    v.push_back({"unicast IPv4 in a multicast frame", 1, in(multicast, "10.1.0.9"), PP_DROP_L2_BROADCAST});
    v.push_back({"unicast IPv6 in a multicast frame", 1,
                 frame({.to = {0x33, 0x33, 0, 0, 0, 1}, .from = peer}, to6("2001:db8:1::9")),
                 PP_DROP_L2_BROADCAST});
    v.push_back({"no route in a broadcast frame: still silence", 1, in(broadcast, "10.200.0.1"),
                 PP_DROP_L2_BROADCAST});
    v.push_back({"own address in a broadcast frame: the kernel judges", 1, in(broadcast, "192.0.2.1"),
                 PP_HOST_LOCAL});
    v.push_back(
        {"limited broadcast in a broadcast frame", 1, in(broadcast, "255.255.255.255"), PP_HOST_BROADCAST});
    v.push_back({"OSPF hello", 1, in(multicast, "224.0.0.5"), PP_HOST_MULTICAST});
}

void add_sources(std::vector<Vector>& v) {
    const auto from = [](const Mac& source, const Mac& to_mac = port1) {
        return Ethernet{.to = to_mac, .from = source};
    };
    v.push_back({"source MAC address is the destination's", 1, frame(from(port1), to("10.1.0.9")),
                 PP_DROP_SOURCE_MAC});
    v.push_back({"source MAC address is the destination's, IPv6", 1, frame(from(port1), to6("2001:db8:1::9")),
                 PP_DROP_SOURCE_MAC});
    v.push_back({"source MAC address is the destination's, for the router itself", 1,
                 frame(from(port1), to("192.0.2.1")), PP_DROP_SOURCE_MAC});
    v.push_back({"source MAC address is a multicast group", 1, frame(from(multicast), to("10.1.0.9")),
                 PP_DROP_SOURCE_MAC});
    v.push_back(
        {"source MAC address is broadcast", 1, frame(from(broadcast), to("10.1.0.9")), PP_DROP_SOURCE_MAC});
    v.push_back({"source MAC address is a group, broadcast ARP", 1,
                 frame(from(multicast, broadcast), Buffer(46), 0x0806), PP_DROP_SOURCE_MAC});
    v.push_back({"source MAC address is a group, in VLAN 10", 1,
                 frame(tagged(from(multicast), {{0x8100, 10}}), to("10.1.0.9")), PP_DROP_SOURCE_MAC});
    v.push_back({"own source MAC address in a broadcast frame: the kernel judges", 1,
                 frame(from(port1, broadcast), Buffer(46), 0x0806), PP_HOST_ARP});
    v.push_back({"another station's frame to itself", 1, frame(from(stranger, stranger), to("10.1.0.9")),
                 PP_HOST_OTHER_MAC});
    // Each half of the address alone is no match.
    for (const Mac& source : {Mac{2, 0, 0, 0, 0, 9}, Mac{2, 8, 0, 0, 0, 1}, Mac{4, 0, 0, 0, 0, 1}})
        v.push_back({"source MAC address that differs in byte " + std::to_string(source[1]) + "." +
                         std::to_string(source[5]) + "." + std::to_string(source[0]),
                     1, frame(from(source), to("10.1.0.9")), PP_FORWARDED, out2, 2});
}

void add_protocols(std::vector<Vector>& v) {
    v.push_back({"802.1ad tag of an 802.1Q VLAN", 1, with_tags({{0x88a8, 10}}), PP_HOST_UNKNOWN_VLAN});
    v.push_back({"802.1ad outer tag of an 802.1Q pair", 1, with_tags({{0x88a8, 300}, {0x8100, 20}}),
                 PP_HOST_UNKNOWN_VLAN});
    v.push_back({"802.1ad inner tag", 1, with_tags({{0x8100, 300}, {0x88a8, 20}}), PP_HOST_UNKNOWN_VLAN});
    v.push_back({"802.1Q outer tag of an 802.1ad pair", 3, with_tags({{0x8100, 200}, {0x8100, 7}}, to3),
                 PP_HOST_UNKNOWN_VLAN});
    v.push_back({"802.1ad priority tag before VLAN 10", 1, with_tags({{0x88a8, 0xe000}, {0x8100, 10}}),
                 PP_FORWARDED, out2, 2});
    v.push_back({"802.1ad priority tag behind VLAN 10", 1, with_tags({{0x8100, 10}, {0x88a8, 0x2000}}),
                 PP_FORWARDED, out2, 2});
    v.push_back({"802.1Q priority tag before 802.1ad's VID 10", 1,
                 with_tags({{0x8100, 0xe000}, {0x88a8, 10}}), PP_HOST_UNKNOWN_VLAN});
    v.push_back({"802.1ad priority tag alone", 1, with_tags({{0x88a8, 0}}), PP_FORWARDED, out2, 2});
}

void add_trailers(std::vector<Vector>& v) {
    const Buffer junk(300, 0xee);
    v.push_back(
        {"trailer behind a VLAN 10 packet", 1, with_tags({{0x8100, 10}}) + junk, PP_FORWARDED, out2, 2});
    v.push_back({"trailer, two tags in, one out", 3,
                 frame(tagged(to3, {{0x88a8, 200}, {0x8100, 7}}), to6("2001:db8:2::9")) + junk, PP_FORWARDED,
                 frame(leaving3, to6("2001:db8:2::9", 63)), 3});
    v.push_back({"trailer, none in, two out", 1, frame(arriving, to("10.3.0.9")) + junk, PP_FORWARDED,
                 frame(leaving32, to("10.3.0.9", 63)), 3});
    // A tagged frame's padding may fill 46 bytes behind its tags as well.
    const Ipv4 bare{.destination = "10.1.0.9", .payload = {}};
    const Ipv4 bare_out{.destination = "10.1.0.9", .ttl = 63, .payload = {}};
    v.push_back({"padding of a tagged frame", 1,
                 frame(tagged(arriving, {{0x8100, 10}}), bare) + Buffer(26, 0), PP_FORWARDED,
                 frame(leaving2, bare_out) + Buffer(26, 0), 2});
    v.push_back({"one byte more than padding", 1,
                 frame(tagged(arriving, {{0x8100, 10}}), bare) + Buffer(27, 0), PP_FORWARDED,
                 frame(leaving2, bare_out), 2});
}

void add_ethertypes(std::vector<Vector>& v) {
    const auto in = [](uint16_t ethertype, size_t bytes) {
        return frame(arriving, Buffer(bytes), ethertype);
    };
    v.push_back({"ARP", 1, in(0x0806, 46), PP_HOST_ARP});
    v.push_back(
        {"ARP, broadcast", 1, frame({.to = broadcast, .from = peer}, Buffer(46), 0x0806), PP_HOST_ARP});
    v.push_back(
        {"ARP in VLAN 10", 1, frame(tagged(arriving, {{0x8100, 10}}), Buffer(46), 0x0806), PP_HOST_ARP});
    v.push_back({"MPLS", 1, in(0x8847, 46), PP_HOST_NOT_IP});
    v.push_back({"LLDP", 1, frame({.to = {1, 0x80, 0xc2, 0, 0, 0xe}, .from = peer}, Buffer(46), 0x88cc),
                 PP_HOST_NOT_IP});
    v.push_back({"802.3 length field", 1, in(0x0026, 38), PP_HOST_NOT_IP});
    v.push_back({"EtherType 0", 1, in(0, 46), PP_HOST_NOT_IP});
    v.push_back({"Ethernet header alone", 1, in(0x88b5, 0), PP_HOST_NOT_IP});
}

void add_truncated(std::vector<Vector>& v) {
    const Buffer plain = with_tags({});
    const Buffer one_tag = with_tags({{0x8100, 10}});
    const Buffer two_tags = with_tags({{0x8100, 300}, {0x8100, 20}});
    v.push_back({"empty IPv4 frame", 1, cut(plain, 14), PP_DROP_TRUNCATED});
    v.push_back({"19 bytes of IPv4", 1, cut(plain, 33), PP_DROP_TRUNCATED});
    v.push_back({"39 bytes of IPv6", 1, cut(frame(arriving, to6("2001:db8:1::9")), 53), PP_DROP_TRUNCATED});
    v.push_back({"frame ends inside the first tag", 1, cut(one_tag, 17), PP_DROP_TRUNCATED});
    v.push_back({"frame ends inside the second tag", 1, cut(two_tags, 21), PP_DROP_TRUNCATED});
    v.push_back({"frame ends behind the second tag", 1, cut(two_tags, 22), PP_DROP_TRUNCATED});
}

}  // namespace

std::vector<Vector> link_layer_vectors() {
    std::vector<Vector> v;
    add_tag_changes(v);
    add_priority_tags(v);
    add_unknown_tags(v);
    add_addresses(v);
    add_sources(v);
    add_protocols(v);
    add_trailers(v);
    add_ethertypes(v);
    add_truncated(v);
    return v;
}

}  // namespace pktpit::router::test
