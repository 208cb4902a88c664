// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/control/snapshot.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "fib/lookup.h"

namespace pktpit::router::fake {
namespace {

std::string mac_text(const uint8_t* bytes) {
    MacAddress mac;
    std::copy_n(bytes, mac.bytes.size(), mac.bytes.begin());
    return mac.to_string();
}

/// What an image holds, read as readers do.
class ImageReader {
  public:
    ImageReader(const fib::FibImage& image, const ControlPlane& control)
        : memory_(image.memory().data()),
          geometry_(image.geometry()),
          image_(image),
          routing_(control.routing()),
          kernel_(control.kernel_state()) {}

    std::string group(fib::GroupId id) const {
        const uint64_t word = pp_fib_group_word(memory_, &geometry_, id);
        const uint32_t first = PP_FIB_GROUP_FIRST(word), bits = PP_FIB_GROUP_BITS(word);
        std::set<std::string> members;
        if (bits == 0) members.insert(adjacency(first));
        for (uint32_t i = 0; bits != 0 && i < (1U << bits); i++)
            members.insert(adjacency(pp_fib_bucket(memory_, &geometry_, first, bits, i << (32 - bits))));
        return fmt::format("{}{}", PP_FIB_GROUP_COUNTER(word) != 0 ? "counted " : "",
                           fmt::join(members, " | "));
    }
    std::string interface(uint16_t id) const {
        const L3Interface* found = routing_.interfaces().find(id);
        return found ? found->name : id == 0 ? "-" : "gone";
    }
    std::string vrf(VrfId id) const {
        const auto all = routing_.vrfs();
        return std::ranges::find(all, id) == all.end() ? "gone" : routing_.vrf_name(id).name;
    }
    /// The tables of what comes in by the interface; zeroes: the default VRF's.
    pp_fib_interface tables(uint16_t id) const {
        const uint32_t word = pp_fib_interface_word(memory_, &geometry_, id);
        return {static_cast<uint16_t>(PP_FIB_INTERFACE_TABLE(word)),
                static_cast<uint16_t>(PP_FIB_INTERFACE_HOST_TABLE(word))};
    }
    void ports_and_vlans(Snapshot& lines) const {
        const auto* ports = reinterpret_cast<const pp_fib_port*>(memory_ + geometry_.port_offset);
        for (uint32_t id = 0; id < geometry_.port_count; id++)
            if (ports[id].ifindex != 0 || ports[id].interface != 0)
                lines.insert(fmt::format("image port {}: {} flags {} device {} {}", id,
                                         mac_text(ports[id].mac), ports[id].flags, device(ports[id].ifindex),
                                         interface(ports[id].interface)));
        const auto* vlans = reinterpret_cast<const pp_fib_vlan*>(memory_ + geometry_.vlan_offset);
        for (uint32_t i = 0; i < geometry_.vlan_count; i++)
            if (vlans[i].interface != 0 && vlans[i].interface != PP_VLAN_TOMBSTONE)
                lines.insert(fmt::format("image VLAN {} {} on port {}: {}", vlans[i].outer, vlans[i].inner,
                                         vlans[i].port, interface(vlans[i].interface)));
    }

  private:
    // One that is made anew has another index.
    std::string device(uint32_t ifindex) const {
        const LinkEvent* link = kernel_.link(ifindex);
        return link ? link->name : "gone";
    }
    std::string adjacency(uint32_t id) const {
        const pp_fib_adjacency& at = image_.adjacency(id);
        return fmt::format("kind {} to {} from {} port {} tags {:x}/{:x} {:x}/{:x} mtu {} {}", at.kind,
                           mac_text(at.dst_mac), mac_text(at.src_mac), at.port, at.tpid[0], at.tci[0],
                           at.tpid[1], at.tci[1], at.mtu, interface(at.interface));
    }

    const std::byte* memory_;
    const pp_fib_geometry& geometry_;
    const fib::FibImage& image_;
    const Routing& routing_;
    const KernelState& kernel_;
};

std::string words_of(const NextHopSetSpec& spec, const ImageReader& reader) {
    std::string words = fmt::format("kind {}{}", static_cast<int>(spec.kind), spec.counter ? " counted" : "");
    for (const auto& hop : spec.next_hops)
        words += fmt::format(" {}via {} on {} in VRF \"{}\" weight {}", hop.backup ? "backup " : "",
                             hop.via ? hop.via->to_string() : "-", reader.interface(hop.interface),
                             reader.vrf(hop.vrf), hop.weight);
    return words;
}

void add_routes(Snapshot& lines, ControlPlane& control, const MemoryDataplane& dataplane) {
    const Routing& routing = control.routing();
    const fib::FibImage& image = control.image();
    const ImageReader reader(image, control);
    for (const VrfId vrf : routing.vrfs()) {
        const std::string of = vrf == default_vrf ? "" : " of VRF " + routing.vrf_name(vrf).name;
        std::set<Prefix> prefixes;
        for (const Family family : {Family::ipv4, Family::ipv6})
            routing.rib(vrf).for_each(family, [&](const fib::Route& route, bool best) {
                prefixes.insert(route.prefix);
                lines.insert(fmt::format("route {}{} source {} preference {} metric {}{}: {}",
                                         route.prefix.to_string(), of, static_cast<int>(route.source),
                                         route.preference, route.metric, best ? " best" : "",
                                         words_of(routing.next_hop_sets().spec_of(route.next_hops), reader)));
                return true;
            });
        std::map<std::string, fib::TableId> tables{{"", routing.table_of(vrf)}};
        if (vrf == default_vrf) tables["of ports "] = dataplane.port_table;
        for (const auto& [id, interface] : routing.interfaces().all())
            if (interface.vrf == vrf && vrf != default_vrf)
                tables["of ports "] = reader.tables(id).host_table;
        for (const auto& prefix : prefixes)
            for (const auto& [which, table] : tables)
                if (const auto group = image.find(prefix, table))
                    lines.insert(fmt::format("image table {}{}{}: {}", which, prefix.to_string(), of,
                                             reader.group(*group)));
        lines.insert(fmt::format("VRF \"{}\" table {}", routing.vrf_name(vrf).name,
                                 routing.vrf_name(vrf).kernel_table));
    }
    for (const auto& [id, interface] : routing.interfaces().all())
        lines.insert(fmt::format("interface {} in VRF \"{}\", {} table", interface.name,
                                 routing.vrf_name(interface.vrf).name,
                                 reader.tables(id).table == 0                                 ? "no"
                                 : reader.tables(id).table == routing.table_of(interface.vrf) ? "its"
                                                                                              : "another"));
    reader.ports_and_vlans(lines);
    const auto* globals =
        reinterpret_cast<const pp_fib_globals*>(image.memory().data() + image.geometry().globals_offset);
    lines.insert(fmt::format("image: seed of the flow hash {}", globals->hash_seed));
    for (size_t i = 0; i < std::size(globals->sources); i++)
        if (globals->sources[i] != 0)
            lines.insert(fmt::format("image: sources {}: {:08x}", i, globals->sources[i]));
    const auto usage = image.usage();
    lines.insert(fmt::format("image: {} groups, {} adjacencies, {} VLANs, {} and {} prefixes", usage.groups,
                             usage.adjacencies, usage.vlans, usage.prefixes4, usage.prefixes6));
}

}  // namespace

Snapshot snapshot_of(const Host& host) {
    Snapshot lines;
    for (const auto& [ifindex, device] : host.devices) {
        const LinkEvent& link = device.link;
        const auto below = host.devices.find(link.parent);
        lines.insert(fmt::format("kernel link {} {} mtu {} {} vid {} {:x} on {} offload {} \"{}\"", link.name,
                                 link.admin_up ? "up" : "down", link.mtu, link.kind, link.vlan_id,
                                 link.vlan_protocol,
                                 below == host.devices.end() ? "-" : below->second.link.name,
                                 device.receive_vlan_offload, link.alias));
        for (const auto& [address, event] : device.addresses)
            lines.insert(fmt::format("kernel address {} on {}", address.to_string(), link.name));
        for (const auto& [address, event] : device.neighbours)
            lines.insert(fmt::format("kernel neighbour {} on {}: {} {}", address.to_string(), link.name,
                                     event.mac.to_string(),
                                     event.state == NeighbourState::permanent ? "permanent" : "learned"));
    }
    for (const auto& [place, route] : host.installed) {
        std::set<std::string> hops;
        for (const auto& hop : route.next_hops)
            hops.insert(fmt::format("via {} on {} weight {}", hop.gateway ? hop.gateway->to_string() : "-",
                                    host.devices.at(hop.ifindex).link.name, hop.weight));
        lines.insert(fmt::format("kernel route {} of ours in table {}: type {} mtu {} {}",
                                 route.prefix.to_string(), route.table, route.type, route.mtu,
                                 fmt::join(hops, " ")));
    }
    for (const auto& [path, value] : host.sysctls)
        lines.insert(fmt::format("kernel switch {} = {}", path, value));
    lines.insert(fmt::format("kernel connections: {}", host.connections.size()));
    return lines;
}

Snapshot snapshot_of(const MemoryDataplane& dataplane) {
    Snapshot lines;
    for (const auto& [id, port] : dataplane.ports)
        lines.insert(fmt::format("dataplane port {}: {} {} forwarding {}", id,
                                 port.attached ? "attached" : "prepared", to_string(port.mode),
                                 static_cast<int>(port.forwarding)));
    if (const auto& heartbeat = dataplane.heartbeat; heartbeat != config::Heartbeat())
        lines.insert(fmt::format("dataplane heartbeat {} {} {}", heartbeat.worker_ms,
                                 static_cast<int>(heartbeat.on_daemon_loss), heartbeat.hold_s));
    for (const auto& [name, group] : dataplane.aggregation_groups)
        lines.insert("aggregation group " + name + " at port " + std::to_string(group.port));
    if (const auto& compiled = dataplane.filters.compiled)
        for (const auto& [name, one] : compiled->filters)
            lines.insert(fmt::format("dataplane filter {}: {} rules, counters from {}, tables {}", name,
                                     one.rules, dataplane.filters.first_counter.at(name),
                                     fmt::join(compiled->data, ",")));
    if (dataplane.vrfs) lines.insert("dataplane looks for tables of interfaces");
    for (const auto& [id, count] : dataplane.packets)
        lines.insert(fmt::format("dataplane port {}: {} packets", id, count));
    for (const auto& [name, device] : dataplane.devices)
        lines.insert(fmt::format("dataplane device {} for {}", name, device));
    return lines;
}

Snapshot snapshot_of(ControlPlane& control, MemoryDataplane& dataplane) {
    Snapshot lines;
    const Routing& routing = control.routing();
    lines.insert("running " + config::to_json(control.config()).dump());
    lines.insert(fmt::format("generation {}", control.generation()));
    for (const auto& [name, port] : control.ports().all()) {
        const L3Interface* on = routing.interfaces().find(port.interface);
        if (!on) {
            lines.insert("interface " + name + " is not known to routing");
            continue;
        }
        auto addresses = on->addresses;
        std::ranges::sort(addresses);
        std::string line =
            fmt::format("interface {} port {} tags {} {} mac {} mtu {}", name, port.port,
                        fmt::join(on->vlan, "."), on->up ? "up" : "down", on->mac.to_string(), on->mtu);
        for (const auto& address : addresses)
            line += fmt::format(" {}", address.to_string());
        if (port.attachment)
            line += fmt::format(" attached {} {}", to_string(port.attachment->mode),
                                port.attachment->why_generic);
        for (const auto& [path, value] : control.ports().switches_before(port))
            line += fmt::format(" {}={}", path, value);
        lines.insert(line);
    }
    for (const auto& [key, neighbour] : routing.adjacencies().neighbours())
        if (const L3Interface* on = routing.interfaces().find(key.first); on && neighbour.usable())
            lines.insert(fmt::format("neighbour {} on {}: {}{}", key.second.to_string(), on->name,
                                     neighbour.mac.to_string(), neighbour.configured ? " configured" : ""));
    for (const auto& [route, counter] : control.route_counters().all())
        lines.insert(fmt::format("counter of {} source {}: {}", route.prefix.to_string(),
                                 static_cast<int>(route.source),
                                 control.route_counters().read(counter).packets));
    for (const auto& one : dataplane.filters.interfaces) {
        const L3Interface* on = routing.interfaces().find(one.id);
        lines.insert(fmt::format("filters of {} on port {}: in {}, out {}", on ? on->name : "nothing",
                                 one.port, one.in, one.out));
    }
    for (const auto& one : dataplane.guards.interfaces) {
        const L3Interface* on = routing.interfaces().find(one.id);
        lines.insert(fmt::format("guards of {} on port {}: {}, {} bit/s, bucket {}",
                                 on ? on->name : "nothing", one.port, static_cast<int>(one.rpf),
                                 one.police_in ? one.police_in->bits_per_second : 0, one.bucket));
    }
    const auto fpm = control.fpm_routes().show();
    lines.insert(fmt::format("FPM: listens at {}, {} peer, {} routes, {} stale, {} sets",
                             fpm["listen"].dump(), fpm["peer"].is_null() ? "no" : "a", fpm["routes4"].dump(),
                             fpm["stale"].dump(), fpm["next_hop_sets"].dump()));
    lines.insert(fmt::format("to the host: {} of BGP", dataplane.guards.host.bgp.value_or(0)));
    add_routes(lines, control, dataplane);
    lines.merge(snapshot_of(dataplane));
    return lines;
}

std::string difference(const Snapshot& former, const Snapshot& latter) {
    std::vector<std::string> only_former, only_latter;
    std::ranges::set_difference(former, latter, std::back_inserter(only_former));
    std::ranges::set_difference(latter, former, std::back_inserter(only_latter));
    std::string text;
    for (const auto& line : only_former)
        text += fmt::format("- {}\n", line);
    for (const auto& line : only_latter)
        text += fmt::format("+ {}\n", line);
    return text;
}

}  // namespace pktpit::router::fake
