// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/memory_source.h"

namespace pktpit::offload {

std::string_view to_string(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::hugepages:
            return "hugepages";
        case MemoryKind::pci_bar:
            return "pci_bar";
        case MemoryKind::nvme_cmb:
            return "nvme_cmb";
        case MemoryKind::vfio_region:
            return "vfio_region";
        case MemoryKind::p2pmem:
            return "p2pmem";
    }
    return "?";
}

std::string MemorySource::to_string() const {
    switch (kind) {
        case MemoryKind::hugepages:
            return "hugepages (main memory)";
        case MemoryKind::nvme_cmb:
            return "controller memory buffer of " + device.to_string();
        case MemoryKind::p2pmem:
            return "p2pmem of " + device.to_string();
        case MemoryKind::pci_bar:
        case MemoryKind::vfio_region:
            break;
    }
    return "BAR " + std::to_string(bar) + " of " + device.to_string() +
           (kind == MemoryKind::vfio_region ? " (VFIO)" : "");
}

}  // namespace pktpit::offload
