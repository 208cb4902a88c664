// SPDX-License-Identifier: BSD-3-Clause
/// What a pcapng stream says of itself while it passes by: packets, and losses as its interface statistics
/// have them. Takes the stream in pieces of any size, and any bytes. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pktpit::router::cli {

class CaptureTally {
  public:
    void take(std::string_view bytes);
    [[nodiscard]] uint64_t packets() const { return packets_; }
    [[nodiscard]] uint64_t lost() const { return lost_; }
    /// The stream has come to its end with a whole block.
    [[nodiscard]] bool is_whole() const { return waiting_.empty() && !broken_; }

  private:
    void block(uint32_t type, std::string_view body);

    std::string waiting_;  ///< of a block that has not wholly come
    uint64_t packets_ = 0;
    uint64_t lost_ = 0;
    bool broken_ = false;
};

}  // namespace pktpit::router::cli
