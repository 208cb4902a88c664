// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/port.h"

#include <spdlog/spdlog.h>

namespace pktpit::router {

EthPort::EthPort(const config::Interface& interface, std::unique_ptr<EthDevice> opened, Tap made,
                 uint32_t mtu, uint32_t slot_bytes)
    : TapPort(interface.name, std::move(made)),
      text(interface.device),
      device(std::move(opened)),
      slot_bytes_(slot_bytes),
      mtu_(mtu),
      mac_(device->mac()) {}

Result<std::unique_ptr<EthPort>> EthPort::open(const config::Interface& interface, uint32_t slot_bytes,
                                               const std::string& instance) {
    const std::string where = "/interfaces/" + interface.name + "/device";
    auto device = EthDevice::open(interface.device, where, instance);
    if (!device) return tl::unexpected(device.error());
    const uint32_t mtu = interface.mtu.value_or((*device)->mtu());
    if (mtu > slot_bytes)
        return fail(where,
                    "the device's MTU " + std::to_string(mtu) + " does not fit into slots of " +
                        std::to_string(slot_bytes) + " bytes",
                    "an MTU of at most " + std::to_string(slot_bytes), "raise /dpdk/slot_bytes");
    auto tap = Tap::create(interface.name, (*device)->mac());
    if (!tap) return tl::unexpected(tap.error());
    tap->set_carrier(false);
    (void)tap->set_mtu(mtu);
    return std::unique_ptr<EthPort>(
        new EthPort(interface, std::move(*device), std::move(*tap), mtu, slot_bytes));
}

void EthPort::follow_tap() {
    if (!device || !started) return;
    const auto mac = tap.mac();
    const auto mtu = tap.mtu();
    if (mac && *mac != mac_) {
        mac_ = *mac;
        if (auto set = device->set_mac(*mac); !set) spdlog::warn("{}", set.error().to_string());
    }
    if (!mtu || *mtu == mtu_) return;
    mtu_ = *mtu;
    if (*mtu > slot_bytes_)
        spdlog::warn("{}: MTU {} does not fit into slots of {} bytes: larger packets will not arrive", name,
                     *mtu, slot_bytes_);
    else if (auto set = device->set_mtu(*mtu); !set)
        spdlog::warn("{}", set.error().to_string());
}

void EthPort::show_link() {
    tap.set_carrier(device && device->link_up());
}

}  // namespace pktpit::router
