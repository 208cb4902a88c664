// SPDX-License-Identifier: BSD-3-Clause
/// Which memory payloads are to wait in: what a configuration names, before any of it is touched.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "offload/pci/address.h"

namespace pktpit::offload {

enum class MemoryKind : uint8_t {
    hugepages,    ///< main memory: no P2P
    pci_bar,      ///< a BAR through sysfs `resourceN`; the device needs no driver
    nvme_cmb,     ///< an NVMe controller memory buffer (NVMe Base Specification 2.0, 8.5)
    vfio_region,  ///< a BAR of a device that vfio-pci drives
    p2pmem,       ///< what a kernel driver publishes below `p2pmem/`
};

/// "hugepages", "pci_bar", …
std::string_view to_string(MemoryKind kind);

struct MemorySource {
    MemoryKind kind = MemoryKind::hugepages;
    PciAddress device{};  ///< all kinds but hugepages
    uint8_t bar = 0;      ///< pci_bar, vfio_region
    uint64_t bytes = 0;   ///< how much of it, from its start; 0: all (hugepages: must be given)

    /// "BAR 2 of 0000:05:00.0", "controller memory buffer of 0000:06:00.0", "hugepages"
    [[nodiscard]] std::string to_string() const;
};

}  // namespace pktpit::offload
