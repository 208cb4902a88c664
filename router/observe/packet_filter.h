// SPDX-License-Identifier: BSD-3-Clause
/// A pcap filter (man pcap-filter), compiled by libpcap and run in user space. Made on any thread, used by
/// one; never changes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace pktpit::router {

class PacketFilter {
  public:
    /// For Ethernet frames. The Error has libpcap's words and, where leaving words off the end makes it
    /// right, the first word that is wrong.
    static Result<PacketFilter> compile(const std::string& expression);

    /// `frame`: its captured bytes; `length`: of the whole frame.
    [[nodiscard]] bool matches(std::span<const uint8_t> frame, uint32_t length) const;

  private:
    struct Program;
    std::shared_ptr<const Program> program_;
};

}  // namespace pktpit::router
