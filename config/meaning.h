// SPDX-License-Identifier: BSD-3-Clause
/// What a schema cannot say: whether the parts of a configuration fit together. Internal to config/. Each
/// check adds every problem it finds, at the place of what has to change. Any thread.
#pragma once

#include <string>
#include <vector>

#include "config/draft.h"

namespace pktpit::config {

/// The nets of the interfaces' addresses.
class ConnectedNets {
  public:
    struct Net {
        Prefix prefix;
        IpAddress own;
        std::string interface;
        std::string where;
        std::string vrf;  ///< of the interface
    };

    explicit ConnectedNets(const Draft& draft);

    /// Nets of the VRF that contain the address, longest first.
    [[nodiscard]] std::vector<const Net*> containing(const IpAddress& address, const std::string& vrf) const;
    [[nodiscard]] const Net* with_own_address(const IpAddress& address, const std::string& vrf) const;
    [[nodiscard]] bool has(std::string_view interface, Family family) const;
    /// "an address in 192.0.2.0/24 (eth0), 198.51.100.0/24 (eth1)", of one interface if it is given.
    [[nodiscard]] std::string choice(Family family, std::string_view interface = {}) const;
    [[nodiscard]] const std::vector<Net>& all() const { return nets_; }
    /// Some address could not be read: what lies on no net here may lie on a missing one.
    [[nodiscard]] bool incomplete() const { return incomplete_; }

  private:
    std::vector<Net> nets_;  ///< by prefix
    bool incomplete_ = false;
};

/// Why no next hop, interface or neighbour can have this address: "a multicast address", …; empty: it can.
std::string no_host_address(const IpAddress& address);
/// Is it the lowest or (IPv4) the highest address of the net, which no host has? Says which, or nothing.
std::string reserved_in_net(const IpAddress& address, const Prefix& net);

void check_interfaces(const Draft& draft, const InterfaceExists& exists, Errors& errors);
/// Their names and tables, and who names them; but for next hops.
void check_vrfs(const Draft& draft, Errors& errors);
/// Rules that can never match, sets that are too large, and who names them.
void check_filters(const Draft& draft, Errors& errors);
/// Checks of sources and rates where nobody could keep to them.
void check_guards(const Draft& draft, Errors& errors);
/// Who is sampled for nobody, or cannot be.
void check_sflow(const Draft& draft, Errors& errors);
void check_workers(const Config& settings, Errors& errors);
/// What belongs to a port of the `vfio` dataplane, and to no other.
void check_vfio(const Draft& draft, Errors& errors);
/// The same of the `dpdk` dataplane; and whether EAL could take its options (config/eal_options.h).
void check_dpdk(const Draft& draft, const InterfaceExists& exists, Errors& errors);
/// The same of the `model` dataplane.
void check_model(const Draft& draft, const InterfaceExists& exists, Errors& errors);
/// `where`: its JSON pointer.
void check_payload_memory(const PayloadMemory& memory, bool has_bar, const std::string& where,
                          Errors& errors);
/// Of slots and rings; `where`: the dataplane's JSON pointer.
void check_ring_sizes(uint32_t rx_descriptors, uint32_t tx_descriptors, uint32_t slot_bytes,
                      const std::string& where, Errors& errors);
/// A payload is at most what is left of a packet behind a bare IP header; so any packet of the MTU fits.
void check_mtu_fits(const PlacedInterface& port, uint32_t slot_bytes, const std::string& where,
                    Errors& errors);
/// Groups of workers, beside what else there is.
void check_aggregation(const Draft& draft, const ConnectedNets& nets, Errors& errors);
void check_addresses(const Draft& draft, const ConnectedNets& nets, Errors& errors);
void check_routes(const Draft& draft, const ConnectedNets& nets, Errors& errors);
void check_routes_files(const Draft& draft, const ConnectedNets& nets, Errors& errors);
void check_neighbours(const Draft& draft, const ConnectedNets& nets, Errors& errors);
void check_kernel_routes(const Config& settings, Errors& errors);

/// The next hops of one route or one id. `prefix`: the route's, if it is known. `vrf`: the route's.
void check_next_hops(const std::vector<PlacedNextHop>& next_hops, const std::optional<Prefix>& prefix,
                     const std::string& vrf, const Draft& draft, const ConnectedNets& nets, Errors& errors);
/// The VRF is one of the configuration, or the default one (empty); adds an error at `where` if not.
bool check_vrf_name(const std::string& name, const std::string& where, const Draft& draft, Errors& errors);
/// The interface is one of the configuration; adds an error at `where` if not.
bool check_interface_name(const std::string& name, const std::string& where, const Draft& draft,
                          Errors& errors);

}  // namespace pktpit::config
