// SPDX-License-Identifier: BSD-3-Clause
// `reload --dry-run`: what changes, in words.
#include "support.h"

namespace pktpit::config {
namespace {

using testing::ElementsAre;

constexpr const char* running = R"({
    "interfaces": {
        "eth0": {"addresses": ["192.0.2.1/24"]},
        "eth1": {"addresses": ["198.51.100.1/24"], "mtu": 1500},
        "eth2": {},
        "v5": {"parent": "eth1", "vlan": [5], "addresses": ["203.0.113.1/24"]}
    },
    "routes": [
        {"prefix": "10.0.0.0/8", "via": "192.0.2.2"},
        {"prefix": "10.1.0.0/16", "via": "192.0.2.3"},
        {"prefix": "10.2.0.0/16", "type": "blackhole"}
    ],
    "routes_files": [{"path": "a.txt", "next_hops": {"*": "192.0.2.2"}}],
    "neighbours": [{"address": "192.0.2.9", "mac": "02:00:00:00:00:09", "interface": "eth0"}]})";

std::vector<std::string> difference(const std::string& wanted) {
    return describe_difference(*parse(running, "/etc"), *parse(wanted, "/etc"));
}

TEST(Describe, NothingChanges) {
    EXPECT_THAT(difference(running), testing::IsEmpty());
}

TEST(Describe, Settings) {
    std::string wanted = running;
    wanted.pop_back();
    wanted += R"(, "instance": "b", "log_level": "debug", "neighbour_queue": 1,
        "neighbours_unresolved": 2, "xdp": {"dispatcher": true},
        "kernel_routes": {"enabled": true, "table": 7, "protocols": ["bird", "static"], "preference": 21, "install": false},
        "fpm": {"listen": "127.0.0.1", "from": ["10.0.0.0/8"], "table": 9, "preference": 3, "stale_hold_s": 4},
        "metrics": {"listen": "127.0.0.1:9100"},
        "web": {"listen": "[::1]:8080", "from": ["2001:db8::/32"], "hosts": ["Router"]},
        "routing": {"resolve_via_default": true}, "hash_seed": 7,
        "icmp": {"rate": 1, "rate_per_prefix": 2, "burst_per_prefix": 3, "redirects": false},
        "fib": {"table_memory_mib": 2, "next_hop_groups": 16, "adjacencies": 17}})";
    EXPECT_THAT(
        difference(wanted),
        ElementsAre("instance: default → b", "log level: info → debug", "kernel routes: off → on",
                    "kernel routes: table: 254 → 7", "kernel routes: protocols: all → bird, static",
                    "kernel routes: preference: 20 → 21", "routes installed in the kernel: on → off",
                    "FPM: off → 127.0.0.1:2620", "FPM: who may connect: loopback → 10.0.0.0/8",
                    "FPM: table: 254 → 9", "FPM: preference: 20 → 3",
                    "FPM: seconds until stale routes go: 120 → 4", "metrics: off → 127.0.0.1:9100",
                    "web: off → [::1]:8080", "web: who may connect: loopback → 2001:db8::/32",
                    "web: names of this machine: none → router",
                    "next hops resolved over the default route: off → on",
                    "seed of the flow hash: the instance's own → 7; flows over several next hops may take "
                    "other ones",
                    "ICMP errors a second: 1000 → 1", "ICMP errors a second to one prefix: 10 → 2",
                    "ICMP errors at once to one prefix: 10 → 3", "redirects: on → off",
                    "FIB: MiB of table memory: 32 → 2", "FIB: next-hop groups: 8192 → 16",
                    "FIB: adjacencies: 16384 → 17", "XDP dispatcher: off → on",
                    "packets that wait for one neighbour: 64 → 1",
                    "neighbours of an interface asked for at once: 128 → 2"));
}

TEST(Describe, Vrfs) {
    const std::string of_red = R"({
        "interfaces": {"eth0": {"addresses": ["192.0.2.1/24"], "vrf": "red"}, "eth1": {"vrf": "red"}},
        "vrfs": {"red": {"table": 100}, "blue": {"table": 101}},
        "routes": [{"prefix": "10.0.0.0/8", "via": "192.0.2.2", "vrf": "red"}]})";
    const std::string of_others = R"({
        "interfaces": {"eth0": {"addresses": ["192.0.2.1/24"], "vrf": "green"}, "eth1": {}},
        "vrfs": {"red": {"table": 102}, "green": {"table": 100}},
        "routes": [
            {"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.2", "vrf": "green"}], "vrf": "red"},
            {"prefix": "10.0.0.0/8", "via": "192.0.2.2", "vrf": "green"}]})";
    EXPECT_THAT(
        describe_difference(*parse(of_red, "/etc"), *parse(of_others, "/etc")),
        ElementsAre("VRF green: add, table 100", "VRF red: table: 100 → 102",
                    "VRF blue: remove, with its routes", "interface eth0: VRF: red → green",
                    "interface eth1: VRF: red → default",
                    "route 10.0.0.0/8 of VRF red: via 192.0.2.2, preference 10, metric 0 → via 192.0.2.2 in "
                    "VRF green, preference 10, metric 0",
                    "route 10.0.0.0/8 of VRF green: add, via 192.0.2.2, preference 10, metric 0"));
}

TEST(Describe, InterfacesRoutesFilesAndNeighbours) {
    EXPECT_THAT(
        difference(R"({
        "interfaces": {
            "eth0": {"addresses": ["192.0.2.1/24", "2001:db8::1/64"], "xdp_mode": "generic", "generic_vlan": "accept"},
            "eth1": {"addresses": ["198.51.100.1/25"], "mtu": 9000},
            "eth3": {"addresses": ["100.64.0.1/10"]},
            "v5": {"parent": "eth1", "vlan": [5, 6], "addresses": ["203.0.113.1/24"]}
        },
        "routes": [
            {"prefix": "10.3.0.0/16", "interface": "eth3"},
            {"prefix": "10.2.0.0/16", "type": "blackhole"},
            {"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.2", "weight": 3}, {"via": "198.51.100.2"}], "metric": 5, "mtu": 1400, "counters": true}
        ],
        "routes_files": [{"path": "b.txt", "next_hops": {"1": "192.0.2.2", "*": "192.0.2.3"}, "preference": 7}],
        "neighbours": [{"address": "192.0.2.9", "mac": "02:00:00:00:00:0a", "interface": "eth0"}]})"),
        ElementsAre("interface eth0: add address 2001:db8::1/64", "interface eth0: XDP mode auto → generic",
                    "interface eth0: hidden VLAN tags in generic mode: refuse → accept",
                    "interface eth1: add address 198.51.100.1/25",
                    "interface eth1: remove address 198.51.100.1/24", "interface eth1: MTU 1500 → 9000",
                    "interface eth3: add, port, addresses 100.64.0.1/10",
                    "interface v5: VLAN 5 on eth1 (802.1Q) → VLAN 5.6 on eth1 (802.1Q)",
                    "interface eth2: remove", "route 10.3.0.0/16: add, on eth3, preference 10, metric 0",
                    "route 10.0.0.0/8: via 192.0.2.2, preference 10, metric 0 → "
                    "via 192.0.2.2 weight 3, via 198.51.100.2, preference 10, metric 5, MTU 1400, counted",
                    "route 10.1.0.0/16: remove",
                    "routes file b.txt: add, id * via 192.0.2.3; id 1 via 192.0.2.2, preference 7",
                    "routes file a.txt: remove",
                    "neighbour 192.0.2.9 on eth0: 02:00:00:00:00:09 → 02:00:00:00:00:0a"));
}

TEST(Describe, VfioDataplane) {
    const auto at = [](const char* vfio, const char* interface) {
        return *parse(std::string(R"({"dataplane": "vfio", "interfaces": {"p0": )") + interface +
                          "}, \"vfio\": " + vfio + "}",
                      "");
    };
    const Config before = at(R"({})", R"({"pci": "0000:03:00.0"})");
    const Config after =
        at(R"({"payload_memory": {"kind": "pci_bar", "pci": "0000:06:00.0", "bar": 2, "size_mib": 8},
                                "slot_bytes": 3072, "rx_descriptors": 64, "tx_descriptors": 128, "peer": {"patience_ms": 200}})",
           R"({"pci": "0000:04:00.0"})");
    EXPECT_THAT(describe_difference(before, after),
                ElementsAre("interface p0: port, NIC 0000:03:00.0 → port, NIC 0000:04:00.0",
                            "payload memory: hugepages → pci_bar of 0000:06:00.0, BAR 2, 8 MiB",
                            "bytes of a slot: 2048 → 3072", "receive descriptors: 256 → 64",
                            "transmit descriptors: 512 → 128",
                            "peer device: none → queues of 256 frames, waited for 200 ms"));
    const Config bounced = at(R"({})", R"({"pci": "0000:03:00.0", "payload": "bounce"})");
    EXPECT_THAT(describe_difference(before, bounced), ElementsAre("interface p0: payloads: auto → bounce"));
}

TEST(Describe, DpdkDataplane) {
    const auto at = [](const char* dpdk, const char* device) {
        return *parse(std::string(R"({"dataplane": "dpdk", "interfaces": {"lan": {"device": ")") + device +
                          "\"}}, \"dpdk\": " + dpdk + "}",
                      "");
    };
    EXPECT_THAT(
        describe_difference(at("{}", "net_null"),
                            at(R"({"eal": ["-n", "4"], "devices": ["net_null3"], "memory": "pages",
                                           "mbufs": 1023, "slot_bytes": 4096})",
                               "net_tap")),
        ElementsAre("interface lan: port, DPDK device net_null → port, DPDK device net_tap",
                    "bytes of a slot: 2048 → 4096", "EAL options: none → -n, 4",
                    "DPDK devices: none → net_null3", "DPDK's memory: auto → pages", "mbufs: 0 → 1023"));
}

TEST(Describe, TellsWhoStandsStill) {
    const auto with = [](const char* heartbeat) {
        return *parse(std::string(R"({"interfaces": {"p0": {}}, "heartbeat": )") + heartbeat + "}", "");
    };
    EXPECT_THAT(
        describe_difference(with("{}"), with(R"({"worker_ms": 0, "on_daemon_loss": "kernel", "hold_s": 3})")),
        ElementsAre("heartbeat: ms that a worker is waited for: 20 → 0",
                    "heartbeat: packets of a lost daemon's ports: forward → kernel",
                    "heartbeat: seconds until a daemon is lost: 10 → 3"));
}

TEST(Describe, Workers) {
    const auto with = [](const char* workers) {
        return *parse(std::string(R"({"interfaces": {"p0": {}}, "workers": )") + workers + "}", "");
    };
    EXPECT_THAT(describe_difference(with("{}"), with(R"({"cpus": [2, 3], "polling": "busy"})")),
                ElementsAre("workers: 1 → 2", "CPUs of the workers: any → 2, 3", "polling: adaptive → busy"));
}

TEST(Describe, OrderIsNoDifferenceInRoutes) {
    std::string wanted = running;
    auto a = wanted.find("10.0.0.0/8\", \"via\": \"192.0.2.2"),
         b = wanted.find("10.1.0.0/16\", \"via\": \"192.0.2.3");
    wanted.replace(b, 31, "10.0.0.0/8\", \"via\": \"192.0.2.2");
    wanted.replace(a, 30, "10.1.0.0/16\", \"via\": \"192.0.2.3");
    ASSERT_NE(wanted, running);
    EXPECT_THAT(difference(wanted), testing::IsEmpty());
}

}  // namespace
}  // namespace pktpit::config
