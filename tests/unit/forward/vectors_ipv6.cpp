// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/forward/vectors.h"

namespace pktpit::router::test {
namespace {

using Table = FamilyTable<Ipv6>;

/// A hop-by-hop header of these option bytes (6, 14, 22, … of them), then UDP.
Buffer hop_by_hop(const Buffer& options) {
    return Buffer{17, static_cast<uint8_t>((options.size() + 2) / 8 - 1)} + options + transport();
}

void add_validation(Table& t) {
    t.stays("version 4 under IPv6's EtherType", {.version = 4}, PP_DROP_IPV6_VERSION);
    t.stays("version 0", {.version = 0}, PP_DROP_IPV6_VERSION);
    t.stays("payload one beyond the frame", {.payload = transport(26), .payload_length = 27},
            PP_DROP_IPV6_LENGTH);
    t.stays("payload 65535", {.payload_length = 65535}, PP_DROP_IPV6_LENGTH);
    t.stays("jumbogram", {.next = 0, .payload = hop_by_hop({0xc2, 4, 0, 1, 0, 0}), .payload_length = 0},
            PP_DROP_IPV6_LENGTH);
    t.stays("broken packet for the router itself", {.destination = "2001:db8:ff::1", .payload_length = 999},
            PP_DROP_IPV6_LENGTH);
    t.leaves("header alone", {.next = 59, .payload = {}});
    t.leaves("padding stays", {.next = 59, .payload = {}}, leaving2, 2, Buffer(6, 0x55));
    t.loses("trailer", {}, Buffer(7, 0x55));
    t.loses("trailer longer than the MTU", {.next = 59, .payload = {}}, Buffer(1600, 0x55));
}

void add_destinations(Table& t) {
    t.stays("own address", {.destination = "2001:db8:ff::1"}, PP_HOST_LOCAL);
    t.stays("own address, hop limit 0", {.destination = "2001:db8:ff::1", .hop_limit = 0}, PP_HOST_LOCAL);
    t.stays("own address from a link-local source", {.source = "fe80::7", .destination = "2001:db8:ff::1"},
            PP_HOST_LOCAL);
    t.stays("own address, unknown option",
            {.destination = "2001:db8:ff::1", .next = 0, .payload = hop_by_hop({0x80 | 30, 4, 0, 0, 0, 0})},
            PP_HOST_LOCAL);
    t.stays("all routers", {.source = "fe80::7", .destination = "ff02::2", .hop_limit = 255},
            PP_HOST_MULTICAST);
    t.stays("global multicast", {.destination = "ff0e::1"}, PP_HOST_MULTICAST);
    t.stays("link-local destination", {.destination = "fe80::1"}, PP_HOST_LINK_LOCAL);
    t.stays("last link-local address", {.destination = "febf:ffff::1"}, PP_HOST_LINK_LOCAL);
    t.stays("next to link-local: no route", {.destination = "fec0::1"}, PP_PUNT_NO_ROUTE);
    t.stays("destination ::", {.destination = "::"}, PP_DROP_MARTIAN_DESTINATION);
    t.stays("destination ::1", {.destination = "::1"}, PP_DROP_MARTIAN_DESTINATION);
    t.stays("destination ::ffff:10.1.0.9", {.destination = "::ffff:10.1.0.9"}, PP_DROP_MARTIAN_DESTINATION);
    t.stays("destination ::2: only no route", {.destination = "::2"}, PP_PUNT_NO_ROUTE);
}

void add_sources(Table& t) {
    t.stays("source is the router's own address", {.source = "2001:db8:ff::1"}, PP_DROP_OWN_SOURCE);
    t.stays("own source before no route", {.source = "2001:db8:ff::1", .destination = "2001:db8:c8::1"},
            PP_DROP_OWN_SOURCE);
    t.stays("own address to itself: the kernel judges",
            {.source = "2001:db8:ff::1", .destination = "2001:db8:ff::1"}, PP_HOST_LOCAL);
    t.leaves("source that shares its bit with another", {.source = "2001:db8:1::77"});
    for (const char* source : {"::", "::1", "::ffff:192.0.2.9", "ff02::1", "ff0e::1"})
        t.stays("source " + std::string(source), {.source = source}, PP_DROP_MARTIAN_SOURCE);
    t.stays("link-local source", {.source = "fe80::7"}, PP_PUNT_BEYOND_SCOPE);
    t.stays("link-local source before hop limit", {.source = "febf::7", .hop_limit = 1},
            PP_PUNT_BEYOND_SCOPE);
    for (const char* source :
         {"::2", "::fffe:0:1", "0:0:0:1::1", "fe7f::1", "fec0::1", "fd00::1", "64:ff9b::1"})
        t.leaves("source " + std::string(source), {.source = source});
}

void add_routes(Table& t) {
    t.leaves("longest prefix: /128 inside /48", {.destination = "2001:db8:1:2:3:4:5:6"}, leaving3, 3);
    t.leaves("next to the /128", {.destination = "2001:db8:1:2:3:4:5:7"});
    t.stays("no route", {.destination = "2001:db8:200::1"}, PP_PUNT_NO_ROUTE);
    t.stays("no route at the root", {.destination = "4000::1"}, PP_PUNT_NO_ROUTE);
    t.stays("group without members", {.destination = "2001:db8:f::1"}, PP_PUNT_NO_ROUTE);
    t.stays("blackhole", {.destination = "2001:db8:8::1"}, PP_DROP_BLACKHOLE);
    t.stays("unreachable", {.destination = "2001:db8:9::1"}, PP_PUNT_UNREACHABLE);
    t.stays("prohibit", {.destination = "2001:db8:a::1"}, PP_PUNT_PROHIBITED);
    t.stays("the kernel's route", {.destination = "2001:db8:10::1"}, PP_HOST_KERNEL_ROUTE);
    t.stays("neighbour not known", {.destination = "2001:db8:6::1"}, PP_PUNT_NO_NEIGHBOUR);
    t.stays("glean", {.destination = "2001:db8:7::1"}, PP_PUNT_NO_NEIGHBOUR);
    t.stays("egress port down", {.destination = "2001:db8:4::1"}, PP_DROP_NO_EGRESS);
    t.stays("egress port out of range", {.destination = "2001:db8:5::1"}, PP_DROP_NO_EGRESS);
    t.stays("adjacency of no known kind", {.destination = "2001:db8:b::1"}, PP_DROP_BROKEN_FIB);
    t.stays("freed adjacency", {.destination = "2001:db8:c::1"}, PP_DROP_BROKEN_FIB);
    t.leaves("hop limit 2", {.hop_limit = 2});
    t.leaves("hop limit 255", {.hop_limit = 255});
    t.stays("hop limit 1", {.hop_limit = 1}, PP_PUNT_TTL_EXPIRED);
    t.stays("hop limit 0", {.hop_limit = 0}, PP_PUNT_TTL_EXPIRED);
    t.stays("no route before hop limit", {.destination = "2001:db8:200::1", .hop_limit = 1},
            PP_PUNT_NO_ROUTE);
    t.stays("hop limit before neighbour", {.destination = "2001:db8:6::1", .hop_limit = 1},
            PP_PUNT_TTL_EXPIRED);
    t.leaves("exactly the MTU", {.destination = "2001:db8:d::1", .payload = transport(1240)});
    t.stays("one byte more than the MTU", {.destination = "2001:db8:d::1", .payload = transport(1241)},
            PP_PUNT_TOO_BIG);
    t.stays("hop limit before MTU",
            {.destination = "2001:db8:d::1", .hop_limit = 1, .payload = transport(1241)},
            PP_PUNT_TTL_EXPIRED);
    t.leaves("traffic class and flow label stay", {.traffic_class = 0xb9, .flow_label = 0xabcde});
    t.leaves("fragment", {.next = 44, .payload = Buffer{17, 0, 0, 1, 0, 0, 0, 9} + transport()});
}

void add_options(Table& t) {
    const auto with = [](const Buffer& options) { return Ipv6{.next = 0, .payload = hop_by_hop(options)}; };
    Ipv6 fields = with({5, 2, 0, 0, 1, 0});
    t.leaves("router alert", fields);
    t.leaves("Pad1 alone", with({0, 0, 0, 0, 0, 0}));
    t.leaves("PadN", with({1, 4, 0, 0, 0, 0}));
    t.leaves("Pad1 as the last byte", with({0x1e, 3, 0, 0, 0, 0}));
    t.leaves("unknown option to skip", with({0x3e, 4, 1, 2, 3, 4}));
    t.leaves("eight options", with({0x3e, 0,    0x3e, 0,    0x3e, 0, 0x3e, 0, 0x3e, 0, 0x3e,
                                    0,    0x3e, 0,    0x3e, 0,    1, 4,    0, 0,    0, 0}));
    t.stays("nine options", with({0x3e, 0,    0x3e, 0,    0x3e, 0,    0x3e, 0, 0x3e, 0, 0x3e,
                                  0,    0x3e, 0,    0x3e, 0,    0x3e, 0,    1, 2,    0, 0}),
            PP_DROP_IPV6_EXTENSION);
    t.stays("unknown option to discard", with({0x7e, 4, 0, 0, 0, 0}), PP_DROP_IPV6_OPTION);
    t.stays("unknown option to discard and report", with({0xbe, 4, 0, 0, 0, 0}), PP_PUNT_IPV6_OPTION, 42);
    t.stays("unknown option to report unless multicast", with({0, 0, 0xfe, 2, 0, 0}), PP_PUNT_IPV6_OPTION,
            44);
    t.stays("jumbo option with a payload length", with({0xc2, 4, 0, 1, 0, 0}), PP_PUNT_IPV6_OPTION, 42);
    t.stays("option beyond the header", with({0x3e, 5, 0, 0, 0, 0}), PP_DROP_IPV6_EXTENSION);
    t.stays("PadN beyond the header", with({1, 5, 0, 0, 0, 0}), PP_DROP_IPV6_EXTENSION);
    t.stays("option without a length", with({1, 3, 0, 0, 0, 0x3e}), PP_DROP_IPV6_EXTENSION);
    t.stays("options before no route",
            {.destination = "2001:db8:200::1", .next = 0, .payload = hop_by_hop({0x7e, 4, 0, 0, 0, 0})},
            PP_DROP_IPV6_OPTION);
    t.stays("header longer than the payload", {.next = 0, .payload = {17, 1, 1, 4, 0, 0, 0, 0, 1, 2, 0, 0}},
            PP_DROP_IPV6_EXTENSION);
    t.stays("payload shorter than a header", {.next = 0, .payload = {17, 0, 1, 4}}, PP_DROP_IPV6_EXTENSION);
    // 14 + 40 + 72 = 126 bytes lie in a slice of 128, 14 + 40 + 80 do not.
    t.leaves("longest header that the slice holds", with(Buffer{1, 68} + Buffer(68)));
    t.stays("header beyond the slice", with(Buffer{1, 76} + Buffer(76)), PP_DROP_IPV6_EXTENSION);
    fields.hop_limit = 1;
    t.stays("hop limit behind good options", fields, PP_PUNT_TTL_EXPIRED);
    t.leaves("destination options are not looked at",
             {.next = 60, .payload = hop_by_hop({0xbe, 4, 0, 0, 0, 0})});
}

}  // namespace

std::vector<Vector> ipv6_vectors() {
    Table t("IPv6: ");
    add_validation(t);
    add_destinations(t);
    add_sources(t);
    add_routes(t);
    add_options(t);
    return t.rows;
}

std::vector<Vector> all_vectors() {
    std::vector<Vector> all = link_layer_vectors();
    for (auto& more : {ipv4_vectors(), ipv6_vectors()})
        all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace pktpit::router::test
