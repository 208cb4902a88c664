// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/static_routes.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "fib/tables/table_file.h"

namespace pktpit::router {
namespace {

constexpr size_t max_errors_per_file = 20;

pp_adjacency_kind kind_of(config::RouteType type) {
    switch (type) {
        case config::RouteType::blackhole:
            return PP_ADJ_BLACKHOLE;
        case config::RouteType::unreachable:
            return PP_ADJ_UNREACHABLE;
        case config::RouteType::prohibit:
            return PP_ADJ_PROHIBIT;
        default:
            return PP_ADJ_FORWARD;
    }
}

/// Adds the routes of one file; ids become indices of next-hop sets.
class FileReader {
  public:
    FileReader(const config::RoutesFile& file, uint16_t vrf, WantedRoutes& wanted)
        : file_(file), vrf_(vrf), wanted_(wanted) {}

    config::Errors read(const std::string& path) {
        config::Errors errors;
        auto done = fib::read_table_file(
            path, [&](const Prefix& prefix, std::string_view id, size_t line) -> Result<void> {
                const auto set = set_of(id);
                if (!set) {
                    errors.push_back({path + ":" + std::to_string(line),
                                      "no next hops for id \"" + std::string(id) + "\"",
                                      "an id of /routes_files/…/next_hops, or \"*\" there", ""});
                    if (errors.size() >= max_errors_per_file)
                        return fail("", "too many errors, the rest is not read");
                    return {};
                }
                wanted_.routes.push_back({prefix, *set, 0, file_.preference, vrf_});
                return {};
            });
        if (!done) errors.push_back(done.error());
        return errors;
    }

  private:
    std::optional<uint32_t> set_of(std::string_view id) {
        const auto [known, added] = sets_.try_emplace(std::string(id));
        if (!added) return known->second;
        auto hops = file_.next_hops.find(std::string(id));
        if (hops == file_.next_hops.end()) hops = file_.next_hops.find("*");
        if (hops != file_.next_hops.end()) {
            known->second = static_cast<uint32_t>(wanted_.next_hop_sets.size());
            auto backup = file_.backup.find(std::string(id));
            if (backup == file_.backup.end()) backup = file_.backup.find("*");
            wanted_.next_hop_sets.push_back(
                {config::RouteType::unicast, hops->second,
                 backup == file_.backup.end() ? std::vector<config::NextHop>() : backup->second, std::nullopt,
                 0, file_.vrf});
        }
        return known->second;
    }

    const config::RoutesFile& file_;
    uint16_t vrf_;
    WantedRoutes& wanted_;
    std::unordered_map<std::string, std::optional<uint32_t>> sets_;
};

}  // namespace

tl::expected<WantedRoutes, config::Errors> read_wanted_routes(const config::Config& config) {
    WantedRoutes wanted;
    config::Errors errors;
    for (const auto& [name, vrf] : config.vrfs)
        wanted.vrfs.push_back(name);
    const auto index_of = [&](const std::string& vrf) {
        return static_cast<uint16_t>(std::ranges::find(wanted.vrfs, vrf) - wanted.vrfs.begin());
    };
    for (const auto& route : config.routes) {
        wanted.routes.push_back({route.prefix, static_cast<uint32_t>(wanted.next_hop_sets.size()),
                                 route.metric, route.preference, index_of(route.vrf)});
        wanted.next_hop_sets.push_back({route.type, route.next_hops, route.backup,
                                        route.counters ? std::optional(route.prefix) : std::nullopt,
                                        route.mtu, route.vrf});
    }
    for (const auto& file : config.routes_files) {
        auto found = FileReader(file, index_of(file.vrf), wanted).read(config::path_of(file, config));
        errors.insert(errors.end(), found.begin(), found.end());
    }
    auto filters = compile_filters(config);
    if (filters)
        wanted.filters = std::make_shared<const CompiledFilters>(std::move(*filters));
    else
        errors.push_back(filters.error());
    if (!errors.empty()) return tl::unexpected(std::move(errors));

    // Of equal prefixes the first stays: routes before files, files in their order.
    std::ranges::stable_sort(wanted.routes, [](const auto& a, const auto& b) {
        return std::tie(a.vrf, a.prefix) < std::tie(b.vrf, b.prefix);
    });
    const auto same_place = [](const auto& a, const auto& b) {
        return a.vrf == b.vrf && a.prefix == b.prefix;
    };
    wanted.routes.erase(std::unique(wanted.routes.begin(), wanted.routes.end(), same_place),
                        wanted.routes.end());
    return wanted;
}

Result<NextHopSetSpec> to_spec(const Routing& routing, config::RouteType type,
                               const std::vector<config::NextHop>& next_hops,
                               const std::vector<config::NextHop>& backup, const std::string& vrf) {
    NextHopSetSpec spec{kind_of(type), {}, 0};
    for (size_t i = 0; i < next_hops.size() + backup.size(); i++) {
        const bool stands_in = i >= next_hops.size();
        const config::NextHop& hop = stands_in ? backup[i - next_hops.size()] : next_hops[i];
        NextHopSpec wanted{hop.via, 0, hop.weight, stands_in};
        if (hop.interface) {
            const L3Interface* interface = routing.interfaces().by_name(*hop.interface);
            if (!interface)
                return fail(*hop.interface, "no such interface", "an interface of the configuration",
                            "pktpit show ports");
            wanted.interface = interface->id;
        }
        if (wanted.is_gateway_alone()) {
            const std::string& name = hop.vrf ? *hop.vrf : vrf;
            const auto found = routing.vrf_by_name(name);
            if (!found) return fail(name, "no such VRF", "a VRF of the configuration", "pktpit show vrfs");
            wanted.vrf = *found;
        }
        spec.next_hops.push_back(wanted);
    }
    return spec;
}

Error for_route(const Prefix& prefix, Error error) {
    error.message = "route " + prefix.to_string() + ": " + error.message;
    return error;
}

}  // namespace pktpit::router
