// SPDX-License-Identifier: BSD-3-Clause
#include "fib/vlans.h"

#include "fib/lookup.h"
#include "fib/store.h"

namespace pktpit::fib {

Vlans::Vlans(std::byte* image, const pp_fib_geometry& g)
    : table_(reinterpret_cast<pp_fib_vlan*>(image + g.vlan_offset)), count_(g.vlan_count) {}

uint32_t Vlans::slot(const pp_fib_vlan& key, uint32_t probe) const {
    return (pp_fib_vlan_hash(key.port, key.outer, key.inner) + probe) & (count_ - 1);
}

pp_fib_vlan* Vlans::find(const pp_fib_vlan& key) const {
    for (uint32_t probe = 0; probe < PP_VLAN_PROBES; probe++) {
        pp_fib_vlan& place = table_[slot(key, probe)];
        if (place.interface == 0) return nullptr;
        if (place.interface != PP_VLAN_TOMBSTONE && place.port == key.port && place.outer == key.outer &&
            place.inner == key.inner)
            return &place;
    }
    return nullptr;
}

Result<void> Vlans::set(const pp_fib_vlan& value) {
    if (value.interface == 0 || value.interface == PP_VLAN_TOMBSTONE)
        return fail({}, "interface id " + std::to_string(value.interface) + " of a VLAN", "1 to 65534");
    if (pp_fib_vlan* present = find(value)) {
        store_words(present, value);
        return {};
    }
    for (uint32_t probe = 0; probe < PP_VLAN_PROBES; probe++) {
        pp_fib_vlan& place = table_[slot(value, probe)];
        if (place.interface != 0 && place.interface != PP_VLAN_TOMBSTONE) continue;
        store_words(&place, value);
        used_++;
        return {};
    }
    return fail({}, "no room for VLAN " + std::to_string(value.outer & PP_VLAN_VID) + "." +
                        std::to_string(value.inner & PP_VLAN_VID) + " of port " + std::to_string(value.port) +
                        ": " + std::to_string(used_) + " of " + std::to_string(count_) +
                        " slots in use, among them all " + std::to_string(PP_VLAN_PROBES) +
                        " where it may stand");
}

void Vlans::erase(const pp_fib_vlan& key) {
    pp_fib_vlan* place = find(key);
    if (!place) return;
    used_--;
    const auto at = [&](ptrdiff_t index) { return table_ + (static_cast<size_t>(index) & (count_ - 1)); };
    ptrdiff_t index = place - table_;
    // Readers probe past a tombstone. Before a free slot none is needed, nor are those that end there.
    if (at(index + 1)->interface != 0) {
        store_words(place, pp_fib_vlan{0, 0, 0, PP_VLAN_TOMBSTONE});
        return;
    }
    store_words(place, pp_fib_vlan{});
    while (at(--index)->interface == PP_VLAN_TOMBSTONE)
        store_words(at(index), pp_fib_vlan{});
}

}  // namespace pktpit::fib
