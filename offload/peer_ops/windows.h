// SPDX-License-Identifier: BSD-3-Clause
/// The memory that a device's programs may reach, registered by the control loop as PeerDirect registers a
/// peer's memory (acquire, get_pages, dma_map): what is not inside a window is nobody's business. The owner's
/// thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::offload {

struct PeerWindow {
    uint64_t base = 0;  ///< bus address
    uint64_t bytes = 0;
    bool read = false;  ///< polls, and sources of copied blocks
    bool write = false;
    bool doorbell = false;  ///< doorbells alone: nothing else may write there
    bool own = false;       ///< the executing device's memory: sources of copied blocks lie here
    std::string name;
};

class PeerWindows {
  public:
    /// Errors: empty, beyond the end of the address space, overlaps another, doorbells beside stores.
    Result<void> add(PeerWindow window);
    /// Programs that were verified before may still reach it: load them again. False: there is none.
    bool remove(uint64_t base);
    /// The window with all of these bytes; null: none.
    [[nodiscard]] const PeerWindow* find(uint64_t address, uint64_t bytes) const;
    [[nodiscard]] const std::vector<PeerWindow>& all() const { return windows_; }

  private:
    std::vector<PeerWindow> windows_;  ///< ascending
};

/// "0x80001000".
std::string bus_address_text(uint64_t address);

}  // namespace pktpit::offload
