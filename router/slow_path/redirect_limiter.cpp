// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/redirect_limiter.h"

namespace pktpit::router {

bool RedirectLimiter::allow(const IpAddress& sender, uint16_t interface, Clock::time_point now) {
    const uint64_t mixed = (std::hash<IpAddress>{}(sender) ^ seed_ ^ interface) * 0x9e3779b97f4a7c15U;
    Entry& entry = table_[mixed >> 32 & (size - 1)];
    if (entry.interface != interface || entry.sender != sender || now - entry.last >= silence)
        entry = {sender, interface, 0, now};
    if (entry.sent >= most) {
        entry.last = now;
        return false;
    }
    if (entry.sent != 0 && now - entry.last < first_distance * (1 << entry.sent)) return false;
    entry.sent++;
    entry.last = now;
    return true;
}

}  // namespace pktpit::router
