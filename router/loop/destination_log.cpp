// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/destination_log.h"

#include <cstring>

namespace pktpit::router {

bool DestinationLog::number_of(const uint8_t* frame, uint32_t& number) {
    pp_order_tag tag;
    std::memcpy(&tag, frame - sizeof tag, sizeof tag);
    number = tag.number;
    return tag.magic == PP_ORDER_MAGIC;
}

}  // namespace pktpit::router
