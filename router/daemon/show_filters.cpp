// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/show_filters.h"

#include <nlohmann/json.hpp>

namespace pktpit::router {

using nlohmann::json;

json show_filters(const ControlPlane& control) {
    json filters = json::array();
    for (const auto& [name, rules] : control.config().filters) {
        json in = json::array(), out = json::array();
        for (const auto& [interface, settings] : control.config().interfaces) {
            if (settings.filter_in == name) in.push_back(interface);
            if (settings.filter_out == name) out.push_back(interface);
        }
        const auto counts = control.filter_counts(name);
        const auto counted = [&](size_t number) {
            const pp_filter_counters one = number < counts.size() ? counts[number] : pp_filter_counters{};
            return json{{"packets", one.packets}, {"bytes", one.bytes}};
        };
        json list = json::array();
        for (size_t i = 0; i < rules.size(); i++) {
            json rule = counted(i);
            rule["rule"] = i;
            rule["text"] = to_string(rules[i]);
            rule["action"] = to_string(rules[i].action);
            list.push_back(std::move(rule));
        }
        filters.push_back({{"name", name},
                           {"in", std::move(in)},
                           {"out", std::move(out)},
                           {"rules", std::move(list)},
                           {"unmatched", counted(rules.size())}});
    }
    return {{"filters", std::move(filters)}};
}

}  // namespace pktpit::router
