// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/tlp.h"

namespace pktpit::model {

std::string_view to_string(TlpType type) {
    static constexpr std::array<std::string_view, tlp_types> names = {"MWr",   "MRd",   "Cpl", "CplD",
                                                                      "CfgRd", "CfgWr", "Msg", "MSI"};
    return names[static_cast<size_t>(type)];
}

void TlpPool::grow() {
    tlps_.push_back(std::make_unique<std::array<Tlp, 256>>());
    for (Tlp& tlp : *tlps_.back()) {
        tlp.next = free_;
        free_ = &tlp;
    }
}

void TlpPool::grow_blocks() {
    constexpr size_t blocks = 64;
    memory_.push_back(std::make_unique<std::byte[]>(blocks * block_bytes));
    for (size_t i = 0; i < blocks; i++)
        blocks_.push_back(memory_.back().get() + i * block_bytes);
}

}  // namespace pktpit::model
