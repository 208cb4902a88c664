// SPDX-License-Identifier: BSD-3-Clause
// What the schema cannot say of workers, and of ports that a dataplane drives by itself.
#include "meaning_cases.h"

namespace pktpit::config {
namespace {

using test::errors_of;
using test::expect_cases;
using test::expect_one;
using test::with_interfaces;

std::string with_workers(const std::string& workers) {
    return R"({"interfaces": {"p": {}}, "workers": )" + workers + "}";
}

TEST(Meaning, Workers) {
    expect_cases(with_workers,
                 {
                     {R"({"count": 4})"},
                     {R"({"cpus": [0, 7]})"},
                     {R"({"count": 2, "cpus": [5, 4]})"},
                     {R"({"count": 3, "cpus": [0, 1]})", "/workers/count", "3 workers, but 2 in \"cpus\"",
                      "a CPU for each worker", "without \"count\""},
                     {R"({"cpus": [1, 2, 1]})", "/workers/cpus/2", "CPU 1 is that of worker 0 already",
                      "a CPU of its own"},
                 });
}

std::string with_vfio(const std::string& rest) {
    return R"({"dataplane": "vfio", )" + rest + "}";
}

TEST(Meaning, PortsOfTheVfioDataplane) {
    const std::string port = R"("interfaces": {"p0": {"pci": "0000:03:00.0"}})";
    expect_cases(
        with_vfio,
        {
            {port},
            {R"("interfaces": {"p0": {"pci": "0000:0A:00.0"}, "p1": {"pci": "0000:0b:00.0", "mtu": 2048}})"},
            {R"("interfaces": {"p0": {}})", "/interfaces/p0", "without \"pci\"", "0000:03:00.0", "doctor"},
            {R"("interfaces": {"p0": {"pci": "0000:0A:00.0"}, "p1": {"pci": "0000:0a:00.0"}})",
             "/interfaces/p1/pci", "0000:0a:00.0 is \"p0\" already", "a NIC of its own"},
            {R"("interfaces": {"p0": {"pci": "0000:03:00.0", "xdp_mode": "auto"}})",
             "/interfaces/p0/xdp_mode", "has no XDP program"},
            {R"("interfaces": {"p0": {"pci": "0000:03:00.0", "generic_vlan": "refuse"}})",
             "/interfaces/p0/generic_vlan", "has no XDP program"},
            {R"("interfaces": {"p0": {"pci": "0000:03:00.0", "mtu": 2049}})", "/interfaces/p0/mtu",
             "does not fit into slots of 2048 bytes", "at most 2048", "/vfio/slot_bytes"},
            {port + R"(, "vfio": {"slot_bytes": 1024})", "/interfaces/p0", "MTU 1500 (the default)",
             "at most 1024"},
            {R"("interfaces": {"p0": {"pci": "0000:03:00.0"}, "v": {"parent": "p0", "vlan": [5], "payload": "auto"}})",
             "/interfaces/v/payload", "a VLAN interface is no NIC"},
            {port + R"(, "workers": {"count": 2})", "/workers/count", "found 2", "1 with"},
            {port + R"(, "vfio": {"payload_memory": {"kind": "pci_bar", "pci": "0000:05:00.0", "bar": 2},
                                  "peer": {}})"},
            {port + R"(, "vfio": {"payload_memory": {"kind": "nvme_cmb", "pci": "0000:05:00.0"},
                                  "peer": {"queue_frames": 100}})",
             "/vfio/peer/queue_frames", "found 100", "a power of two", "take 128"},
            {port + R"(, "vfio": {"peer": {}})", "/vfio/payload_memory/kind",
             "\"hugepages\" is not the memory of a peer device", "\"nvme_cmb\""},
            {port + R"(, "vfio": {"payload_memory": {"kind": "p2pmem", "pci": "0000:05:00.0"}, "peer": {}})",
             "/vfio/payload_memory/kind", "\"p2pmem\" is not the memory", "\"pci_bar\""},
            {R"("interfaces": {"p0": {"pci": "0000:03:00.0", "payload": "bounce"}},
                "vfio": {"payload_memory": {"kind": "nvme_cmb", "pci": "0000:05:00.0"}, "peer": {}})",
             "/interfaces/p0/payload", "beside /vfio/peer", "\"auto\""},
            {port + R"(, "vfio": {"rx_descriptors": 100})", "/vfio/rx_descriptors", "found 100",
             "a power of two", "take 128"},
            {port + R"(, "vfio": {"slot_bytes": 2100})", "/vfio/slot_bytes", "found 2100",
             "a multiple of 1024", "take 3072"},
            {port + R"(, "vfio": {"payload_memory": {"kind": "nvme_cmb"}})", "/vfio/payload_memory",
             "\"nvme_cmb\" without \"pci\"", "PCI address", "doctor"},
            {port + R"(, "vfio": {"payload_memory": {"kind": "pci_bar", "pci": "0000:05:00.0"}})",
             "/vfio/payload_memory", "without \"bar\"", "\"bar\": 2"},
            {port + R"(, "vfio": {"payload_memory": {"kind": "nvme_cmb", "pci": "0000:05:00.0", "bar": 0}})",
             "/vfio/payload_memory/bar", "takes no BAR", "no \"bar\""},
            {port + R"(, "vfio": {"payload_memory": {"kind": "hugepages", "pci": "0000:05:00.0"}})",
             "/vfio/payload_memory/pci", "are no device's", "no \"pci\""},
            {port + R"(, "vfio": {"payload_memory": {"kind": "pci_bar", "pci": "0000:03:00.0", "bar": 2}})",
             "/interfaces/p0/pci", "is the payload memory's device"},
        });
    expect_cases(with_interfaces, {{R"("p0": {"pci": "0000:03:00.0"})", "/interfaces/p0/pci",
                                    "is a Linux device, not a NIC of our own", "\"dataplane\": \"vfio\""},
                                   {R"("p0": {"payload": "auto"})", "/interfaces/p0/payload",
                                    "is a Linux device, not a NIC of our own"}});
    EXPECT_THAT(errors_of(with_vfio(port), [](std::string_view) { return false; }), testing::IsEmpty())
        << "the device is made by the daemon";
    std::string many = R"("interfaces": {)";
    for (int i = 0; i < 17; i++)
        many += (i ? ", " : "") +
                ("\"p" + std::to_string(i) + R"(": {"pci": "0000:)" + std::to_string(10 + i) + R"(:00.0"})");
    expect_one(errors_of(with_vfio(
                   many + R"(}, "vfio": {"payload_memory": {"kind": "nvme_cmb", "pci": "0000:05:00.0"},
                                   "peer": {}})")),
               "/vfio/peer", "17 ports");
}

std::string with_model(const std::string& rest) {
    return R"({"dataplane": "model", )" + rest + "}";
}

TEST(Meaning, PortsOfTheModelDataplane) {
    const std::string port = R"("interfaces": {"lan": {"wire": {"device": "eth7"}}})";
    const auto wire = [](const std::string& keys) {
        return R"("interfaces": {"lan": {"wire": {)" + keys + "}}}";
    };
    expect_cases(
        with_model,
        {
            {port},
            {wire("")},
            {wire(R"("read": "in.pcap", "write": "out.pcap", "mac": "02:00:00:00:00:01")")},
            {R"("interfaces": {"lan": {}})", "/interfaces/lan", "without \"wire\"", "pcap files",
             "\"device\""},
            {wire(R"("device": "lan")"), "/interfaces/lan/wire/device",
             "has the name of the Linux device below", "another name"},
            {wire(R"("device": "eth7", "write": "out.pcap")"), "/interfaces/lan/wire/write",
             "beside \"device\"", "not both"},
            {wire(R"("read": "x.pcap", "write": "x.pcap")"), "/interfaces/lan/wire/write",
             "the file that is read", "another file"},
            {wire(R"("mac": "03:00:00:00:00:01")"), "/interfaces/lan/wire/mac", "is a multicast MAC address",
             "of one station"},
            {R"("interfaces": {"a": {"wire": {"write": "x"}}, "b": {"wire": {"write": "x"}}})",
             "/interfaces/b/wire/write", "is used by /interfaces/a/wire/write"},
            {R"("interfaces": {"a": {"wire": {}, "nic_port": "nic0/0"}, "b": {"wire": {}, "nic_port": "nic0/0"}})",
             "/interfaces/b/nic_port", "is used by /interfaces/a/nic_port"},
            {R"("interfaces": {"a": {"wire": {}, "nic_port": "nic0"}})", "/interfaces/a/nic_port", "",
             "nic0/0"},
            {R"("interfaces": {"a": {"wire": {}, "mtu": 1963}})", "/interfaces/a/mtu", "does not fit",
             "at most 1962"},
            {R"("interfaces": {"a": {"wire": {}, "xdp_mode": "auto"}})", "/interfaces/a/xdp_mode",
             "has no XDP program"},
            {R"("interfaces": {"a": {"wire": {}, "generic_vlan": "accept"}})", "/interfaces/a/generic_vlan",
             "has no XDP program"},
            {R"("interfaces": {"a": {"wire": {}, "forwarding": "auto"}})", "/interfaces/a/forwarding",
             "decides nothing itself", "\"split\""},
            {R"("interfaces": {"a": {"wire": {}}, "v": {"parent": "a", "vlan": [5], "wire": {}}})",
             "/interfaces/v/wire", "a VLAN interface is no port"},
            {port + R"(, "workers": {"count": 2})", "/workers/count", "found 2", "one thread", "cpu.cores"},
            {port + R"(, "model": {"transfer": "carry"})", "/model/transfer", "found \"carry\"",
             "\"bounce\""},
        });
    expect_cases(with_interfaces, {{R"("p0": {"wire": {}})", "/interfaces/p0/wire",
                                    "only ports of the model dataplane", "\"dataplane\": \"model\""},
                                   {R"("p0": {"nic_port": "nic0/1"})", "/interfaces/p0/nic_port",
                                    "only ports of the model dataplane"}});
    expect_one(errors_of(with_model(port), [](std::string_view) { return false; }),
               "/interfaces/lan/wire/device", "no interface \"eth7\"");
}

std::string with_dpdk(const std::string& rest) {
    return R"({"dataplane": "dpdk", )" + rest + "}";
}

TEST(Meaning, PortsOfTheDpdkDataplane) {
    const auto port = [](const std::string& device, const std::string& more = "") {
        return R"("interfaces": {"lan": {"device": ")" + device + "\"" + more + "}}";
    };
    const std::string where = "/interfaces/lan/device";
    expect_cases(
        with_dpdk,
        {
            {port("net_af_packet,iface=eth0")},
            {port("0000:03:00.0")},
            {port("0000:03:00.0,dv_flow_en=1")},
            {R"("interfaces": {"a": {"device": "net_null"}, "b": {"device": "net_null"}})"},
            {R"("interfaces": {"lan": {}})", "/interfaces/lan", "without \"device\"", "net_af_packet",
             "docs/dpdk.md"},
            {port("af_packet,iface=eth0"), where, "\"af_packet\" is no DPDK device", "net_af_packet",
             "did you mean \"net_af_packet\"?"},
            {port("net_af_packet"), where, "net_af_packet without \"iface\"", "", "net_af_packet,iface=eth0"},
            {port("net_af_xdp,iface="), where, "net_af_xdp without \"iface\""},
            {port("net_af_packet,iface=lan"), where, "has the name of the Linux device below",
             "another name"},
            {port("net_null,=3"), where, "an argument without a name"},
            {R"("interfaces": {"a": {"device": "net_tap0"}, "b": {"device": "net_tap0,iface=x"}})",
             "/interfaces/b/device", "\"net_tap0\" is used by /interfaces/a/device already", "of its own"},
            {R"("interfaces": {"a": {"device": "net_af_xdp,iface=e"}, "b": {"device": "net_af_packet,iface=e"}})",
             "/interfaces/b/device", "\"e\" is used by /interfaces/a/device already"},
            {port("0000:03:00.0") + R"(, "dpdk": {"devices": ["0000:03:00.0"]})", where,
             "is used by /dpdk/devices/0"},
            {port("net_null", R"(, "xdp_mode": "native")"), "/interfaces/lan/xdp_mode", "has no XDP program"},
            {port("net_null", R"(, "generic_vlan": "accept")"), "/interfaces/lan/generic_vlan",
             "has no XDP program"},
            {port("net_null", R"(, "forwarding": "inline")"), "/interfaces/lan/forwarding",
             "decides nothing itself", "\"split\""},
            {port("net_null", R"(, "mtu": 9000)"), "/interfaces/lan/mtu",
             "does not fit into slots of 2048 bytes", "at most 2048", "/dpdk/slot_bytes"},
            {port("net_null", R"(, "pci": "0000:03:00.0")"), "/interfaces/lan/pci",
             "known by its \"device\""},
            {R"("interfaces": {"a": {"device": "net_null"}, "v": {"parent": "a", "vlan": [5], "device": "net_null"}})",
             "/interfaces/v/device", "a VLAN interface is no device"},
            {port("net_null") + R"(, "dpdk": {"slot_bytes": 2100})", "/dpdk/slot_bytes", "found 2100",
             "a multiple of 1024", "take 3072"},
            {port("net_null") + R"(, "dpdk": {"tx_descriptors": 65})", "/dpdk/tx_descriptors", "found 65",
             "a power of two", "take 128"},
            {port("net_null") + R"(, "dpdk": {"payload_memory": {"kind": "p2pmem"}})", "/dpdk/payload_memory",
             "\"p2pmem\" without \"pci\"", "", "doctor"},
            {port("net_null") +
                 R"(, "dpdk": {"payload_memory": {"kind": "vfio_region", "pci": "0000:05:00.0", "bar": 2}})",
             "/dpdk/payload_memory/kind", "DPDK's own VFIO", "\"pci_bar\""},
        });
    expect_cases(with_interfaces, {{R"("p0": {"device": "net_null"})", "/interfaces/p0/device",
                                    "only ports of the dpdk dataplane", "\"dataplane\": \"dpdk\""}});
    const std::string packet = with_dpdk(port("net_af_packet,iface=eth7"));
    EXPECT_THAT(errors_of(packet, [](std::string_view name) { return name == "eth7"; }), testing::IsEmpty());
    expect_one(errors_of(packet, [](std::string_view) { return false; }), where,
               "there is no interface \"eth7\" on this machine");
}

TEST(Meaning, OptionsOfEal) {
    const auto eal = [](const std::string& list) {
        return R"("interfaces": {"lan": {"device": "net_null"}}, "dpdk": {"eal": [)" + list + "]}";
    };
    expect_cases(
        with_dpdk,
        {
            {eal("")},
            {eal(R"("-n", "4", "--iova-mode=va", "--log-level", "pmd:8", "-n4")")},
            {eal(R"("--socket-mem=64", "--match-allocations")")},
            {eal(R"("--iova-mod=va")"), "/dpdk/eal/0", "\"--iova-mod=va\" is no option", "DPDK 22.11",
             "did you mean \"--iova-mode\"?"},
            {eal(R"("4")"), "/dpdk/eal/0", "\"4\" is no option"},
            {eal(R"("-n", "4", "x")"), "/dpdk/eal/2", "\"x\" is no option"},
            {eal(R"("--")"), "/dpdk/eal/0", "is no option"},
            {eal(R"("-l", "0-3")"), "/dpdk/eal/0", "\"-l\" is set by Pktpit itself", "", "threads"},
            {eal(R"("--lcores=0@1")"), "/dpdk/eal/0", "set by Pktpit itself"},
            {eal(R"("--file-prefix=x")"), "/dpdk/eal/0", "set by Pktpit itself", "", "/instance"},
            {eal(R"("--vdev=net_null0")"), "/dpdk/eal/0", "set by Pktpit itself", "", "/dpdk/devices"},
            {eal(R"("--no-huge")"), "/dpdk/eal/0", "set by Pktpit itself", "", "/dpdk/memory"},
            {eal(R"("--help")"), "/dpdk/eal/0", "set by Pktpit itself", "", "dpdk-testpmd"},
            {eal(R"("--iova-mode")"), "/dpdk/eal/0", "without its value", "--iova-mode=…"},
            {eal(R"("--no-hpet=1")"), "/dpdk/eal/0", "takes no value"},
        });
}

}  // namespace
}  // namespace pktpit::config
