// SPDX-License-Identifier: BSD-3-Clause
#include "config/draft.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/json/pointer.h"

namespace pktpit::config {
namespace {

using nlohmann::json;

const json& list_at(const json& document, const char* key) {
    static const json none = json::array();
    auto found = document.find(key);
    return found == document.end() ? none : *found;
}

std::vector<NextHop> plain(const std::vector<PlacedNextHop>& placed) {
    std::vector<NextHop> out;
    out.reserve(placed.size());
    for (const PlacedNextHop& hop : placed)
        out.push_back(hop.value);
    return out;
}

}  // namespace

const PlacedInterface* Draft::interface(std::string_view name) const {
    auto found = std::ranges::lower_bound(
        interfaces, name, {}, [](const PlacedInterface& one) { return std::string_view(one.value.name); });
    return found != interfaces.end() && found->value.name == name ? &*found : nullptr;
}

std::vector<std::string> Draft::interface_names() const {
    std::vector<std::string> names;
    for (const PlacedInterface& one : interfaces)
        names.push_back(one.value.name);
    return names;
}

Draft read_draft(const json& document, Errors& errors) {
    Draft draft;
    read_settings(document, draft.settings);
    if (auto found = document.find("vfio"); found != document.end()) read_vfio(*found, draft);
    if (auto found = document.find("dpdk"); found != document.end()) read_dpdk(*found, draft);
    if (auto found = document.find("model"); found != document.end())
        read_model(*found, draft.settings.model);
    if (auto found = document.find("fpm"); found != document.end())
        read_fpm(*found, draft.settings.fpm, errors);
    if (auto found = document.find("metrics"); found != document.end())
        read_tcp_service(*found, "/metrics", draft.settings.metrics, errors);
    if (auto found = document.find("web"); found != document.end())
        read_tcp_service(*found, "/web", draft.settings.web, errors);
    if (auto found = document.find("aggregation"); found != document.end())
        read_aggregation(*found, draft.settings.aggregation, errors);
    if (auto found = document.find("filters"); found != document.end())
        read_filters(*found, draft.settings.filters, errors);
    if (auto found = document.find("host_police"); found != document.end())
        read_host_police(*found, draft.settings.host_police);
    if (auto found = document.find("sflow"); found != document.end())
        read_sflow(*found, draft.settings.sflow, errors);
    if (auto found = document.find("interfaces"); found != document.end())
        for (const auto& [name, node] : found->items())
            draft.interfaces.push_back(read_interface(name, node, errors));
    std::ranges::sort(draft.interfaces, {}, [](const PlacedInterface& one) { return one.value.name; });

    const json& routes = list_at(document, "routes");
    for (size_t i = 0; i < routes.size(); i++)
        draft.routes.push_back(read_route(routes[i], at("/routes", i), errors));
    const json& files = list_at(document, "routes_files");
    for (size_t i = 0; i < files.size(); i++)
        draft.routes_files.push_back(read_routes_file(files[i], at("/routes_files", i), errors));
    const json& neighbours = list_at(document, "neighbours");
    for (size_t i = 0; i < neighbours.size(); i++)
        draft.neighbours.push_back(read_neighbour(neighbours[i], at("/neighbours", i), errors));
    return draft;
}

Config finish(Draft draft) {
    Config config = std::move(draft.settings);
    for (PlacedInterface& one : draft.interfaces) {
        for (const PlacedAddress& address : one.addresses)
            one.value.addresses.push_back(address.value);
        std::string name = one.value.name;
        config.interfaces.emplace(std::move(name), std::move(one.value));
    }
    for (PlacedRoute& one : draft.routes) {
        one.value.next_hops = plain(one.next_hops);
        one.value.backup = plain(one.backup);
        config.routes.push_back(std::move(one.value));
    }
    for (PlacedRoutesFile& one : draft.routes_files) {
        for (const auto& id : one.ids)
            one.value.next_hops[id.id] = plain(id.next_hops);
        for (const auto& id : one.backups)
            one.value.backup[id.id] = plain(id.next_hops);
        config.routes_files.push_back(std::move(one.value));
    }
    for (PlacedNeighbour& one : draft.neighbours)
        config.neighbours.push_back(std::move(one.value));
    return config;
}

}  // namespace pktpit::config
