// SPDX-License-Identifier: BSD-3-Clause
/// The configuration as plain values, after the file has been parsed, validated against the schema and
/// checked for meaning. Knows nothing of the kernel; which interfaces exist is asked through InterfaceExists.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "config/filter.h"
#include "config/guard.h"

namespace pktpit::config {

/// A port in generic mode whose frames may have VLAN tags that no generic program sees.
enum class GenericVlan : uint8_t { refuse, accept };
enum class XdpMode : uint8_t { automatic, native, generic };  ///< automatic: native, else generic, said aloud
/// Decided by the port stage, by the control loop, or by whichever of the two knows the route.
enum class Forwarding : uint8_t { inline_, split, automatic };
enum class PayloadPlace : uint8_t {
    automatic,
    bounce
};  ///< automatic: peer memory where the port reaches it
enum class Polling : uint8_t { busy, adaptive, interrupt };
/// What ports do with packets while the daemon stands still.
enum class OnDaemonLoss : uint8_t { forward, kernel };
enum class DpdkMemory : uint8_t {
    automatic,
    hugepages,
    pages
};  ///< automatic: hugepages if there are enough
enum class MemoryKind : uint8_t { hugepages, pci_bar, nvme_cmb, vfio_region, p2pmem };
/// How a modelled NIC gets a payload to another.
enum class ModelTransfer : uint8_t { write, read, bounce };
enum class RouteType : uint8_t { unicast, blackhole, unreachable, prohibit };

/// Where the frames of a modelled port come from and go: a Linux device, or files.
struct Wire {
    std::string device;             ///< empty: files
    std::string read;               ///< pcap, as `path` of a RoutesFile; empty: nothing comes in
    std::string write;              ///< pcap; empty: what leaves is counted alone
    std::optional<MacAddress> mac;  ///< of a port without a device; absent: made of its name
    bool own_frames = false;        ///< what the router itself sends goes into the file, too
    bool operator==(const Wire&) const = default;
};

/// A layer-3 interface: a Linux device, or VLAN tags on one (`parent`).
struct Interface {
    std::string name;                   ///< Linux device name; key of /interfaces
    std::optional<std::string> parent;  ///< device whose tagged frames this is; absent for a port
    std::vector<uint16_t> vlan;         ///< VIDs, outermost first; empty for a port, else one or two
    uint16_t vlan_protocol = 0x8100;    ///< TPID of the outermost tag: 0x8100 or 0x88a8
    std::vector<InterfaceAddress> addresses;
    std::optional<uint32_t> mtu;  ///< set on the device if given
    XdpMode xdp_mode = XdpMode::automatic;
    Forwarding forwarding = Forwarding::inline_;
    std::string pci;  ///< address of the NIC with its domain, lower case; ports of `vfio` only
    PayloadPlace payload = PayloadPlace::automatic;
    std::string device;        ///< of a port of `dpdk`: driver and arguments, or a PCI address and arguments
    std::optional<Wire> wire;  ///< of a port of `model`
    std::string nic_port;      ///< of a port of `model`: "nic0/1"; empty: the next that is free
    GenericVlan generic_vlan = GenericVlan::refuse;
    std::string vrf{};                ///< in whose routes its packets are looked up; empty: the default VRF
    std::string description{};        ///< for people
    std::string filter_in{};          ///< what comes in by it passes this filter; empty: none
    std::string filter_out{};         ///< the same of what is forwarded out by it
    Rpf rpf = Rpf::off;               ///< how the sources of what comes in by it are checked
    std::optional<Rate> police_in{};  ///< what may come in by it; absent: all that comes
    uint32_t sample = 0;              ///< one in so many of its packets goes to sFlow collectors; 0: none
    bool operator==(const Interface&) const = default;
};

struct NextHop {
    std::optional<IpAddress> via;          ///< gateway; absent: the destination itself is on the link
    std::optional<std::string> interface;  ///< absent: where the route to `via` leads
    uint16_t weight = 1;
    /// Without `interface`: the VRF (empty: the default one) in which `via` is looked up; absent: the
    /// route's.
    std::optional<std::string> vrf{};
    bool operator==(const NextHop&) const = default;
};

struct StaticRoute {
    Prefix prefix;
    RouteType type = RouteType::unicast;
    std::vector<NextHop> next_hops;  ///< empty unless unicast
    uint8_t preference = 10;
    uint32_t metric = 0;
    bool counters = false;          ///< packets and bytes forwarded by it are counted
    std::vector<NextHop> backup{};  ///< used while none of `next_hops` can be
    uint32_t mtu = 0;               ///< bytes of an IP packet: nothing larger leaves by it; 0: the link's
    std::string vrf{};              ///< that it is a route of; empty: the default one
    bool operator==(const StaticRoute&) const = default;
};

/// A large table in a file: `prefix next-hop-id` a line, optionally xz-compressed.
struct RoutesFile {
    std::string path;  ///< absolute, or relative to the configuration file
    std::map<std::string, std::vector<NextHop>> next_hops;  ///< by id as in the file; "*": every other id
    uint8_t preference = 10;
    std::map<std::string, std::vector<NextHop>>
        backup{};       ///< the same for what stands in while none can be used
    std::string vrf{};  ///< of all its routes; empty: the default one
    bool operator==(const RoutesFile&) const = default;
};

/// A table of routes of its own for the packets of some interfaces.
struct Vrf {
    uint32_t table = 0;  ///< of the kernel
    bool operator==(const Vrf&) const = default;
};
using Vrfs = std::map<std::string, Vrf>;  ///< by name, without the default one

struct StaticNeighbour {
    IpAddress address;
    MacAddress mac;
    std::string interface;
    bool operator==(const StaticNeighbour&) const = default;
};

/// Which of the kernel's routes are taken over, live, and whether it gets ours.
struct KernelRoutes {
    bool enabled = false;
    uint32_t table = 254;                ///< main
    std::vector<std::string> protocols;  ///< names as in rt_protos ("static", "bird", "zebra", …); empty: all
    uint8_t preference = 20;
    bool install = true;  ///< configured and CLI routes stand in `table`, too, for the host's own traffic
    bool operator==(const KernelRoutes&) const = default;
};

/// Where FRR's zebra delivers its routes (Forwarding Plane Manager, netlink encoding, over TCP).
struct Fpm {
    bool enabled = false;  ///< `listen` is there
    IpAddress address;     ///< to listen at
    uint16_t port = 2620;
    std::vector<Prefix> from;  ///< whose connections are accepted; empty: this machine's own, by loopback
    uint32_t table = 254;      ///< main
    uint8_t preference = 20;
    uint32_t stale_hold_s = 120;  ///< after a reconnect: routes that nothing was said of for so long go
    bool operator==(const Fpm&) const = default;

    [[nodiscard]] std::string listen() const;  ///< "127.0.0.1:2620" or "[::1]:2620"
};

/// What the elements are that a group's workers send.
enum class ElementType : uint8_t { int32, bfp16 };

/// Workers whose vectors the router adds (docs/aggregation.md).
struct AggregationGroup {
    std::vector<IpAddress> workers;  ///< IPv4; a worker's number is its place
    uint16_t port = 5005;            ///< UDP, at each of the router's own addresses
    uint16_t slots = 512;            ///< chunks under way; a power of two
    ElementType type = ElementType::int32;
    uint64_t key = 0;
    uint16_t chunk_bytes = 1448;  ///< elements of one packet, a multiple of 8
    uint32_t timeout_ms = 5000;   ///< a worker that says nothing for so long is lost
    bool operator==(const AggregationGroup&) const = default;
};
/// What the port stages have room for.
inline constexpr size_t most_aggregation_groups = 16;
inline constexpr size_t most_aggregation_slots = 4096;

using AggregationGroups = std::map<std::string, AggregationGroup>;  ///< by name

/// The least MTU that a route may have: what every link of its family carries (RFC 791 3.2, RFC 8200 5).
inline uint32_t least_route_mtu(const Prefix& prefix) {
    return prefix.address.is_v4() ? 68 : 1280;
}
inline constexpr uint32_t largest_route_mtu = 65535;

/// How routes are made use of.
struct RoutingSettings {
    bool resolve_via_default = false;  ///< gateways may be resolved over the default route
    bool operator==(const RoutingSettings&) const = default;
};

struct Icmp {
    uint32_t rate = 1000;           ///< errors a second in all
    uint32_t rate_per_prefix = 10;  ///< errors a second to one destination /24 or /64
    uint32_t burst_per_prefix = 10;
    bool redirects = true;  ///< a sender on the link is told of the next hop beside it
    bool operator==(const Icmp&) const = default;
};

/// Sizes of the FIB image; see fib::Capacity.
struct FibLimits {
    uint32_t table_memory_mib = 32;  ///< of the prefixes of all tables
    uint32_t next_hop_groups = 8192;
    uint32_t adjacencies = 16384;
    bool operator==(const FibLimits&) const = default;
};

/// What the stages of auto ports may hold.
struct Offload {
    uint32_t fib_entries = 16384;
    bool whole_table = true;  ///< where it has no more prefixes than fib_entries
    bool operator==(const Offload&) const = default;
};

/// Where payloads wait between their two ports.
struct PayloadMemory {
    MemoryKind kind = MemoryKind::hugepages;
    std::string pci;        ///< of the device that has it; empty for hugepages
    uint8_t bar = 0;        ///< of pci_bar and vfio_region
    uint32_t size_mib = 0;  ///< 0: all of a device's memory, 64 MiB of hugepages
    bool operator==(const PayloadMemory&) const = default;
};

/// A peer device that forwards in the daemon's place (docs/peer.md).
struct Peer {
    static constexpr size_t most_ports = 16;

    uint32_t queue_frames = 256;  ///< between it and the daemon, each way: a power of two
    uint32_t patience_ms = 1000;  ///< it has stood still for so long: what it has read counts no more
    bool operator==(const Peer&) const = default;
};

/// The vfio dataplane.
struct Vfio {
    /// Of the payload memory, for each port: what its NIC receives into while as many are looked up and sent.
    static constexpr uint32_t least_slots = 64;

    PayloadMemory payload_memory;
    uint32_t slot_bytes = 2048;  ///< a multiple of 1,024
    uint32_t rx_descriptors = 256;
    uint32_t tx_descriptors = 512;
    std::optional<Peer> peer;
    bool operator==(const Vfio&) const = default;
};

/// The threads that decide about the packets of split ports.
struct Workers {
    uint32_t count = 1;
    std::vector<uint16_t> cpus;  ///< of each worker its CPU; empty: where the kernel puts them
    Polling polling = Polling::adaptive;
    bool operator==(const Workers&) const = default;
};

/// When a port stage goes on without a worker or a daemon that stands still.
struct Heartbeat {
    uint32_t worker_ms = 20;  ///< 0: a worker is waited for
    OnDaemonLoss on_daemon_loss = OnDaemonLoss::forward;
    uint32_t hold_s = 10;  ///< a daemon that has stood for so long is lost
    bool operator==(const Heartbeat&) const = default;
};

/// The dpdk dataplane.
struct Dpdk {
    std::vector<std::string> eal;      ///< options for DPDK's EAL beside those that Pktpit sets itself
    std::vector<std::string> devices;  ///< opened before the ports', as members of a bond are; no ports
    DpdkMemory memory = DpdkMemory::automatic;
    PayloadMemory payload_memory;  ///< hugepages: packets are not split
    uint32_t mbufs = 0;            ///< 0: what the ports' rings need
    uint32_t slot_bytes = 2048;    ///< a multiple of 1,024; the largest MTU
    uint32_t rx_descriptors = 512;
    uint32_t tx_descriptors = 512;
    bool operator==(const Dpdk&) const = default;
};

/// The model dataplane.
struct Model {
    std::string topology = "two-nics";  ///< one that comes with the program, or a file
    std::string profile = "generic";    ///< the same
    ModelTransfer transfer = ModelTransfer::write;
    bool operator==(const Model&) const = default;
};

/// The API's socket.
struct Api {
    std::string group;  ///< empty: the daemon's
    uint32_t connections_per_user = 32;
    std::vector<std::string> reload_from;  ///< folders; empty: base_directory
    bool operator==(const Api&) const = default;
};

/// A TCP port at which the daemon only answers questions: /metrics, /web.
struct TcpService {
    bool enabled = false;  ///< it is there
    IpAddress address;     ///< to listen at
    uint16_t port = 0;
    std::vector<Prefix> from;        ///< who may ask; empty: this machine, by loopback
    std::vector<std::string> hosts;  ///< names that requests may be for, beside addresses and localhost
    bool operator==(const TcpService&) const = default;

    [[nodiscard]] std::string listen() const;  ///< "127.0.0.1:9100" or "[::1]:9100"; empty: off
};

struct SflowCollector {
    IpAddress address;
    uint16_t port = 6343;
    bool operator==(const SflowCollector&) const = default;
};

/// Samples of packets, and counters, for collectors (docs/sflow.md).
struct Sflow {
    static constexpr size_t most_collectors = 8;

    std::vector<SflowCollector> collectors;  ///< empty: off
    IpAddress agent;                         ///< who the router is to them
    uint32_t header_bytes = 128;             ///< of a packet
    uint32_t counters_s = 30;                ///< between counters; 0: none are sent
    bool operator==(const Sflow&) const = default;
};

struct Config {
    std::string instance = "default";  ///< names the pin directory, the socket and the state file
    std::string dataplane = "xdp";
    std::string log_level = "info";
    std::map<std::string, Interface> interfaces;
    Vrfs vrfs;
    Filters filters;  ///< by name
    HostPolice host_police;
    Sflow sflow;
    std::vector<StaticRoute> routes;
    std::vector<RoutesFile> routes_files;
    std::vector<StaticNeighbour> neighbours;
    KernelRoutes kernel_routes;
    Fpm fpm;
    RoutingSettings routing;
    std::optional<uint32_t> hash_seed;  ///< of the flow hash; absent: the instance's own
    Icmp icmp;
    FibLimits fib;
    Workers workers;
    Heartbeat heartbeat;
    Offload offload;
    AggregationGroups aggregation;
    Vfio vfio;
    Dpdk dpdk;
    Model model;
    Api api;
    TcpService metrics;             ///< for Prometheus
    TcpService web;                 ///< the page to look at
    std::string user;               ///< that the daemon becomes; empty: stays who started it
    bool seccomp = true;            ///< system calls by an allow-list
    bool xdp_dispatcher = false;    ///< share the device with other XDP programs through libxdp's dispatcher
    uint32_t neighbour_queue = 64;  ///< packets that wait for one unresolved neighbour
    /// Neighbours of one interface that are asked for at the same time on behalf of packets.
    uint32_t neighbours_unresolved = 128;
    std::string base_directory;  ///< of the configuration file
    bool operator==(const Config&) const = default;
};

/// All problems found, never just the first. `where` is a JSON pointer, or "line L, column C" for broken
/// JSON.
using Errors = std::vector<Error>;

/// Is there a Linux device of this name? Left out (empty function): not asked.
using InterfaceExists = std::function<bool(std::string_view)>;

/// JSON text → plain values. Steps: syntax, and if that is right schema and meaning, whose errors are
/// told together. `base_directory`: what relative paths in it start from. Does not read routes files.
tl::expected<Config, Errors> parse(std::string_view json_text, std::string base_directory,
                                   const InterfaceExists& interface_exists = {});

/// The same from a file. An unreadable file is one Error with the path and errno's text.
tl::expected<Config, Errors> load(const std::string& path, const InterfaceExists& interface_exists = {});
/// The same where the file's text has been read already.
tl::expected<Config, Errors> load(const std::string& path, std::string_view text,
                                  const InterfaceExists& interface_exists);

/// Where a routes file lies: its path, from base_directory if it is relative.
std::string path_of(const RoutesFile& file, const Config& config);

/// Where a file of a configuration lies: its path, from base_directory if it is relative.
std::string file_path(const std::string& path, const Config& config);

/// Plain values → JSON that parse() reads back as the same values; every default spelled out.
nlohmann::json to_json(const Config& config);

/// The published JSON Schema (draft 7), as compiled in.
std::string_view schema_text();

/// What changes from `running` to `wanted`, for `reload --dry-run` and for the log: one line a change, in
/// words.
std::vector<std::string> describe_difference(const Config& running, const Config& wanted);
/// A VLAN's place in words, "VLAN 1000.20 on eth0 (802.1ad)": its tags, the outer one first, the port and the
/// type of the outer tag.
std::string describe_vlan(const std::vector<uint16_t>& tags, const std::string& port, uint16_t protocol);

}  // namespace pktpit::config
