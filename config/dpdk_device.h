// SPDX-License-Identifier: BSD-3-Clause
/// A DPDK device as a configuration names it: "net_af_packet,iface=veth0", "0000:03:00.0,rxq_pkt_pad_en=1".
/// Plain text; DPDK itself is not asked. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pktpit::config {

struct DpdkDevice {
    std::string name;  ///< a PCI address, or a virtual device's driver, perhaps with a suffix of its own
    std::vector<std::pair<std::string, std::string>> arguments;  ///< value empty where there is no "="
    bool pci = false;

    /// Of the last argument with this key, which is the one that drivers go by.
    [[nodiscard]] std::optional<std::string_view> argument(std::string_view key) const;
    /// The driver without the digits that tell its devices apart: "net_tap" of "net_tap0".
    [[nodiscard]] std::string_view driver() const;
    /// The Linux device that the driver takes its packets from, if the text names it.
    [[nodiscard]] std::optional<std::string_view> linux_device() const;

    static DpdkDevice parse(std::string_view text);
};

}  // namespace pktpit::config
