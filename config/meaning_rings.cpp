// SPDX-License-Identifier: BSD-3-Clause
// What the dataplanes that drive NICs themselves have in common.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/json/pointer.h"
#include "config/meaning.h"
#include "config/words.h"

namespace pktpit::config {
namespace {

constexpr uint32_t default_mtu = 1500;

}  // namespace

void check_mtu_fits(const PlacedInterface& port, uint32_t slot_bytes, const std::string& where,
                    Errors& errors) {
    const uint32_t mtu = port.value.mtu.value_or(default_mtu);
    if (mtu <= slot_bytes) return;
    errors.push_back({port.value.mtu ? at(port.where, "mtu") : port.where,
                      "MTU " + std::to_string(mtu) + (port.value.mtu ? "" : " (the default)") +
                          " does not fit into slots of " + std::to_string(slot_bytes) + " bytes",
                      "an MTU of at most " + std::to_string(slot_bytes),
                      "raise " + where + "/slot_bytes, or lower \"mtu\""});
}

void check_payload_memory(const PayloadMemory& memory, bool has_bar, const std::string& where,
                          Errors& errors) {
    const bool on_device = memory.kind != MemoryKind::hugepages;
    const bool takes_bar = memory.kind == MemoryKind::pci_bar || memory.kind == MemoryKind::vfio_region;
    const std::string kind = in_quotes(to_string(memory.kind));
    if (on_device && memory.pci.empty())
        errors.push_back({where, kind + " without \"pci\"",
                          "the PCI address of the device that has the memory",
                          "`pktpit doctor` lists candidates"});
    if (!on_device && !memory.pci.empty())
        errors.push_back({where + "/pci", kind + " are no device's", "no \"pci\"", ""});
    if (takes_bar && !has_bar)
        errors.push_back({where, kind + " without \"bar\"", "the number of the BAR, as in \"bar\": 2",
                          "`pktpit doctor` lists candidates"});
    if (!takes_bar && has_bar)
        errors.push_back(
            {where + "/bar", kind + " takes no BAR: it is known where it lies", "no \"bar\"", ""});
}

void check_ring_sizes(uint32_t rx_descriptors, uint32_t tx_descriptors, uint32_t slot_bytes,
                      const std::string& where, Errors& errors) {
    for (const auto& [key, count] :
         {std::pair{"rx_descriptors", rx_descriptors}, std::pair{"tx_descriptors", tx_descriptors}})
        if (!std::has_single_bit(count))
            errors.push_back({at(where, key), "found " + std::to_string(count),
                              "a power of two from 64 to 4096",
                              "take " + std::to_string(std::min(std::bit_ceil(count), 4096U))});
    if (slot_bytes % 1024 != 0)
        errors.push_back({at(where, "slot_bytes"), "found " + std::to_string(slot_bytes),
                          "a multiple of 1024 from 1024 to 15360",
                          "take " + std::to_string((slot_bytes + 1023) / 1024 * 1024)});
}

}  // namespace pktpit::config
