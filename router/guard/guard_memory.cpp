// SPDX-License-Identifier: BSD-3-Clause
#include "router/guard/guard_memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace pktpit::router {
namespace {

constexpr double ticks_per_second = 1e9 * PP_POLICE_TICKS;
/// A CPU takes this part of what the bucket holds at once, and no more than so many units.
constexpr uint64_t part_of_burst = 16;
constexpr uint64_t most_taken = 65536;

template <class Word>
void store(Word& place, Word value) {
    __atomic_store_n(&place, value, __ATOMIC_RELAXED);
}

// A reader may see an old cost and a new depth for one packet.
void write_bucket(pp_bucket& place, const pp_bucket& value) {
    store(place.cost, value.cost);
    store(place.depth, value.depth);
    store(place.share, value.share);
    store(place.full_at, __u64{0});
}

pp_bucket bucket_of_rate(const std::optional<config::Rate>& rate) {
    return rate ? bucket_for(static_cast<double>(rate->bits_per_second) / 8, rate->burst_bytes) : pp_bucket{};
}

pp_bucket bucket_of_packets(const std::optional<uint32_t>& rate) {
    // A tenth of a second's.
    return rate ? bucket_for(*rate, std::max<uint64_t>(*rate / 10, 10)) : pp_bucket{};
}

using HostRates = std::array<std::optional<uint32_t>, PP_HOST_CLASSES>;

HostRates rates_of(const config::HostPolice& host) {
    HostRates rates;
    rates[PP_HOST_CLASS_ARP] = host.arp;
    rates[PP_HOST_CLASS_ICMP] = host.icmp;
    rates[PP_HOST_CLASS_BGP] = host.bgp;
    rates[PP_HOST_CLASS_OTHER] = host.other;
    return rates;
}

uint8_t mode_of(config::Rpf rpf) {
    if (rpf == config::Rpf::strict) return PP_RPF_STRICT;
    return rpf == config::Rpf::loose ? PP_RPF_LOOSE : PP_RPF_OFF;
}

const GuardSet::Interface* find(const GuardSet& set, uint16_t id) {
    const auto found = std::ranges::find(set.interfaces, id, &GuardSet::Interface::id);
    return found == set.interfaces.end() ? nullptr : &*found;
}

}  // namespace

uint32_t GuardSet::of_port(uint16_t port) const {
    uint32_t guards = host.any() ? PP_GUARD_HOST : 0;
    for (const Interface& one : interfaces) {
        if (one.port != port) continue;
        if (one.rpf != config::Rpf::off) guards |= PP_GUARD_RPF;
        if (one.police_in) guards |= PP_GUARD_POLICE;
    }
    return guards;
}

Result<void> number_buckets(GuardSet& next, const GuardSet& running) {
    std::set<uint16_t> taken;
    for (GuardSet::Interface& one : next.interfaces) {
        one.bucket = 0;
        const GuardSet::Interface* before = find(running, one.id);
        if (!one.police_in || !before || before->bucket == 0) continue;
        one.bucket = before->bucket;
        taken.insert(one.bucket);
    }
    uint16_t free = PP_HOST_CLASSES;
    for (GuardSet::Interface& one : next.interfaces) {
        if (!one.police_in || one.bucket != 0) continue;
        while (taken.contains(free))
            free++;
        if (free >= PP_BUCKETS)
            return fail("/interfaces", "too many interfaces have a rate",
                        "at most " + std::to_string(PP_BUCKETS - PP_HOST_CLASSES), "");
        one.bucket = free++;
    }
    return {};
}

void write_guard(pp_guard& block, const GuardSet& running, const GuardSet& next) {
    const HostRates before = rates_of(running.host);
    const HostRates after = rates_of(next.host);
    for (size_t i = 0; i < after.size(); i++)
        if (before[i] != after[i]) write_bucket(block.buckets[i], bucket_of_packets(after[i]));
    for (const GuardSet::Interface& one : next.interfaces) {
        const GuardSet::Interface* known = find(running, one.id);
        if (one.bucket != 0 && (!known || known->police_in != one.police_in || known->bucket != one.bucket))
            write_bucket(block.buckets[one.bucket], bucket_of_rate(one.police_in));
        store(block.interfaces[one.id].bucket, __u16{one.bucket});
        store(block.interfaces[one.id].rpf, __u8{mode_of(one.rpf)});
    }
    for (const GuardSet::Interface& one : running.interfaces)
        if (!find(next, one.id)) {
            store(block.interfaces[one.id].bucket, __u16{0});
            store(block.interfaces[one.id].rpf, __u8{PP_RPF_OFF});
        }
}

pp_bucket bucket_for(double rate, uint64_t burst) {
    pp_bucket bucket{};
    const double unit = ticks_per_second / rate;
    bucket.cost = static_cast<uint64_t>(std::llround(unit * (1U << PP_POLICE_COST_SHIFT)));
    bucket.depth = static_cast<uint64_t>(std::llround(unit * static_cast<double>(burst)));
    bucket.share = static_cast<uint32_t>(std::clamp<uint64_t>(burst / part_of_burst, 1, most_taken));
    return bucket;
}

}  // namespace pktpit::router
