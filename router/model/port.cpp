// SPDX-License-Identifier: BSD-3-Clause
#include "router/model/port.h"

#include <spdlog/spdlog.h>

#include "router/model/packet_io.h"

namespace pktpit::router {
namespace {

constexpr uint32_t default_mtu = 1500;

}  // namespace

ModelPort::ModelPort(const config::Interface& interface, std::unique_ptr<Wire> opened, Tap made, size_t place,
                     uint32_t mtu, const std::string& instance)
    : TapPort(interface.name, std::move(made)),
      nic_port(place),
      wire(std::move(opened)),
      settings_(*interface.wire),
      instance_(instance),
      mtu_(mtu) {}

Result<std::unique_ptr<ModelPort>> ModelPort::open(const config::Interface& interface,
                                                   const config::Config& config, size_t nic_port) {
    const std::string where = "/interfaces/" + interface.name + "/wire";
    const config::Wire& settings = *interface.wire;
    auto wire = settings.device.empty()
                    ? open_file_wire(interface.name, settings, config, where)
                    : open_device_wire(settings.device, where + "/device", config.instance);
    if (!wire) return tl::unexpected(wire.error());
    const uint32_t mtu = interface.mtu.value_or((*wire)->mtu().value_or(default_mtu));
    if (mtu > ModelPacketIo::largest_mtu)
        return fail(where,
                    "the device's MTU " + std::to_string(mtu) + " does not fit into modelled packet memory",
                    "an MTU of at most " + std::to_string(ModelPacketIo::largest_mtu),
                    "lower the device's, or give the port an \"mtu\"");
    if ((*wire)->mtu().value_or(mtu) != mtu) (*wire)->set_mtu(mtu);
    auto tap = Tap::create(interface.name, (*wire)->mac());
    if (!tap) return tl::unexpected(tap.error());
    tap->set_carrier(false);
    (void)tap->set_mtu(mtu);
    return std::unique_ptr<ModelPort>(
        new ModelPort(interface, std::move(*wire), std::move(*tap), nic_port, mtu, config.instance));
}

Result<void> ModelPort::reopen() {
    auto opened = open_device_wire(settings_.device, where() + "/device", instance_);
    if (!opened) return tl::unexpected(opened.error());
    wire = std::move(*opened);
    if (wire->mtu().value_or(mtu_) != mtu_) wire->set_mtu(mtu_);
    return {};
}

void ModelPort::follow_tap() {
    const auto mtu = tap.mtu();
    if (!mtu || *mtu == mtu_ || !wire) return;
    mtu_ = *mtu;
    if (*mtu > ModelPacketIo::largest_mtu)
        spdlog::warn("{}: MTU {} does not fit into modelled packet memory: larger packets will not arrive",
                     name, *mtu);
    else
        wire->set_mtu(*mtu);
}

void ModelPort::show_link() {
    tap.set_carrier(wire && wire->link_up());
}

}  // namespace pktpit::router
