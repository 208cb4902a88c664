// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <array>

#include "config/draft.h"
#include "config/words.h"

namespace pktpit::config {

using nlohmann::json;

void read_dpdk(const json& node, Draft& draft) {
    Dpdk& out = draft.settings.dpdk;
    const auto take = [&](const char* key, auto& value) {
        if (auto found = node.find(key); found != node.end()) found->get_to(value);
    };
    take("eal", out.eal);
    take("devices", out.devices);
    take("mbufs", out.mbufs);
    take("slot_bytes", out.slot_bytes);
    take("rx_descriptors", out.rx_descriptors);
    take("tx_descriptors", out.tx_descriptors);
    if (auto found = node.find("payload_memory"); found != node.end())
        draft.has_dpdk_memory_bar = read_payload_memory(*found, out.payload_memory);
    if (auto found = node.find("memory"); found != node.end())
        out.memory = by_word(found->get<std::string>(),
                             std::array{DpdkMemory::automatic, DpdkMemory::hugepages, DpdkMemory::pages});
}

}  // namespace pktpit::config
