// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eth_device.h"

#include <rte_bus_vdev.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "router/dpdk/eal_log.h"

namespace pktpit::router {
namespace {

constexpr uint32_t header_split = 128;  // PP_SLICE_BYTES: what a decision reads

/// A driver's name alone becomes one device's: "net_tap" → "net_tap_3", by a number never used before.
std::string own_name(const config::DpdkDevice& device, const std::string& text) {
    static unsigned count = 0;
    if (device.pci || device.driver() != device.name || device.name.find(':') != std::string::npos)
        return text;
    return device.name + "_" + std::to_string(count++) + text.substr(device.name.size());
}

std::optional<uint16_t> port_of(const std::string& text) {
    std::optional<uint16_t> found;
    rte_dev_iterator iterator;
    uint16_t id = 0;
    RTE_ETH_FOREACH_MATCHING_DEV(id, text.c_str(), &iterator) {
        if (!found) found = id;
    }
    if (found) return found;
    const std::string name = text.substr(0, text.find(','));
    return rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0 ? std::optional(id) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<EthDevice>> EthDevice::open(const std::string& text, const std::string& where,
                                                   const std::string& instance) {
    const auto device = config::DpdkDevice::parse(text);
    std::optional<LinuxBelow> below;
    if (const auto name = device.linux_device()) {
        auto taken = LinuxBelow::take(std::string(*name), where, instance);
        if (!taken) return tl::unexpected(taken.error());
        below.emplace(std::move(*taken));
    }
    const std::string named = own_name(device, text);
    const EalWords said;
    if (const int failed = rte_dev_probe(named.c_str()); failed != 0)
        return tl::unexpected(said.error(where, "DPDK cannot open \"" + text + "\"", failed,
                                         "a device that DPDK has a driver for, with the driver's arguments"));
    const auto id = port_of(named);
    if (!id)
        return fail(where, "\"" + text + "\" is no Ethernet device", "an Ethernet device",
                    "a NIC is to be bound to vfio-pci: dpdk-devbind.py --bind=vfio-pci ADDRESS");
    std::unique_ptr<EthDevice> opened(new EthDevice(text, where, *id));
    if (below) {
        opened->below_index_ = below->index();
        opened->below_.emplace(std::move(*below));
    }
    return opened;
}

EthDevice::~EthDevice() {
    stop();
    const EalWords said;
    rte_device* device = bus_device();
    rte_eth_dev_close(id_);
    if (device && rte_dev_remove(device) != 0)
        spdlog::warn("{}: {}", text_, said.error("", "DPDK does not let go of it", rte_errno, "").message);
}

rte_eth_dev_info EthDevice::info() const {
    rte_eth_dev_info info{};
    (void)rte_eth_dev_info_get(id_, &info);
    return info;
}

rte_device* EthDevice::bus_device() const {
    return info().device;
}

std::string EthDevice::driver() const {
    const char* name = info().driver_name;
    return name ? name : "";
}

Result<void> EthDevice::configure(const EthWishes& wishes) {
    const EalWords said;
    plan_ = plan_device(info(), wishes);
    int failed = rte_eth_dev_configure(id_, plan_.rx_queues, plan_.tx_queues, &plan_.conf);
    // A driver need not say beforehand that it has no interrupts.
    if (failed != 0 && plan_.conf.intr_conf.rxq != 0) {
        plan_.conf.intr_conf.rxq = 0;
        failed = rte_eth_dev_configure(id_, plan_.rx_queues, plan_.tx_queues, &plan_.conf);
    }
    if (failed != 0)
        return tl::unexpected(said.error(where_, "the driver does not take its configuration", failed,
                                         "a driver that receives and sends on one queue"));
    (void)rte_eth_dev_adjust_nb_rx_tx_desc(id_, &plan_.rx_descriptors, &plan_.tx_descriptors);
    return {};
}

Result<void> EthDevice::set_up_queues(const Pools& pools) {
    const EalWords said;
    const auto socket = rte_eth_dev_socket_id(id_);
    const auto node = socket < 0 ? static_cast<unsigned>(SOCKET_ID_ANY) : static_cast<unsigned>(socket);
    std::array<rte_eth_rxseg, 2> segments{};
    if (plan_.split) {
        segments[0].split.mp = pools.packets;
        segments[0].split.length = header_split;
        segments[1].split.mp = pools.payloads;
        plan_.rx.rx_seg = segments.data();
        plan_.rx.rx_nseg = segments.size();
    }
    for (uint16_t at = 0; at < plan_.rx_queues; at++)
        if (const int failed = rte_eth_rx_queue_setup(id_, at, plan_.rx_descriptors, node, &plan_.rx,
                                                      plan_.split ? nullptr : pools.packets))
            return tl::unexpected(said.error(where_, "the driver takes no receive queue", failed,
                                             "a driver whose frames fit into /dpdk/slot_bytes"));
    plan_.rx.rx_seg = nullptr;
    for (uint16_t at = 0; at < plan_.tx_queues; at++)
        if (const int failed = rte_eth_tx_queue_setup(id_, at, plan_.tx_descriptors, node, &plan_.tx))
            return tl::unexpected(
                said.error(where_, "the driver takes no transmit queue", failed, "a driver that sends"));
    return {};
}

Result<void> EthDevice::start(const EthWishes& wishes, const Pools& pools) {
    if (started_) return {};
    EthWishes wanted = wishes;
    wanted.split = pools.payloads != nullptr;
    for (const bool last : {false, true}) {
        if (auto configured = configure(wanted); !configured) return configured;
        if (auto queues = set_up_queues(pools); !queues) return queues;
        const EalWords said;
        const int failed = rte_eth_dev_start(id_);
        if (failed == 0) break;
        // The same without interrupts, which some drivers only refuse here.
        if (last || !has_interrupts())
            return tl::unexpected(
                said.error(where_, "the device does not start", failed, "a device that does"));
        wanted.interrupts = false;
    }
    started_ = true;
    if (auto set = set_mtu(wishes.mtu); !set) spdlog::warn("{}", set.error().to_string());
    return {};
}

void EthDevice::stop() {
    if (!std::exchange(started_, false)) return;
    const EalWords said;
    if (const int failed = rte_eth_dev_stop(id_); failed != 0)
        spdlog::warn("{}: {}", text_, said.error("", "the device does not stop", failed, "").message);
}

MacAddress EthDevice::mac() const {
    rte_ether_addr address{};
    MacAddress mac{};
    (void)rte_eth_macaddr_get(id_, &address);
    std::copy_n(address.addr_bytes, mac.bytes.size(), mac.bytes.begin());
    return mac;
}

bool EthDevice::link_up() const {
    if (below_ && (lost() || !below_->running())) return false;
    rte_eth_link link{};
    return started_ && rte_eth_link_get_nowait(id_, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

Result<void> EthDevice::set_mac(const MacAddress& mac) {
    rte_ether_addr address{};
    std::copy_n(mac.bytes.begin(), mac.bytes.size(), address.addr_bytes);
    const EalWords said;
    if (const int failed = rte_eth_dev_default_mac_addr_set(id_, &address); failed != 0) {
        // Then it takes all frames, and which are ours is decided by forward().
        if (rte_eth_promiscuous_enable(id_) == 0) return {};
        return tl::unexpected(said.error(where_,
                                         "the device does not take the MAC address " + mac.to_string(),
                                         failed, "a driver that can change it"));
    }
    return {};
}

uint32_t EthDevice::mtu() const {
    if (const auto of_below = below_ ? below_->mtu() : std::nullopt) return *of_below;
    uint16_t mtu = 0;
    return rte_eth_dev_get_mtu(id_, &mtu) == 0 && mtu != 0 ? mtu : RTE_ETHER_MTU;
}

Result<void> EthDevice::set_mtu(uint32_t mtu) {
    if (below_ && below_->mtu() != mtu && !below_->set_mtu(mtu))
        return fail(where_, "\"" + below_->name() + "\" does not take the MTU " + std::to_string(mtu),
                    "an MTU that the Linux device below can have", "");
    uint16_t now = 0;
    if (rte_eth_dev_get_mtu(id_, &now) == 0 && now == mtu) return {};
    const EalWords said;
    const int failed = rte_eth_dev_set_mtu(id_, static_cast<uint16_t>(mtu));
    // A driver that says nothing of frame lengths leaves them to what is below.
    if (failed == 0 || failed == -ENOTSUP || below_) return {};
    return tl::unexpected(said.error(where_, "the driver does not take the MTU " + std::to_string(mtu),
                                     failed, "an MTU that the device can have"));
}

std::vector<std::pair<std::string, uint64_t>> EthDevice::statistics() const {
    std::vector<std::pair<std::string, uint64_t>> out;
    rte_eth_stats basic{};
    if (rte_eth_stats_get(id_, &basic) == 0)
        out = {{"rx_packets", basic.ipackets}, {"rx_bytes", basic.ibytes},    {"tx_packets", basic.opackets},
               {"tx_bytes", basic.obytes},     {"rx_missed", basic.imissed},  {"rx_errors", basic.ierrors},
               {"tx_errors", basic.oerrors},   {"rx_nombuf", basic.rx_nombuf}};
    const int count = rte_eth_xstats_get_names(id_, nullptr, 0);
    if (count <= 0) return out;
    std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
    std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
    const auto room = static_cast<unsigned>(count);
    if (rte_eth_xstats_get_names(id_, names.data(), room) != count ||
        rte_eth_xstats_get(id_, values.data(), room) != count)
        return out;
    for (const rte_eth_xstat& value : values) {
        const std::string name = names[value.id].name;
        // The standard ones once more, under longer names.
        const bool standard = name.ends_with("_good_packets") || name.ends_with("_good_bytes") ||
                              name == "rx_missed_errors" || name == "rx_errors" || name == "tx_errors" ||
                              name == "rx_mbuf_allocation_errors";
        if (value.value != 0 && !standard) out.emplace_back(name, value.value);
    }
    return out;
}

}  // namespace pktpit::router
