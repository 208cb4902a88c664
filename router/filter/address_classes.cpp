// SPDX-License-Identifier: BSD-3-Clause
#include "router/filter/address_classes.h"

#include <map>

namespace pktpit::router {

AddressClasses::AddressClasses(const std::vector<std::optional<Prefix>>& wanted) : rows(wanted.size()) {
    RuleBits everywhere(wanted.size());
    std::map<Prefix, std::vector<size_t>> by_prefix;  // the shorter of two with the same address first
    for (size_t rule = 0; rule < wanted.size(); rule++) {
        if (wanted[rule])
            by_prefix[*wanted[rule]].push_back(rule);
        else
            everywhere.set(rule);
    }
    rows.add(everywhere);
    // From the outside in: prefixes around the one that is at hand.
    std::vector<std::pair<Prefix, RuleBits>> around;
    for (const auto& [prefix, rules] : by_prefix) {
        while (!around.empty() && !around.back().first.contains(prefix))
            around.pop_back();
        RuleBits bits = around.empty() ? everywhere : around.back().second;
        for (const size_t rule : rules)
            bits.set(rule);
        // Not class 0, which as an entry of the longest-prefix match means that there is no prefix.
        prefixes.emplace_back(prefix, rows.class_of(bits, 1));
        around.emplace_back(prefix, std::move(bits));
    }
}

}  // namespace pktpit::router
