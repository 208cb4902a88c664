// SPDX-License-Identifier: BSD-3-Clause
/// Identifications of IPv4 packets that the router itself sends, which may be fragmented on their way
/// (RFC 6864 4.1): none comes twice among 65,536, and who sees some learns neither the next one nor how many
/// packets others have been sent (RFC 7739 5.3 of IPv6's). One thread.
#pragma once

#include <cstdint>

namespace pktpit::router {

class Identifications {
  public:
    explicit Identifications(uint64_t secret) : secret_(secret) {}
    uint16_t next();

  private:
    uint64_t secret_;
    uint64_t given_ = 0;
};

}  // namespace pktpit::router
