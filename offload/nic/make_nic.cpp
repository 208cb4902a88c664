// SPDX-License-Identifier: BSD-3-Clause
#include "offload/nic/drivers.h"
#include "offload/nic/e1000e.h"
#include "offload/nic/gigabit_nic.h"
#include "offload/nic/igb.h"

namespace pktpit::offload {
namespace {

template <class Chip>
std::unique_ptr<Nic> make(Registers& registers, Delay& delay) {
    return std::make_unique<GigabitNic<Chip>>(registers, delay);
}

struct Known {
    uint16_t device;
    std::string_view name;
    std::unique_ptr<Nic> (*make)(Registers&, Delay&);
};

constexpr uint16_t intel = 0x8086;
constexpr Known known[] = {
    {0x10d3, "Intel 82574L (8086:10d3)", make<E1000e>},
    {0x10f6, "Intel 82574LA (8086:10f6)", make<E1000e>},
    {0x10c9, "Intel 82576 (8086:10c9)", make<Igb>},
    {0x1521, "Intel I350 (8086:1521)", make<Igb>},
};

}  // namespace

std::unique_ptr<Nic> make_nic(uint16_t vendor, uint16_t device, Registers& registers, Delay& delay) {
    if (vendor != intel) return nullptr;
    for (const Known& one : known)
        if (one.device == device) return one.make(registers, delay);
    return nullptr;
}

std::unique_ptr<Nic> make_nic(uint16_t vendor, uint16_t device, Registers& registers) {
    return make_nic(vendor, device, registers, real_delay());
}

std::vector<std::string_view> supported_nics() {
    std::vector<std::string_view> names;
    for (const Known& one : known)
        names.push_back(one.name);
    return names;
}

}  // namespace pktpit::offload
