// SPDX-License-Identifier: BSD-3-Clause
/// A fingerprint of a routing table: CRC-64/XZ over its lines `prefix next-hop-id\n`, IPv4 before IPv6, each
/// family ascending by address, then by length, each prefix once. The same as of the bytes that
/// `pktpit table convert --sorted` writes. No protection against forgery. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/address.h"

namespace pktpit::fib {

/// The order of the digest.
bool table_order(const Prefix& a, const Prefix& b);

class TableDigest {
  public:
    /// Routes in table_order(), each prefix once.
    void add(const Prefix& prefix, std::string_view next_hop);
    [[nodiscard]] std::string to_string() const;  ///< "crc64:" and 16 hexadecimal digits

  private:
    uint64_t crc_ = 0;
    std::string line_;
};

}  // namespace pktpit::fib
