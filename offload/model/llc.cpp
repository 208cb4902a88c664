// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/llc.h"

#include <algorithm>
#include <bit>

namespace pktpit::model {

Llc::Llc(const LlcSettings& settings) : settings_(settings) {
    if (settings.bytes == 0) return;
    settings_.ways = std::max(settings.ways, 1U);
    settings_.io_ways = std::clamp(settings.io_ways, 1U, settings_.ways);
    sets_ = std::max<uint64_t>(settings.bytes / line_bytes / settings_.ways, 1);
    lines_.resize(sets_ * settings_.ways);
    mixed_ = (uint64_t{1} << std::countr_zero(sets_)) - 1;
    half_ = std::max(std::countr_zero(sets_) / 2, 1);
    if (settings.load_bytes_per_ns > 0)
        lifetime_ = from_ns(static_cast<double>(settings.bytes) / settings.load_bytes_per_ns);
}

/// Buffers of a power of two would meet in few sets without the hash; CPUs have one, too. As many consecutive
/// lines as there are sets are each in another set: what is hashed is the order in which they take them.
Llc::Line* Llc::set_of(uint64_t line) {
    const uint64_t place = line % sets_;
    const uint64_t high = place & ~mixed_;
    uint64_t low = place & mixed_;
    uint64_t key = (line / sets_ + 1) * 0x9e3779b97f4a7c15 + high * 0xbf58476d1ce4e5b9;
    // Each step takes another number for each number of so many bits.
    for (int round = 0; round < 3; round++, key >>= 20) {
        low = ((low ^ key) * 0x2c1b3c6d) & mixed_;
        low ^= low >> half_;
    }
    return &lines_[(high | low) * settings_.ways];
}

Llc::Line* Llc::find(Time now, Line* set, uint64_t line, Outcome& outcome) {
    for (unsigned way = 0; way < settings_.ways; way++) {
        Line& found = set[way];
        if (found.number != line) continue;
        if (now - found.used <= lifetime_) return &found;
        outcome.written_back |= found.dirty;
        found = {};
        return nullptr;
    }
    return nullptr;
}

void Llc::allocate(Time now, Line* set, unsigned ways, uint64_t line, bool dirty, Outcome& outcome) {
    Line* victim = set;
    for (unsigned way = 0; way < ways; way++) {
        if (set[way].number == ~uint64_t{0}) {
            victim = &set[way];
            break;
        }
        if (set[way].used < victim->used) victim = &set[way];
    }
    outcome.written_back |= victim->number != ~uint64_t{0} && victim->dirty;
    *victim = {line, now, dirty};
}

Llc::Outcome Llc::device_writes(Time now, uint64_t line) {
    Outcome outcome;
    Line* set = set_of(line);
    if (Line* found = find(now, set, line, outcome)) {
        found->used = now;
        found->dirty = outcome.hit = true;
    } else {
        allocate(now, set, settings_.io_ways, line, true, outcome);
    }
    (outcome.hit ? counters_.write_hits : counters_.write_misses)++;
    counters_.written_back += outcome.written_back;
    return outcome;
}

Llc::Outcome Llc::device_reads(Time now, uint64_t line) {
    Outcome outcome;
    if (Line* found = find(now, set_of(line), line, outcome)) {
        found->used = now;
        outcome.hit = true;
    }
    (outcome.hit ? counters_.read_hits : counters_.read_misses)++;
    counters_.written_back += outcome.written_back;
    return outcome;
}

Llc::Outcome Llc::cpu_touches(Time now, uint64_t line, bool writes) {
    Outcome outcome;
    Line* set = set_of(line);
    if (Line* found = find(now, set, line, outcome)) {
        found->used = now;
        found->dirty |= writes;
        outcome.hit = true;
    } else {
        allocate(now, set, settings_.ways, line, writes, outcome);
    }
    (outcome.hit ? counters_.cpu_hits : counters_.cpu_misses)++;
    counters_.written_back += outcome.written_back;
    return outcome;
}

}  // namespace pktpit::model
