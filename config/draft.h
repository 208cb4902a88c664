// SPDX-License-Identifier: BSD-3-Clause
/// The configuration on its way from JSON to plain values: each part with the place it came from, so that
/// what is found about its meaning can name that place. Internal to config/.
///
/// What could not be read as a value (an address that is none) is left out or marked broken, and reported
/// when it is read: the checks of meaning go on around it, so that no error hides another.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/config.h"

namespace pktpit::config {

struct PlacedAddress {
    InterfaceAddress value;
    std::string where;
};

struct PlacedInterface {
    Interface value;  ///< without its addresses
    std::vector<PlacedAddress> addresses;
    std::string where;
    bool has_vlan_protocol = false;  ///< written, not by default
    bool has_xdp_mode = false;
    bool has_generic_vlan = false;
    bool has_payload = false;
    bool has_forwarding = false;
    bool addresses_broken = false;  ///< an address is missing above
};

struct PlacedNextHop {
    NextHop value;
    std::string where;
    std::string via_where;    ///< of the address, which a shorthand has elsewhere
    bool via_broken = false;  ///< there is one, but it is no address
};

struct PlacedRoute {
    StaticRoute value;  ///< without its next hops
    std::vector<PlacedNextHop> next_hops;
    std::string where;
    bool prefix_broken = false;
    bool has_next_hops = false;  ///< the array is there
    bool has_shorthand = false;  ///< `via` or `interface` of the route itself
    std::vector<PlacedNextHop> backup;
};

struct PlacedRoutesFile {
    struct Id {
        std::string id;
        std::string where;
        std::vector<PlacedNextHop> next_hops;
    };
    RoutesFile value;  ///< without its next hops
    std::vector<Id> ids;
    std::vector<Id> backups;
    std::string where;
};

struct PlacedNeighbour {
    StaticNeighbour value;
    std::string where;
    bool address_broken = false;
};

struct Draft {
    Config settings;  ///< all that stands alone; its lists are empty
    std::vector<PlacedInterface> interfaces;
    std::vector<PlacedRoute> routes;
    std::vector<PlacedRoutesFile> routes_files;
    std::vector<PlacedNeighbour> neighbours;
    bool has_memory_bar = false;       ///< /vfio/payload_memory/bar is written
    bool has_dpdk_memory_bar = false;  ///< /dpdk/payload_memory/bar is written

    [[nodiscard]] const PlacedInterface* interface(std::string_view name) const;
    [[nodiscard]] std::vector<std::string> interface_names() const;
};

/// JSON that is valid against the schema → draft. Errors: values whose text is no address, prefix or MAC
/// address.
Draft read_draft(const nlohmann::json& document, Errors& errors);

// Its parts. Filters (filter_json.cpp) and their JSON again.
PlacedInterface read_interface(const std::string& name, const nlohmann::json& node, Errors& errors);
PlacedRoute read_route(const nlohmann::json& node, std::string where, Errors& errors);
PlacedRoutesFile read_routes_file(const nlohmann::json& node, std::string where, Errors& errors);
PlacedNeighbour read_neighbour(const nlohmann::json& node, std::string where, Errors& errors);
void read_settings(const nlohmann::json& document, Config& settings);
void read_vfio(const nlohmann::json& node, Draft& draft);
void read_dpdk(const nlohmann::json& node, Draft& draft);
void read_model(const nlohmann::json& node, Model& out);
void read_aggregation(const nlohmann::json& node, AggregationGroups& out, Errors& errors);
void read_fpm(const nlohmann::json& node, Fpm& out, Errors& errors);
/// `where`: its JSON pointer.
void read_tcp_service(const nlohmann::json& node, const std::string& where, TcpService& out, Errors& errors);
void read_filters(const nlohmann::json& node, Filters& out, Errors& errors);
nlohmann::json filters_json(const Filters& filters);
// Sources that are checked, and rates (guard_json.cpp).
void read_guards(const nlohmann::json& node, const std::string& where, Interface& out, Errors& errors);
void read_host_police(const nlohmann::json& node, HostPolice& out);
// Samples of packets (sflow_json.cpp).
void read_sflow(const nlohmann::json& node, Sflow& out, Errors& errors);
nlohmann::json sflow_json(const Sflow& sflow);
nlohmann::json host_police_json(const HostPolice& host);
Wire read_wire(const nlohmann::json& node, const std::string& where, Errors& errors);
/// Returns whether a BAR is named.
bool read_payload_memory(const nlohmann::json& node, PayloadMemory& out);

/// Draft without errors → configuration.
Config finish(Draft draft);

}  // namespace pktpit::config
