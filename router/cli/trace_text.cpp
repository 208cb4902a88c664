// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/trace_text.h"

#include <cmath>
#include <cstdio>

#include "router/cli/format.h"
#include "router/cli/json_text.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

std::string clock_text(double seconds) {
    char fraction[16];
    std::snprintf(fraction, sizeof fraction, ".%06d",
                  static_cast<int>((seconds - std::floor(seconds)) * 1e6));
    return format_time(seconds, "%H:%M:%S") + fraction;
}

std::string line(const char* step, const std::string& text) {
    std::string padded = std::string("  ") + step;
    padded.resize(13, ' ');
    return padded + printable(text) + "\n";
}

std::string number_text(const json& object, const char* name) {
    return std::to_string(number_of(object, name));
}

std::string vlan_text(const json& object) {
    const std::string tags = joined(part_of(object, "vlan"), ".");
    return tags.empty() ? "" : "  vlan " + tags;
}

std::string link_text(const json& headers) {
    const json& ethernet = part_of(headers, "ethernet");
    return text_of(ethernet, "src") + " -> " + text_of(ethernet, "dst") + vlan_text(ethernet) + "  " +
           text_of(ethernet, "type");
}

std::string transport_text(const json& headers) {
    const json& ports = part_of(headers, "ports");
    const json& icmp = part_of(headers, "icmp");
    if (!ports.empty()) return " " + number_text(ports, "src") + " -> " + number_text(ports, "dst");
    if (!icmp.empty()) return " type " + number_text(icmp, "type") + " code " + number_text(icmp, "code");
    return "";
}

/// The IP header's line, or ARP's; empty: neither.
std::string network_lines(const json& headers) {
    if (const json& ip = part_of(headers, "ipv4"); !ip.empty()) {
        std::string text = text_of(ip, "src") + " -> " + text_of(ip, "dst") + "  " + text_of(ip, "protocol") +
                           transport_text(headers) + "  ttl " + number_text(ip, "ttl") + "  length " +
                           number_text(ip, "length");
        if (number_of(ip, "fragment_offset") != 0 || flag_of(ip, "more_fragments"))
            text += "  fragment at " + number_text(ip, "fragment_offset");
        if (number_of(ip, "header_length") > 20) text += "  options";
        return line("ipv4", text);
    }
    if (const json& ip = part_of(headers, "ipv6"); !ip.empty())
        return line("ipv6", text_of(ip, "src") + " -> " + text_of(ip, "dst") + "  " +
                                text_of(ip, "protocol") + transport_text(headers) + "  hop limit " +
                                number_text(ip, "hop_limit") + "  length " + number_text(ip, "length"));
    if (const json& arp = part_of(headers, "arp"); !arp.empty())
        return line("arp", (number_of(arp, "operation") == 1 ? "who has " : "reply to ") +
                               text_of(arp, "target") + "  from " + text_of(arp, "sender") + " " +
                               text_of(arp, "sender_mac"));
    return "";
}

std::string lookup_lines(const json& packet) {
    const json& lookup = part_of(packet, "lookup");
    if (lookup.empty()) return "";
    const json& adjacency = part_of(lookup, "adjacency");
    const std::string vrf = text_of(lookup, "vrf", "default");
    std::string text = text_of(lookup, "destination") + in_vrf(vrf) + " matches ";
    if (text_of(lookup, "prefix", "").empty())
        text += "no prefix";
    else
        text += text_of(lookup, "prefix") + " (" + text_of(lookup, "source") + ")  group " +
                number_text(lookup, "group");
    if (!adjacency.empty())
        text += "  adjacency " + number_text(adjacency, "id") + " (" + text_of(adjacency, "kind") + ")";
    if (!flag_of(lookup, "as_the_packet_met")) text += "  [as the tables are now: the packet met others]";
    std::string lines = line("lookup", text);
    if (text_of(adjacency, "interface", "").empty()) return lines;
    const std::string via = text_of(adjacency, "via", "");
    return lines +
           line("next hop", (via.empty() ? "on the link" : via) + "  dev " + text_of(adjacency, "interface") +
                                "  " + text_of(adjacency, "dst_mac", "MAC address not known") +
                                vlan_text(adjacency) + "  mtu " + number_text(adjacency, "mtu"));
}

std::string sent_line(const char* step, const json& sent) {
    const json& headers = part_of(sent, "headers");
    std::string text =
        text_of(sent, "port") + "  " + link_text(headers) + "  " + number_text(sent, "length") + " bytes";
    if (const json& ip = part_of(headers, "ipv4"); !ip.empty()) text += "  ttl " + number_text(ip, "ttl");
    if (const json& ip = part_of(headers, "ipv6"); !ip.empty())
        text += "  hop limit " + number_text(ip, "hop_limit");
    return line(step, text);
}

std::string slow_path_lines(const json& packet) {
    const json& slow = part_of(packet, "slow_path");
    if (slow.empty()) return "";
    std::string done;
    for (const auto& [name, count] : part_of(slow, "steps").items()) {
        done += (done.empty() ? "" : ", ") + name;
        if (count.is_number_unsigned() && count != 1U) done += " ×" + count.dump();
    }
    std::string lines = line("slow path", done.empty() ? "nothing" : done);
    for (const json& sent : part_of(slow, "sent")) {
        lines += sent_line("sent", sent);
        lines += network_lines(part_of(sent, "headers"));
    }
    return lines;
}

std::string time_line(const json& packet) {
    std::string text;
    for (const json& step : part_of(packet, "steps")) {
        const std::string name = text_of(step, "step");
        const uint64_t after = number_of(step, "ns");
        if (name == "port_stage_begin") continue;
        if (name == "port_stage_end") return line("time", "port stage " + format_nanoseconds(after));
        text += (text.empty() ? "" : ", ") + name + (after == 0 ? "" : " +" + format_nanoseconds(after));
    }
    return text.empty() ? "" : line("time", text);
}

Colour colour_of(const std::string& action) {
    if (action == "forward") return Colour::green;
    return action == "drop" ? Colour::red : action == "punt" ? Colour::yellow : Colour::none;
}

}  // namespace

std::string trace_text(const json& packet, const Terminal& terminal) {
    if (const std::string event = text_of(packet, "event", ""); !event.empty())
        return terminal.paint(Colour::bold, printable(event)) + "\n" + slow_path_lines(packet);
    const json& headers = part_of(packet, "headers");
    std::string text =
        terminal.paint(Colour::bold, "Packet " + number_text(packet, "packet")) + "  " +
        clock_text(real_of(packet, "time")) + "  " + printable(text_of(packet, "port")) + "  " +
        printable(text_of(packet, "mode")) + "  " + number_text(packet, "length") + " bytes  " +
        terminal.paint(colour_of(text_of(packet, "action")), printable(text_of(packet, "verdict"))) + "\n";
    text += line("ethernet", link_text(headers)) + network_lines(headers) + lookup_lines(packet);
    if (const json& egress = part_of(packet, "egress"); !egress.empty()) text += sent_line("egress", egress);
    text += line("verdict", text_of(packet, "verdict") + ": " + text_of(packet, "meaning"));
    return text + slow_path_lines(packet) + time_line(packet);
}

}  // namespace pktpit::router::cli
