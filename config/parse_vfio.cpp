// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <array>

#include "config/draft.h"
#include "config/parse_values.h"
#include "config/words.h"

namespace pktpit::config {

using nlohmann::json;

bool read_payload_memory(const json& node, PayloadMemory& out) {
    out.kind = by_word(node.at("kind").get<std::string>(),
                       std::array{MemoryKind::hugepages, MemoryKind::pci_bar, MemoryKind::nvme_cmb,
                                  MemoryKind::vfio_region, MemoryKind::p2pmem});
    if (auto found = node.find("pci"); found != node.end()) out.pci = lower_case(found->get<std::string>());
    if (auto found = node.find("size_mib"); found != node.end()) out.size_mib = found->get<uint32_t>();
    const auto bar = node.find("bar");
    if (bar != node.end()) out.bar = bar->get<uint8_t>();
    return bar != node.end();
}

void read_vfio(const json& node, Draft& draft) {
    Vfio& out = draft.settings.vfio;
    if (auto found = node.find("payload_memory"); found != node.end())
        draft.has_memory_bar = read_payload_memory(*found, out.payload_memory);
    if (auto found = node.find("slot_bytes"); found != node.end()) out.slot_bytes = found->get<uint32_t>();
    if (auto found = node.find("rx_descriptors"); found != node.end())
        out.rx_descriptors = found->get<uint32_t>();
    if (auto found = node.find("tx_descriptors"); found != node.end())
        out.tx_descriptors = found->get<uint32_t>();
    if (auto peer = node.find("peer"); peer != node.end()) {
        out.peer.emplace();
        if (auto found = peer->find("queue_frames"); found != peer->end())
            out.peer->queue_frames = found->get<uint32_t>();
        if (auto found = peer->find("patience_ms"); found != peer->end())
            out.peer->patience_ms = found->get<uint32_t>();
    }
}

}  // namespace pktpit::config
