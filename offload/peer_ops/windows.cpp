// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/windows.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>

namespace pktpit::offload {

std::string bus_address_text(uint64_t address) {
    std::array<char, 24> text{};
    std::snprintf(text.data(), text.size(), "0x%" PRIx64, address);
    return text.data();
}

Result<void> PeerWindows::add(PeerWindow window) {
    if (window.bytes == 0) return fail(window.name, "an empty window", "at least 1 byte");
    if (window.base + (window.bytes - 1) < window.base)
        return fail(window.name, bus_address_text(window.base) + ", " + std::to_string(window.bytes) +
                                     " bytes: goes beyond the end of the address space");
    if (window.doorbell && window.write)
        return fail(window.name, "doorbells and stores in one window", "a window for each");
    const auto next = std::ranges::upper_bound(windows_, window.base, {}, &PeerWindow::base);
    const bool into_next = next != windows_.end() && window.bytes > next->base - window.base;
    const bool from_before = next != windows_.begin() && (next - 1)->bytes > window.base - (next - 1)->base;
    if (into_next || from_before)
        return fail(window.name, bus_address_text(window.base) + " is in two windows", "none that overlap",
                    "the other is " + (into_next ? next : next - 1)->name);
    windows_.insert(next, std::move(window));
    return {};
}

bool PeerWindows::remove(uint64_t base) {
    return std::erase_if(windows_, [&](const PeerWindow& window) { return window.base == base; }) > 0;
}

const PeerWindow* PeerWindows::find(uint64_t address, uint64_t bytes) const {
    const auto next = std::ranges::upper_bound(windows_, address, {}, &PeerWindow::base);
    if (next == windows_.begin()) return nullptr;
    const PeerWindow& window = *(next - 1);
    const uint64_t offset = address - window.base;
    return offset <= window.bytes && bytes <= window.bytes - offset ? &window : nullptr;
}

}  // namespace pktpit::offload
