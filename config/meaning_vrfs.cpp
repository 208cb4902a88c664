// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "base/json/nearest.h"
#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

// /etc/iproute2/rt_tables: the kernel's own rules look these up for everybody.
constexpr uint32_t first_reserved_table = 253;
constexpr uint32_t last_reserved_table = 255;

void check_tables(const Config& settings, Errors& errors) {
    std::map<uint32_t, std::string> seen;
    for (const auto& [name, vrf] : settings.vrfs) {
        const std::string where = at(at("/vrfs", name), "table");
        const std::string table = std::to_string(vrf.table);
        const bool reserved = vrf.table >= first_reserved_table && vrf.table <= last_reserved_table;
        if (reserved)
            errors.push_back({where, "table " + table + " is the default VRF's (default, main, local)",
                              "a number from 1 to 252, or from 256", ""});
        if (auto [first, is_new] = seen.try_emplace(vrf.table, where); !is_new)
            errors.push_back({where, "table " + table + " is another VRF's, too", "a table for each VRF",
                              "see " + first->second});
        if (!reserved && (settings.kernel_routes.enabled || settings.kernel_routes.install) &&
            settings.kernel_routes.table == vrf.table)
            errors.push_back({"/kernel_routes/table",
                              "table " + table + " is that of VRF " + in_quotes(name) +
                                  ", which has it for its own routes",
                              "the default VRF's table, such as 254 (main)", "see " + where});
        if (settings.fpm.enabled && settings.fpm.table == vrf.table)
            errors.push_back({"/fpm/table",
                              "table " + table + " is that of VRF " + in_quotes(name) +
                                  ", which has it for its own routes",
                              "the default VRF's table, such as 254 (main)", "see " + where});
    }
}

}  // namespace

void check_vrfs(const Draft& draft, Errors& errors) {
    if (draft.settings.vrfs.contains("default"))
        errors.push_back({"/vrfs/default", "\"default\" is the VRF of all that names none", "another name",
                          "it is always there, and its table is /kernel_routes/table"});
    check_tables(draft.settings, errors);
    for (const PlacedInterface& one : draft.interfaces)
        check_vrf_name(one.value.vrf, at(one.where, "vrf"), draft, errors);
    for (const PlacedRoute& route : draft.routes)
        check_vrf_name(route.value.vrf, at(route.where, "vrf"), draft, errors);
    for (const PlacedRoutesFile& file : draft.routes_files)
        check_vrf_name(file.value.vrf, at(file.where, "vrf"), draft, errors);
}

bool check_vrf_name(const std::string& name, const std::string& where, const Draft& draft, Errors& errors) {
    if (name.empty() || draft.settings.vrfs.contains(name)) return true;
    std::vector<std::string> names{"default"};
    for (const auto& [known, vrf] : draft.settings.vrfs)
        names.push_back(known);
    std::string expected;
    for (size_t i = 0; i < names.size() && i < 8; i++)
        expected += (i ? ", " : "one of ") + names[i];
    if (names.size() > 8) expected += ", …";
    const std::string hint = did_you_mean(name, names);
    errors.push_back({where, in_quotes(name) + " is no VRF of this configuration", expected,
                      hint.empty() ? "add it to /vrfs, with its table" : hint});
    return false;
}

}  // namespace pktpit::config
