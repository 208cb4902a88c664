// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <stdexcept>

#include "tests/unit/forward/vectors.h"

namespace pktpit::router::test {
namespace {

using Table = FamilyTable<Ipv4>;

void add_validation(Table& t) {
    t.stays("version 5", {.version = 5}, PP_DROP_IPV4_VERSION);
    t.stays("version 6 under IPv4's EtherType", {.version = 6}, PP_DROP_IPV4_VERSION);
    t.stays("version 0", {.version = 0}, PP_DROP_IPV4_VERSION);
    t.stays("IHL 4", {.ihl = 4}, PP_DROP_IPV4_HEADER_LENGTH);
    t.stays("IHL 0", {.ihl = 0}, PP_DROP_IPV4_HEADER_LENGTH);
    t.stays("IHL beyond the frame", {.payload = {}, .ihl = 6}, PP_DROP_IPV4_HEADER_LENGTH);
    t.stays("total length below 20", {.total_length = 19}, PP_DROP_IPV4_LENGTH);
    t.stays("total length 0", {.total_length = 0}, PP_DROP_IPV4_LENGTH);
    t.stays("total length below the header with options", {.options = {1, 1, 1, 1}, .total_length = 23},
            PP_DROP_IPV4_LENGTH);
    t.stays("total length one beyond the frame", {.payload = transport(26), .total_length = 47},
            PP_DROP_IPV4_LENGTH);
    t.stays("total length 65535", {.total_length = 65535}, PP_DROP_IPV4_LENGTH);
    Buffer wrong = frame(arriving, Ipv4{});
    wrong[24] ^= 1;
    t.stays_bytes("checksum off by a bit", wrong, PP_DROP_IPV4_CHECKSUM);
    t.stays("checksum 0", {.checksum = 0}, PP_DROP_IPV4_CHECKSUM);
    t.stays("checksum of the options wrong", {.options = {1, 1, 1, 0}, .checksum = 0x1234},
            PP_DROP_IPV4_CHECKSUM);
    t.stays("broken packet for the router itself", {.destination = "192.0.2.1", .checksum = 0},
            PP_DROP_IPV4_CHECKSUM);
}

void add_destinations(Table& t) {
    t.stays("own address", {.destination = "192.0.2.1"}, PP_HOST_LOCAL);
    t.stays("own address on another interface", {.destination = "192.0.3.1"}, PP_HOST_LOCAL);
    t.stays("own address, TTL 1", {.destination = "192.0.2.1", .ttl = 1}, PP_HOST_LOCAL);
    t.stays("own address, TTL 0", {.destination = "192.0.2.1", .ttl = 0}, PP_HOST_LOCAL);
    t.stays("own address, source 0.0.0.0", {.source = "0.0.0.0", .destination = "192.0.2.1"}, PP_HOST_LOCAL);
    t.stays("own address, record route", {.destination = "192.0.2.1", .options = {7, 3, 4, 0}},
            PP_HOST_LOCAL);
    t.stays("own link-local address", {.destination = "169.254.7.1"}, PP_HOST_LOCAL);
    t.stays("own net's broadcast address", {.destination = "192.0.2.255"}, PP_HOST_BROADCAST);
    t.stays("another net's broadcast address", {.destination = "192.0.3.255"}, PP_DROP_DIRECTED_BROADCAST);
    t.stays("another net's broadcast address, TTL 1", {.destination = "192.0.3.255", .ttl = 1},
            PP_DROP_DIRECTED_BROADCAST);
    t.stays("limited broadcast", {.source = "0.0.0.0", .destination = "255.255.255.255"}, PP_HOST_BROADCAST);
    t.stays("multicast", {.destination = "239.1.2.3"}, PP_HOST_MULTICAST);
    t.stays("first multicast address", {.destination = "224.0.0.0"}, PP_HOST_MULTICAST);
    t.stays("last multicast address", {.destination = "239.255.255.255", .ttl = 1}, PP_HOST_MULTICAST);
    t.stays("link-local destination", {.destination = "169.254.1.1"}, PP_DROP_LINK_LOCAL);
    t.stays("link-local source and destination", {.source = "169.254.1.2", .destination = "169.254.1.1"},
            PP_DROP_LINK_LOCAL);
    t.stays("destination 0.1.2.3", {.destination = "0.1.2.3"}, PP_DROP_MARTIAN_DESTINATION);
    t.stays("destination 0.0.0.0", {.destination = "0.0.0.0"}, PP_DROP_MARTIAN_DESTINATION);
    t.stays("destination 127.0.0.1", {.destination = "127.0.0.1"}, PP_DROP_MARTIAN_DESTINATION);
    t.stays("destination 240.0.0.1", {.destination = "240.0.0.1"}, PP_DROP_MARTIAN_DESTINATION);
    t.stays("destination 255.255.255.254", {.destination = "255.255.255.254"}, PP_DROP_MARTIAN_DESTINATION);
}

void add_sources(Table& t) {
    for (const char* source : {"0.0.0.0", "0.255.255.255", "127.0.0.1", "127.255.255.255", "224.0.0.1",
                               "239.255.255.255", "240.0.0.1", "255.255.255.255"})
        t.stays("source " + std::string(source), {.source = source}, PP_DROP_MARTIAN_SOURCE);
    t.stays("link-local source", {.source = "169.254.1.1"}, PP_DROP_LINK_LOCAL);
    t.stays("martian source, no route", {.source = "127.0.0.1", .destination = "10.200.0.1"},
            PP_DROP_MARTIAN_SOURCE);
    t.stays("source is the router's own address", {.source = "192.0.2.1"}, PP_DROP_OWN_SOURCE);
    t.stays("source is the router's address on another interface", {.source = "192.0.3.1"},
            PP_DROP_OWN_SOURCE);
    t.stays("own address to itself: the kernel judges", {.source = "192.0.2.1", .destination = "192.0.2.1"},
            PP_HOST_LOCAL);
    t.stays("source is the own net's broadcast address", {.source = "192.0.2.255"}, PP_DROP_BROADCAST_SOURCE);
    t.stays("source is another net's broadcast address", {.source = "192.0.3.255"}, PP_DROP_BROADCAST_SOURCE);
    t.stays("own source before no route", {.source = "192.0.2.1", .destination = "10.200.0.1"},
            PP_DROP_OWN_SOURCE);
    t.stays("own source before TTL", {.source = "192.0.2.1", .ttl = 1}, PP_DROP_OWN_SOURCE);
    t.stays("own source before options", {.source = "192.0.2.1", .options = {131, 3, 4, 0}},
            PP_DROP_OWN_SOURCE);
    t.leaves("source beside the own address", {.source = "192.0.2.2"});
    t.leaves("source that shares its bit with another", {.source = "10.1.2.9"});
    for (const char* source :
         {"1.0.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255", "169.255.0.0", "223.255.255.255"})
        t.leaves("neighbour of a martian, source " + std::string(source), {.source = source});
}

void add_routes(Table& t) {
    t.leaves("longest prefix: /24 inside /16", {.destination = "10.1.2.9"}, leaving3, 3);
    t.leaves("longest prefix: /32 inside /24", {.destination = "10.1.2.128"});
    t.leaves("next to the /32", {.destination = "10.1.2.129"}, leaving3, 3);
    t.stays("no route", {.destination = "10.200.0.1"}, PP_PUNT_NO_ROUTE);
    t.stays("group without members", {.destination = "10.15.0.1"}, PP_PUNT_NO_ROUTE);
    t.stays("blackhole", {.destination = "10.8.0.1"}, PP_DROP_BLACKHOLE);
    t.stays("unreachable", {.destination = "10.9.0.1"}, PP_PUNT_UNREACHABLE);
    t.stays("prohibit", {.destination = "10.10.0.1"}, PP_PUNT_PROHIBITED);
    t.stays("the kernel's route", {.destination = "10.16.0.1"}, PP_HOST_KERNEL_ROUTE);
    t.stays("the kernel's route, TTL 1", {.destination = "10.16.0.1", .ttl = 1}, PP_HOST_KERNEL_ROUTE);
    t.stays("neighbour not known", {.destination = "10.6.0.1"}, PP_PUNT_NO_NEIGHBOUR);
    t.stays("glean", {.destination = "10.7.0.1"}, PP_PUNT_NO_NEIGHBOUR);
    t.stays("on the own net", {.destination = "192.0.2.77"}, PP_PUNT_NO_NEIGHBOUR);
    t.stays("egress port down", {.destination = "10.4.0.1"}, PP_DROP_NO_EGRESS);
    t.stays("egress port out of range", {.destination = "10.5.0.1"}, PP_DROP_NO_EGRESS);
    t.stays("egress port 0", {.destination = "10.5.1.1"}, PP_DROP_NO_EGRESS);
    t.stays("adjacency of no known kind", {.destination = "10.11.0.1"}, PP_DROP_BROKEN_FIB);
    t.stays("freed adjacency", {.destination = "10.12.0.1"}, PP_DROP_BROKEN_FIB);
}

void add_ttl(Table& t) {
    t.leaves("TTL 2", {.ttl = 2});
    t.leaves("TTL 255", {.ttl = 255});
    t.stays("TTL 1", {.ttl = 1}, PP_PUNT_TTL_EXPIRED);
    t.stays("TTL 0", {.ttl = 0}, PP_PUNT_TTL_EXPIRED);
    t.stays("no route before TTL", {.destination = "10.200.0.1", .ttl = 1}, PP_PUNT_NO_ROUTE);
    t.stays("blackhole before TTL", {.destination = "10.8.0.1", .ttl = 1}, PP_DROP_BLACKHOLE);
    t.stays("TTL before neighbour", {.destination = "10.6.0.1", .ttl = 1}, PP_PUNT_TTL_EXPIRED);
    t.stays("TTL before egress", {.destination = "10.4.0.1", .ttl = 1}, PP_PUNT_TTL_EXPIRED);
    t.stays("TTL before MTU", {.destination = "10.13.0.1", .ttl = 1, .payload = transport(900)},
            PP_PUNT_TTL_EXPIRED);
    // Checksums at the edges of the arithmetic: identification chosen so that HC is what it says.
    for (const int wanted : {0x0000, 0x00ff, 0x0100, 0xfe00, 0xfefe, 0xfeff, 0xff00, 0xfffe}) {
        Ipv4 fields{.id = 0};
        const Buffer bytes = packet(fields);
        const uint16_t at_zero = static_cast<uint16_t>(bytes[10] << 8 | bytes[11]);
        // ~HC = S + id in one's complement, so id = HC before - HC wanted.
        const int difference = at_zero - wanted;
        fields.id = static_cast<uint16_t>(difference < 0 ? difference - 1 : difference);
        const Buffer made = packet(fields);
        if ((made[10] << 8 | made[11]) != wanted) throw std::logic_error("checksum is not as wanted");
        t.leaves("header checksum " + std::to_string(wanted), fields);
    }
}

void add_sizes(Table& t) {
    t.leaves("exactly the MTU", {.destination = "10.13.0.1", .payload = transport(580)});
    t.stays("one byte more than the MTU", {.destination = "10.13.0.1", .payload = transport(581)},
            PP_PUNT_TOO_BIG);
    t.stays("one byte more than the MTU, DF",
            {.destination = "10.13.0.1", .payload = transport(581), .fragment = 0x4000}, PP_PUNT_TOO_BIG);
    t.stays("no neighbour before MTU", {.destination = "10.6.0.1", .payload = transport(1481)},
            PP_PUNT_NO_NEIGHBOUR);
    t.leaves("1500 bytes", {.payload = transport(1480)});
    t.leaves("header alone", {.payload = {}});
    t.leaves("Ethernet padding stays", {.payload = transport(4)}, leaving2, 2, Buffer(22, 0x55));
    t.leaves("as much padding as can be", {.payload = {}}, leaving2, 2, Buffer(26, 0x55));
    t.loses("a byte more than padding", {.payload = {}}, Buffer(27, 0x55));
    t.loses("a trailer does not count for the MTU", {.destination = "10.13.0.1", .payload = transport(580)},
            Buffer(8, 0x55));
    t.loses("trailer longer than the MTU", {}, Buffer(1600, 0x55));
    t.loses("trailer longer than any slice", {.options = {1, 1, 1, 0}, .payload = transport(200)},
            Buffer(400, 0x55));
    t.stays("trailer, no route", {.destination = "10.200.0.1", .payload = transport(100), .total_length = 30},
            PP_PUNT_NO_ROUTE);
    t.leaves("header fields stay", {.protocol = 253, .tos = 0xb9, .id = 0xffff, .fragment = 0x4000});
    t.leaves("first fragment", {.fragment = 0x2000});
    t.leaves("last fragment", {.fragment = 0x00b9});
}

void add_options(Table& t) {
    Buffer nops(40, 1);
    t.leaves("NOPs", {.options = nops});
    t.leaves("end of options, then anything", {.options = {0, 131, 7, 68}});
    t.leaves("router alert", {.options = {148, 4, 0, 0}});
    t.leaves("unknown option", {.options = {0x5e, 6, 1, 2, 3, 4, 1, 0}});
    t.leaves("option that ends with the header", {.options = {1, 1, 0x5e, 2}});
    t.stays("loose source route", {.options = {131, 7, 4, 10, 0, 0, 1, 0}}, PP_DROP_IPV4_SOURCE_ROUTE);
    t.stays("strict source route", {.options = {1, 137, 7, 4, 10, 0, 0, 1}}, PP_DROP_IPV4_SOURCE_ROUTE);
    t.stays("source route without a length", {.options = {1, 1, 1, 131}}, PP_DROP_IPV4_SOURCE_ROUTE);
    t.stays("source route behind a record route", {.options = {7, 3, 4, 131, 3, 4, 0, 0}},
            PP_DROP_IPV4_SOURCE_ROUTE);
    t.stays("source route before no route", {.destination = "10.200.0.1", .options = {131, 3, 4, 0}},
            PP_DROP_IPV4_SOURCE_ROUTE);
    t.stays("record route", {.options = {1, 7, 7, 4, 0, 0, 0, 0}}, PP_PUNT_IPV4_OPTIONS, 21);
    t.stays("timestamp", {.options = {68, 8, 5, 0, 0, 0, 0, 0}}, PP_PUNT_IPV4_OPTIONS, 20);
    t.stays("option of length 1", {.options = {0x5e, 1, 0, 0}}, PP_PUNT_IPV4_OPTIONS, 20);
    t.stays("option of length 0", {.options = {1, 0x5e, 0, 0}}, PP_PUNT_IPV4_OPTIONS, 21);
    t.stays("option without a length", {.options = {1, 1, 1, 0x5e}}, PP_PUNT_IPV4_OPTIONS, 23);
    t.stays("option beyond the header", {.options = {1, 0x5e, 4, 0}}, PP_PUNT_IPV4_OPTIONS, 21);
    t.stays("source route behind a broken option means nothing", {.options = {0x5e, 0, 131, 3}},
            PP_PUNT_IPV4_OPTIONS, 20);
    t.stays("TTL before options", {.ttl = 1, .options = {7, 3, 4, 0}}, PP_PUNT_TTL_EXPIRED);
    t.stays("neighbour before options", {.destination = "10.6.0.1", .options = {7, 3, 4, 0}},
            PP_PUNT_NO_NEIGHBOUR);
    t.stays("options before MTU",
            {.destination = "10.13.0.1", .options = {7, 3, 4, 0}, .payload = transport(700)},
            PP_PUNT_IPV4_OPTIONS, 20);
}

/// From its UDP header on.
Buffer dhcp_answer(const Mac& client, uint16_t to = 68, size_t bytes = 300) {
    Buffer out = transport(bytes, 67, to);
    out[8] = 2;   // BOOTREPLY
    out[9] = 1;   // Ethernet
    out[10] = 6;  // a MAC address' length
    std::copy(client.begin(), client.end(), out.begin() + 36);
    return out;
}

// On port 4, and on port 3's VLAN 100, the host may be asking for an address.
void add_dhcp(Table& t) {
    const Ethernet by4{.to = port4, .from = peer};
    const auto stays = [&](const char* name, const Ethernet& by, uint16_t port, const Ipv4& fields) {
        t.rows.push_back({std::string("IPv4: DHCP, ") + name, port, frame(by, fields), PP_HOST_DHCP});
    };
    const auto leaves = [&](const char* name, const Ethernet& by, uint16_t port, const Ipv4& fields) {
        t.rows.push_back({std::string("IPv4: DHCP, ") + name, port, frame(by, fields), PP_FORWARDED,
                          frame(leaving2, one_hop_on(fields)), 2});
    };
    const auto changed = [](size_t at, uint8_t value) {
        Buffer out = dhcp_answer(port4);
        out[at] = value;
        return out;
    };
    stays("an answer to the port", by4, 4, {.payload = dhcp_answer(port4)});
    stays("TTL 1", by4, 4, {.ttl = 1, .payload = dhcp_answer(port4)});
    stays("no route", by4, 4, {.destination = "203.0.113.9", .payload = dhcp_answer(port4)});
    stays("with options", by4, 4, {.options = {1, 1, 1, 0}, .payload = dhcp_answer(port4)});
    stays("as short as can be", by4, 4, {.payload = dhcp_answer(port4, 68, 42)});
    stays("on a VLAN", tagged({.to = port3, .from = peer}, {{0x8100, 100}}), 3,
          {.payload = dhcp_answer(port3)});
    leaves("an answer to another client", by4, 4, {.payload = dhcp_answer(peer)});
    leaves("to a relay", by4, 4, {.payload = dhcp_answer(port4, 67)});
    leaves("a request", by4, 4, {.payload = changed(8, 1)});
    leaves("of another link layer", by4, 4, {.payload = changed(9, 6)});
    leaves("of a longer hardware address", by4, 4, {.payload = changed(10, 16)});
    leaves("the last byte of the address is another", by4, 4, {.payload = changed(41, 0xee)});
    leaves("cut short", by4, 4, {.payload = dhcp_answer(port4, 68, 41)});
    leaves("TCP", by4, 4, {.protocol = 6, .payload = dhcp_answer(port4)});
    leaves("a first fragment", by4, 4, {.payload = dhcp_answer(port4), .fragment = 0x2000});
    leaves("a later fragment", by4, 4, {.payload = dhcp_answer(port4), .fragment = 5});
    leaves("by a port that has an address", arriving, 1, {.payload = dhcp_answer(port1)});
}

}  // namespace

std::vector<Vector> ipv4_vectors() {
    Table t("IPv4: ");
    add_validation(t);
    add_destinations(t);
    add_sources(t);
    add_routes(t);
    add_ttl(t);
    add_sizes(t);
    add_options(t);
    add_dhcp(t);
    return t.rows;
}

}  // namespace pktpit::router::test
