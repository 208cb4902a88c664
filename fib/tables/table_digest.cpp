// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_digest.h"

#include <lzma.h>

#include <tuple>

#include "fib/tables/writing.h"

namespace pktpit::fib {

bool table_order(const Prefix& a, const Prefix& b) {
    return std::tie(a.address.family, a.address.bytes, a.length) <
           std::tie(b.address.family, b.address.bytes, b.length);
}

void TableDigest::add(const Prefix& prefix, std::string_view next_hop) {
    line_.clear();
    append_route_text(line_, prefix, next_hop);
    crc_ = lzma_crc64(reinterpret_cast<const uint8_t*>(line_.data()), line_.size(), crc_);
}

std::string TableDigest::to_string() const {
    std::string text = "crc64:";
    for (int shift = 60; shift >= 0; shift -= 4)
        text += "0123456789abcdef"[crc_ >> shift & 15];
    return text;
}

}  // namespace pktpit::fib
