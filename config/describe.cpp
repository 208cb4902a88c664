// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "config/words.h"

namespace pktpit::config {
namespace {

using Lines = std::vector<std::string>;

std::string list(const std::vector<std::string>& items) {
    std::string out;
    for (const std::string& item : items)
        out += (out.empty() ? "" : ", ") + item;
    return out.empty() ? "none" : out;
}

std::string text(const std::string& value) {
    return value;
}
std::string text(bool value) {
    return value ? "on" : "off";
}
std::string text(uint32_t value) {
    return std::to_string(value);
}
std::string text(const std::vector<std::string>& value) {
    return value.empty() ? "all" : list(value);
}

std::string text(const std::vector<uint16_t>& cpus) {
    std::vector<std::string> numbers;
    numbers.reserve(cpus.size());
    for (const uint16_t cpu : cpus)
        numbers.push_back(std::to_string(cpu));
    return cpus.empty() ? "any" : list(numbers);
}

template <class T>
void compare(Lines& out, const std::string& name, const T& running, const T& wanted) {
    if (running != wanted) out.push_back(name + ": " + text(running) + " → " + text(wanted));
}

std::string place(const Interface& one) {
    if (!one.parent && !one.device.empty()) return "port, DPDK device " + one.device;
    if (!one.parent && one.wire) {
        const Wire& wire = *one.wire;
        std::string out = "modelled port" + (one.nic_port.empty() ? "" : " " + one.nic_port);
        if (!wire.device.empty()) return out + ", wire " + wire.device;
        out += ", reads " + (wire.read.empty() ? "nothing" : wire.read) + ", writes " +
               (wire.write.empty() ? "nothing" : wire.write);
        if (wire.mac) out += ", MAC address " + wire.mac->to_string();
        return out + (wire.own_frames ? ", the router's own frames, too" : "");
    }
    if (!one.parent) return one.pci.empty() ? "port" : "port, NIC " + one.pci;
    return describe_vlan(one.vlan, *one.parent, one.vlan_protocol);
}

std::string or_none(const std::string& name) {
    return name.empty() ? "none" : name;
}

std::string rate(const std::optional<Rate>& one) {
    if (!one) return "any";
    return rate_text(one->bits_per_second) + ", " + std::to_string(one->burst_bytes) + " bytes at once";
}

std::string mtu(const Interface& one) {
    return one.mtu ? std::to_string(*one.mtu) : "the device's own";
}

std::vector<std::string> texts(const std::vector<InterfaceAddress>& addresses) {
    std::vector<std::string> out;
    out.reserve(addresses.size());
    for (const InterfaceAddress& address : addresses)
        out.push_back(address.to_string());
    return out;
}

std::string words(const std::string& description) {
    return description.empty() ? "none" : '"' + description + '"';
}

void describe_interface(Lines& out, const Interface& running, const Interface& wanted) {
    std::string name = "interface " + wanted.name + ": ";
    compare(out, name + "description", words(running.description), words(wanted.description));
    if (place(running) != place(wanted)) out.push_back(name + place(running) + " → " + place(wanted));
    for (const InterfaceAddress& one : wanted.addresses)
        if (std::ranges::find(running.addresses, one) == running.addresses.end())
            out.push_back(name + "add address " + one.to_string());
    for (const InterfaceAddress& one : running.addresses)
        if (std::ranges::find(wanted.addresses, one) == wanted.addresses.end())
            out.push_back(name + "remove address " + one.to_string());
    compare(out, name + "VRF", vrf_name(running.vrf), vrf_name(wanted.vrf));
    compare(out, name + "filter of what comes in", or_none(running.filter_in), or_none(wanted.filter_in));
    compare(out, name + "filter of what leaves", or_none(running.filter_out), or_none(wanted.filter_out));
    if (running.sample != wanted.sample) {
        const auto text = [](uint32_t one_in) {
            return one_in == 0 ? std::string("none") : "one packet in " + std::to_string(one_in);
        };
        out.push_back(name + "samples: " + text(running.sample) + " → " + text(wanted.sample));
    }
    compare(out, name + "checks of sources", to_string(running.rpf), to_string(wanted.rpf));
    compare(out, name + "rate of what comes in", rate(running.police_in), rate(wanted.police_in));
    if (running.mtu != wanted.mtu) out.push_back(name + "MTU " + mtu(running) + " → " + mtu(wanted));
    if (running.forwarding != wanted.forwarding)
        out.push_back(name + "forwarding: " + to_string(running.forwarding) + " → " +
                      to_string(wanted.forwarding));
    if (running.payload != wanted.payload)
        out.push_back(name + "payloads: " + to_string(running.payload) + " → " + to_string(wanted.payload));
    if (running.xdp_mode != wanted.xdp_mode)
        out.push_back(name + "XDP mode " + to_string(running.xdp_mode) + " → " + to_string(wanted.xdp_mode));
    if (running.generic_vlan != wanted.generic_vlan)
        out.push_back(name + "hidden VLAN tags in generic mode: " + to_string(running.generic_vlan) + " → " +
                      to_string(wanted.generic_vlan));
}

std::string text(const PayloadMemory& memory) {
    std::string out = to_string(memory.kind);
    if (!memory.pci.empty()) out += " of " + memory.pci;
    if (memory.kind == MemoryKind::pci_bar || memory.kind == MemoryKind::vfio_region)
        out += ", BAR " + std::to_string(memory.bar);
    return out + (memory.size_mib ? ", " + std::to_string(memory.size_mib) + " MiB" : "");
}

std::string text(const std::optional<Peer>& peer) {
    if (!peer) return "none";
    return "queues of " + std::to_string(peer->queue_frames) + " frames, waited for " +
           std::to_string(peer->patience_ms) + " ms";
}

/// What the dataplanes that run NICs themselves have in common.
template <class Settings>
void describe_rings(Lines& out, const Settings& running, const Settings& wanted) {
    if (running.payload_memory != wanted.payload_memory)
        out.push_back("payload memory: " + text(running.payload_memory) + " → " +
                      text(wanted.payload_memory));
    compare(out, "bytes of a slot", running.slot_bytes, wanted.slot_bytes);
    compare(out, "receive descriptors", running.rx_descriptors, wanted.rx_descriptors);
    compare(out, "transmit descriptors", running.tx_descriptors, wanted.tx_descriptors);
}

void describe_workers(Lines& out, const Workers& running, const Workers& wanted) {
    compare(out, "workers", running.count, wanted.count);
    compare(out, "CPUs of the workers", running.cpus, wanted.cpus);
    if (running.polling != wanted.polling)
        out.push_back("polling: " + to_string(running.polling) + " → " + to_string(wanted.polling));
}

void describe_dpdk(Lines& out, const Dpdk& running, const Dpdk& wanted) {
    describe_rings(out, running, wanted);
    if (running.eal != wanted.eal)
        out.push_back("EAL options: " + list(running.eal) + " → " + list(wanted.eal));
    if (running.devices != wanted.devices)
        out.push_back("DPDK devices: " + list(running.devices) + " → " + list(wanted.devices));
    if (running.memory != wanted.memory)
        out.push_back("DPDK's memory: " + to_string(running.memory) + " → " + to_string(wanted.memory));
    compare(out, "mbufs", running.mbufs, wanted.mbufs);
}

void describe_fpm(Lines& out, const Fpm& running, const Fpm& wanted) {
    const auto place = [](const Fpm& fpm) { return fpm.enabled ? fpm.listen() : "off"; };
    const auto sources = [](const Fpm& fpm) {
        std::vector<std::string> prefixes;
        for (const Prefix& prefix : fpm.from)
            prefixes.push_back(prefix.to_string());
        return prefixes.empty() ? "loopback" : list(prefixes);
    };
    if (place(running) != place(wanted)) out.push_back("FPM: " + place(running) + " → " + place(wanted));
    if (sources(running) != sources(wanted))
        out.push_back("FPM: who may connect: " + sources(running) + " → " + sources(wanted));
    compare(out, "FPM: table", running.table, wanted.table);
    compare(out, "FPM: preference", uint32_t{running.preference}, uint32_t{wanted.preference});
    compare(out, "FPM: seconds until stale routes go", running.stale_hold_s, wanted.stale_hold_s);
}

void describe_service(Lines& out, const std::string& name, const TcpService& running,
                      const TcpService& wanted) {
    const auto place = [](const TcpService& one) { return one.enabled ? one.listen() : "off"; };
    const auto sources = [](const TcpService& one) {
        std::vector<std::string> prefixes;
        for (const Prefix& prefix : one.from)
            prefixes.push_back(prefix.to_string());
        return prefixes.empty() ? "loopback" : list(prefixes);
    };
    compare(out, name, place(running), place(wanted));
    compare(out, name + ": who may connect", sources(running), sources(wanted));
    if (running.hosts != wanted.hosts)
        out.push_back(name + ": names of this machine: " + list(running.hosts) + " → " + list(wanted.hosts));
}

// Keys stay unsaid: the lines go to the log.
std::string words(const AggregationGroup& group) {
    std::string workers;
    for (const IpAddress& worker : group.workers)
        workers += (workers.empty() ? "" : ", ") + worker.to_string();
    return to_string(group.type) + " at port " + std::to_string(group.port) + ", " +
           std::to_string(group.slots) + " slots of " + std::to_string(group.chunk_bytes) +
           " bytes, timeout " + std::to_string(group.timeout_ms) + " ms, workers " + workers;
}

void describe_aggregation(Lines& out, const AggregationGroups& running, const AggregationGroups& wanted) {
    for (const auto& [name, group] : wanted) {
        const auto before = running.find(name);
        if (before == running.end())
            out.push_back("aggregation group " + name + ": add: " + words(group));
        else if (before->second != group)
            out.push_back("aggregation group " + name + ": " + words(before->second) + " → " + words(group) +
                          (before->second.key != group.key ? ", another key" : "") +
                          "; its workers join anew");
    }
    for (const auto& [name, group] : running)
        if (!wanted.contains(name)) out.push_back("aggregation group " + name + ": remove");
}

void describe_model(Lines& out, const Model& running, const Model& wanted) {
    compare(out, "topology of the model", running.topology, wanted.topology);
    compare(out, "profile of the model", running.profile, wanted.profile);
    if (running.transfer != wanted.transfer)
        out.push_back("transfer of the model: " + to_string(running.transfer) + " → " +
                      to_string(wanted.transfer));
}

std::string summary(const StaticRoute& route) {
    std::string out = route.type == RouteType::unicast ? to_string(route.next_hops) : to_string(route.type);
    if (!route.backup.empty()) out += ", backup " + to_string(route.backup);
    return out + ", preference " + std::to_string(route.preference) + ", metric " +
           std::to_string(route.metric) + (route.mtu != 0 ? ", MTU " + std::to_string(route.mtu) : "") +
           (route.counters ? ", counted" : "");
}

std::string summary(const RoutesFile& file) {
    std::string out;
    for (const auto& [id, hops] : file.next_hops)
        out += (out.empty() ? "" : "; ") + std::string("id ") + id + " " + to_string(hops);
    for (const auto& [id, hops] : file.backup)
        out += "; backup of id " + id + " " + to_string(hops);
    return out + ", preference " + std::to_string(file.preference) +
           (file.vrf.empty() ? "" : ", VRF " + file.vrf);
}

std::string summary(const StaticNeighbour& one) {
    return one.mac.to_string();
}

/// Lists as maps from what identifies an entry, so that a moved line is no change.
template <class T, class Key>
void compare_lists(Lines& out, const std::string& kind, const std::vector<T>& running,
                   const std::vector<T>& wanted, Key key) {
    std::map<std::string, const T*> old_entries;
    for (const T& one : running)
        old_entries[key(one)] = &one;
    for (const T& one : wanted) {
        auto found = old_entries.find(key(one));
        if (found == old_entries.end()) {
            out.push_back(kind + key(one) + ": add, " + summary(one));
        } else {
            if (!(*found->second == one))
                out.push_back(kind + key(one) + ": " + summary(*found->second) + " → " + summary(one));
            old_entries.erase(found);
        }
    }
    for (const auto& [name, one] : old_entries)
        out.push_back(kind + name + ": remove");
}

/// " of VRF red", of what is not the default one's.
std::string of_vrf(const std::string& vrf) {
    return vrf.empty() ? "" : " of VRF " + vrf;
}

void describe_filters(Lines& out, const Filters& running, const Filters& wanted) {
    for (const auto& [name, rules] : wanted) {
        const auto found = running.find(name);
        const std::string line = "filter " + name + ": ";
        if (found == running.end()) {
            out.push_back(line + "add, rules: " + std::to_string(rules.size()));
            continue;
        }
        const Filter& before = found->second;
        if (before.size() != rules.size())
            out.push_back(line + "rules: " + std::to_string(before.size()) + " → " +
                          std::to_string(rules.size()));
        const auto changed = std::ranges::mismatch(before, rules);
        if (changed.in2 != rules.end())
            out.push_back(line + "rule " + std::to_string(changed.in2 - rules.begin()) + " becomes " +
                          to_string(*changed.in2));
    }
    for (const auto& [name, rules] : running)
        if (!wanted.contains(name)) out.push_back("filter " + name + ": remove");
}

void describe_sflow(Lines& out, const Sflow& running, const Sflow& wanted) {
    const auto text = [](const Sflow& one) {
        std::string all;
        for (const SflowCollector& collector : one.collectors)
            all += (all.empty() ? "" : ", ") + collector.address.to_string() + " port " +
                   std::to_string(collector.port);
        return all.empty() ? "none" : all + ", from " + one.agent.to_string();
    };
    compare(out, "sFlow collectors", text(running), text(wanted));
    compare(out, "sFlow: bytes of a packet", running.header_bytes, wanted.header_bytes);
    compare(out, "sFlow: seconds between counters", running.counters_s, wanted.counters_s);
}

void describe_host_police(Lines& out, const HostPolice& running, const HostPolice& wanted) {
    const auto one = [&](const char* name, const std::optional<uint32_t>& before,
                         const std::optional<uint32_t>& after) {
        const auto text = [](const std::optional<uint32_t>& rate) {
            return rate ? std::to_string(*rate) + " packets a second" : "any";
        };
        compare(out, "to the host, " + std::string(name), text(before), text(after));
    };
    one("ARP", running.arp, wanted.arp);
    one("ICMP", running.icmp, wanted.icmp);
    one("BGP", running.bgp, wanted.bgp);
    one("all else", running.other, wanted.other);
}

void describe_vrfs(Lines& out, const Config& running, const Config& wanted) {
    for (const auto& [name, vrf] : wanted.vrfs) {
        const auto found = running.vrfs.find(name);
        if (found == running.vrfs.end())
            out.push_back("VRF " + name + ": add, table " + std::to_string(vrf.table));
        else
            compare(out, "VRF " + name + ": table", found->second.table, vrf.table);
    }
    for (const auto& [name, vrf] : running.vrfs)
        if (!wanted.vrfs.contains(name)) out.push_back("VRF " + name + ": remove, with its routes");
}

std::string seed(const std::optional<uint32_t>& value) {
    return value ? std::to_string(*value) : "the instance's own";
}

}  // namespace

std::string describe_vlan(const std::vector<uint16_t>& tags, const std::string& port, uint16_t protocol) {
    std::string vids;
    for (const uint16_t vid : tags)
        vids += (vids.empty() ? "" : ".") + std::to_string(vid);
    return "VLAN " + vids + " on " + port + " (" + vlan_protocol_name(protocol) + ")";
}

std::vector<std::string> describe_difference(const Config& running, const Config& wanted) {
    Lines out;
    compare(out, "instance", running.instance, wanted.instance);
    compare(out, "dataplane", running.dataplane, wanted.dataplane);
    compare(out, "log level", running.log_level, wanted.log_level);

    describe_vrfs(out, running, wanted);
    describe_filters(out, running.filters, wanted.filters);
    describe_host_police(out, running.host_police, wanted.host_police);
    describe_sflow(out, running.sflow, wanted.sflow);
    for (const auto& [name, one] : wanted.interfaces) {
        auto found = running.interfaces.find(name);
        if (found != running.interfaces.end())
            describe_interface(out, found->second, one);
        else
            out.push_back("interface " + name + ": add, " + place(one) + ", addresses " +
                          list(texts(one.addresses)) + (one.vrf.empty() ? "" : ", VRF " + one.vrf));
    }
    for (const auto& [name, one] : running.interfaces)
        if (!wanted.interfaces.contains(name)) out.push_back("interface " + name + ": remove");

    compare_lists(out, "route ", running.routes, wanted.routes,
                  [](const StaticRoute& one) { return one.prefix.to_string() + of_vrf(one.vrf); });
    compare_lists(out, "routes file ", running.routes_files, wanted.routes_files,
                  [](const RoutesFile& one) { return one.path; });
    compare_lists(out, "neighbour ", running.neighbours, wanted.neighbours, [](const StaticNeighbour& one) {
        return one.address.to_string() + " on " + one.interface;
    });

    const KernelRoutes &old_kernel = running.kernel_routes, &new_kernel = wanted.kernel_routes;
    compare(out, "kernel routes", old_kernel.enabled, new_kernel.enabled);
    compare(out, "kernel routes: table", old_kernel.table, new_kernel.table);
    compare(out, "kernel routes: protocols", old_kernel.protocols, new_kernel.protocols);
    compare(out, "kernel routes: preference", uint32_t{old_kernel.preference},
            uint32_t{new_kernel.preference});
    compare(out, "routes installed in the kernel", old_kernel.install, new_kernel.install);
    describe_fpm(out, running.fpm, wanted.fpm);
    describe_service(out, "metrics", running.metrics, wanted.metrics);
    describe_service(out, "web", running.web, wanted.web);
    compare(out, "next hops resolved over the default route", running.routing.resolve_via_default,
            wanted.routing.resolve_via_default);
    if (running.hash_seed != wanted.hash_seed)
        out.push_back("seed of the flow hash: " + seed(running.hash_seed) + " → " + seed(wanted.hash_seed) +
                      "; flows over several next hops may take other ones");
    compare(out, "ICMP errors a second", running.icmp.rate, wanted.icmp.rate);
    compare(out, "ICMP errors a second to one prefix", running.icmp.rate_per_prefix,
            wanted.icmp.rate_per_prefix);
    compare(out, "ICMP errors at once to one prefix", running.icmp.burst_per_prefix,
            wanted.icmp.burst_per_prefix);
    compare(out, "redirects", running.icmp.redirects, wanted.icmp.redirects);
    compare(out, "FIB: MiB of table memory", running.fib.table_memory_mib, wanted.fib.table_memory_mib);
    compare(out, "FIB: next-hop groups", running.fib.next_hop_groups, wanted.fib.next_hop_groups);
    compare(out, "FIB: adjacencies", running.fib.adjacencies, wanted.fib.adjacencies);
    describe_workers(out, running.workers, wanted.workers);
    compare(out, "heartbeat: ms that a worker is waited for", running.heartbeat.worker_ms,
            wanted.heartbeat.worker_ms);
    compare(out, "heartbeat: packets of a lost daemon's ports", to_string(running.heartbeat.on_daemon_loss),
            to_string(wanted.heartbeat.on_daemon_loss));
    compare(out, "heartbeat: seconds until a daemon is lost", running.heartbeat.hold_s,
            wanted.heartbeat.hold_s);
    compare(out, "FIB entries of auto ports", running.offload.fib_entries, wanted.offload.fib_entries);
    compare(out, "whole table in auto ports", running.offload.whole_table, wanted.offload.whole_table);
    describe_aggregation(out, running.aggregation, wanted.aggregation);
    describe_rings(out, running.vfio, wanted.vfio);
    if (running.vfio.peer != wanted.vfio.peer)
        out.push_back("peer device: " + text(running.vfio.peer) + " → " + text(wanted.vfio.peer));
    describe_dpdk(out, running.dpdk, wanted.dpdk);
    describe_model(out, running.model, wanted.model);
    compare(out, "user", running.user, wanted.user);
    compare(out, "system calls by an allow-list", running.seccomp, wanted.seccomp);
    compare(out, "group of the API", running.api.group, wanted.api.group);
    compare(out, "API connections a user", running.api.connections_per_user, wanted.api.connections_per_user);
    if (running.api.reload_from != wanted.api.reload_from)
        out.push_back("folders of configurations: " + list(running.api.reload_from) + " → " +
                      list(wanted.api.reload_from));
    compare(out, "XDP dispatcher", running.xdp_dispatcher, wanted.xdp_dispatcher);
    compare(out, "packets that wait for one neighbour", running.neighbour_queue, wanted.neighbour_queue);
    compare(out, "neighbours of an interface asked for at once", running.neighbours_unresolved,
            wanted.neighbours_unresolved);
    return out;
}

}  // namespace pktpit::config
