// SPDX-License-Identifier: BSD-3-Clause
#include <bit>
#include <map>

#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

void check_group(const std::string& name, const AggregationGroup& group, const ConnectedNets& nets,
                 Errors& errors) {
    const std::string where = at("/aggregation/groups", name);
    if (!std::has_single_bit(group.slots))
        errors.push_back({at(where, "slots"), "found " + std::to_string(group.slots), "a power of two", ""});
    if (group.chunk_bytes % 8 != 0)
        errors.push_back(
            {at(where, "chunk_bytes"), "found " + std::to_string(group.chunk_bytes), "a multiple of 8", ""});
    if (group.key == 0)
        errors.push_back({at(where, "key"), "the key is 0, which anybody would try first",
                          "64 random bits in hexadecimal", "openssl rand -hex 8"});
    for (size_t i = 0; i < group.workers.size(); i++) {
        const ConnectedNets::Net* own = nets.with_own_address(group.workers[i], "");
        if (own)
            errors.push_back({at(at(where, "workers"), i),
                              in_quotes(group.workers[i].to_string()) +
                                  " is an address of the router itself (" + own->interface + ")",
                              "the address of a worker", ""});
    }
}

}  // namespace

void check_aggregation(const Draft& draft, const ConnectedNets& nets, Errors& errors) {
    const AggregationGroups& groups = draft.settings.aggregation;
    if (groups.empty()) return;
    if (draft.settings.dataplane != "xdp")
        errors.push_back({"/aggregation",
                          "there are groups on dataplane " + in_quotes(draft.settings.dataplane),
                          "\"dataplane\": \"xdp\": port stages do the adding", "take the groups out"});
    std::map<uint16_t, std::string> ports;
    size_t slots = 0;
    for (const auto& [name, group] : groups) {
        check_group(name, group, nets, errors);
        slots += group.slots;
        if (const auto [other, is_new] = ports.emplace(group.port, name); !is_new)
            errors.push_back({at(at("/aggregation/groups", name), "port"),
                              "UDP port " + std::to_string(group.port) + " is that of group " +
                                  in_quotes(other->second) + " already",
                              "a port of its own for each group", ""});
    }
    if (slots > most_aggregation_slots)
        errors.push_back({"/aggregation/groups", std::to_string(slots) + " slots in all groups together",
                          "at most " + std::to_string(most_aggregation_slots), "lower \"slots\" of some"});
}

}  // namespace pktpit::config
