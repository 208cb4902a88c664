#include <nlohmann/json.hpp>

#include <array>

#include "config/draft.h"
#include "config/parse_values.h"
#include "config/words.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

/// The value of an enum whose word this is; the schema lets no other words in.
template <class Enum, size_t N>
Enum by_word(const std::string& word, const std::array<Enum, N>& values) {
    for (const Enum value : values)
        if (to_string(value) == word) return value;
    return values[0];
}

void read_payload_memory(const json& node, Draft& draft) {
    PayloadMemory& out = draft.settings.vfio.payload_memory;
    out.kind = by_word(node.at("kind").get<std::string>(),
                       std::array{MemoryKind::hugepages, MemoryKind::pci_bar, MemoryKind::nvme_cmb,
                                  MemoryKind::vfio_region, MemoryKind::p2pmem});
    if (auto found = node.find("pci"); found != node.end()) out.pci = lower_case(found->get<std::string>());
    if (auto found = node.find("bar"); found != node.end()) {
        draft.has_memory_bar = true;
        out.bar = found->get<uint8_t>();
    }
    if (auto found = node.find("size_mib"); found != node.end()) out.size_mib = found->get<uint32_t>();
}

}  // namespace

void read_vfio(const json& node, Draft& draft) {
    Vfio& out = draft.settings.vfio;
    if (auto found = node.find("payload_memory"); found != node.end()) read_payload_memory(*found, draft);
    if (auto found = node.find("slot_bytes"); found != node.end()) out.slot_bytes = found->get<uint32_t>();
    if (auto found = node.find("rx_descriptors"); found != node.end())
        out.rx_descriptors = found->get<uint32_t>();
    if (auto found = node.find("tx_descriptors"); found != node.end())
        out.tx_descriptors = found->get<uint32_t>();
}

}  // namespace pktpit::config
