// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/rate_limiter.h"

#include <algorithm>

#include "router/forward/packet.h"

namespace pktpit::router {

namespace {

uint64_t prefix_bits(const IpAddress& address) {
    const uint8_t* bytes = address.bytes.data();
    if (address.is_v4()) return address.v4_host_order() >> 8;
    return static_cast<uint64_t>(load_be32(bytes)) << 32 | load_be32(bytes + 4);
}

uint64_t mix(uint64_t value) {
    value = (value ^ value >> 33) * 0xff51afd7ed558ccdULL;
    value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53ULL;
    return value ^ value >> 33;
}

}  // namespace

TokenBucket::Rate TokenBucket::rate(uint32_t per_second, uint32_t burst) {
    if (per_second == 0) return {};
    const auto interval = std::chrono::duration_cast<Clock::duration>(std::chrono::seconds(1)) / per_second;
    return {std::max(interval, Clock::duration(1)), burst};
}

bool TokenBucket::has_token(const Rate& rate, Clock::time_point now) const {
    if (rate.burst == 0 || rate.interval == Clock::duration::zero()) return false;
    return full_at_ <= now || full_at_ - now <= rate.interval * (rate.burst - 1);
}

void TokenBucket::take(const Rate& rate, Clock::time_point now) {
    full_at_ = std::max(full_at_, now) + rate.interval;
}

RateLimiter::RateLimiter(const config::Icmp& limits, uint64_t seed) : seed_(seed), table_(sets) {
    set_limits(limits);
}

void RateLimiter::set_limits(const config::Icmp& limits) {
    // A tenth of a second's worth at once: errors come in bursts when a route goes away.
    rate_ = TokenBucket::rate(limits.rate, std::max({limits.rate / 10, limits.burst_per_prefix, 1U}));
    prefix_rate_ = TokenBucket::rate(limits.rate_per_prefix, limits.burst_per_prefix);
}

bool RateLimiter::allow(const IpAddress& destination, Clock::time_point now) {
    const uint64_t prefix = prefix_bits(destination);
    const Family family = destination.family;
    Set& set = table_[mix(prefix ^ seed_ ^ static_cast<uint64_t>(family)) % sets];
    auto found = std::ranges::find_if(
        set, [&](const Entry& entry) { return entry.prefix == prefix && entry.family == family; });
    const TokenBucket bucket = found != set.end() ? found->bucket : TokenBucket{};
    // The prefix is asked first: a flood towards one must not empty the bucket of all others.
    if (!bucket.has_token(prefix_rate_, now) || !all_.has_token(rate_, now)) return false;
    if (found == set.end()) {
        found = std::ranges::min_element(set, {}, [](const Entry& entry) { return entry.bucket.full_at(); });
        *found = Entry{prefix, family, {}};
    }
    found->bucket.take(prefix_rate_, now);
    all_.take(rate_, now);
    return true;
}

}  // namespace pktpit::router
