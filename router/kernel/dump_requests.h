// SPDX-License-Identifier: BSD-3-Clause
/// Requests for dumps of nexthop objects and routes: NetlinkKernel's, and those of a comparison. Private to
/// them.
#pragma once

#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cstdint>

#include "router/kernel/socket.h"

namespace pktpit::router::netlink {

inline Request nexthop_dump() {
    Request request(RTM_GETNEXTHOP, 0);
    request.header<nhmsg>().nh_family = AF_UNSPEC;
    return request;
}

inline Request route_dump(uint8_t family, uint32_t table) {
    Request request(RTM_GETROUTE, 0);
    request.header<rtmsg>().rtm_family = family;
    mnl_attr_put_u32(request.message(), RTA_TABLE, table);
    return request;
}

}  // namespace pktpit::router::netlink
