// SPDX-License-Identifier: BSD-3-Clause
/// One Ethernet device of DPDK: opened by its text in the configuration, configured with what its driver
/// offers, started, stopped and given back. Receives nothing before start(). The daemon's thread, with the
/// worker paused where it says so.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "config/dpdk_device.h"
#include "router/dataplane/linux_below.h"
#include "router/dpdk/eth_plan.h"

namespace pktpit::router {

class EthDevice {
  public:
    /// `where`: its JSON pointer, for errors. Errors: a driver that there is not or that refuses; a Linux
    /// device below that is not there or is the host's own.
    static Result<std::unique_ptr<EthDevice>> open(const std::string& text, const std::string& where,
                                                   const std::string& instance = {});
    ~EthDevice();
    EthDevice(const EthDevice&) = delete;
    EthDevice& operator=(const EthDevice&) = delete;

    struct Pools {
        rte_mempool* packets = nullptr;
        rte_mempool* payloads = nullptr;  ///< null: packets are not split
    };
    /// From here on it receives and sends. `interrupts` are tried, and left out where the driver has none.
    Result<void> start(const EthWishes& wishes, const Pools& pools);
    /// It gives its mbufs back. Worker paused, and the device no longer among its ports.
    void stop();

    [[nodiscard]] uint16_t id() const { return id_; }
    [[nodiscard]] const EthPlan& plan() const { return plan_; }
    [[nodiscard]] bool has_interrupts() const { return plan_.conf.intr_conf.rxq != 0; }
    [[nodiscard]] std::string driver() const;
    [[nodiscard]] const std::string& text() const { return text_; }
    [[nodiscard]] MacAddress mac() const;
    /// Link as the driver says, and where a Linux device is below, as that says, since such drivers do not.
    [[nodiscard]] bool link_up() const;
    /// The Linux device below has gone, or is another one of the same name.
    [[nodiscard]] bool lost() const { return below_ && below_->index() != below_index_; }
    [[nodiscard]] bool has_linux_device() const { return below_.has_value(); }
    [[nodiscard]] uint32_t mtu() const;
    /// Errors: the driver refuses.
    Result<void> set_mac(const MacAddress& mac);
    Result<void> set_mtu(uint32_t mtu);
    /// Standard counters first, then the driver's own, without those that are 0.
    [[nodiscard]] std::vector<std::pair<std::string, uint64_t>> statistics() const;
    /// Reachable by device DMA: for payload memory.
    [[nodiscard]] rte_device* bus_device() const;

  private:
    EthDevice(std::string text, std::string where, uint16_t id)
        : text_(std::move(text)), where_(std::move(where)), id_(id) {}
    Result<void> configure(const EthWishes& wishes);
    Result<void> set_up_queues(const Pools& pools);
    [[nodiscard]] rte_eth_dev_info info() const;

    std::string text_;
    std::string where_;
    uint16_t id_;
    EthPlan plan_;
    bool started_ = false;
    std::optional<LinuxBelow> below_;
    uint32_t below_index_ = 0;
};

}  // namespace pktpit::router
