// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <tuple>

#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {
namespace {

class NextHopCheck {
  public:
    NextHopCheck(const PlacedNextHop& hop, const std::optional<Prefix>& prefix, const std::string& route_vrf,
                 const Draft& draft, const ConnectedNets& nets, Errors& errors)
        : hop_(hop),
          prefix_(prefix),
          route_vrf_(route_vrf),
          vrf_(vrf_of(hop.value, route_vrf, draft)),
          draft_(draft),
          nets_(nets),
          errors_(errors) {}

    void run() {
        const NextHop& value = hop_.value;
        bool known = true;
        if (value.interface)
            known = check_interface_name(*value.interface, at(hop_.where, "interface"), draft_, errors_);
        if (value.vrf && value.interface)
            fault(at(hop_.where, "vrf"), "next hop with both \"interface\" and \"vrf\"", "one of the two",
                  "an interface says by itself which VRF packets go to");
        else if (value.vrf)
            known = check_vrf_name(*value.vrf, at(hop_.where, "vrf"), draft_, errors_);
        if (hop_.via_broken) return;
        if (!value.via) {
            if (!value.interface)
                fault(hop_.where, "next hop without \"via\" and \"interface\"", "one of them or both");
            return;
        }
        if (!usable_address() || !known) return;
        if (value.via->is_v6() && value.via->is_link_local()) {
            if (!value.interface)
                fault(hop_.via_where, in_quotes(text()) + " is link-local: it may be on any link",
                      "\"interface\" beside \"via\"");
            return;
        }
        check_net();
    }

  private:
    /// Whose nets the gateway is on.
    static std::string vrf_of(const NextHop& hop, const std::string& route_vrf, const Draft& draft) {
        if (!hop.interface) return hop.vrf.value_or(route_vrf);
        const PlacedInterface* interface = draft.interface(*hop.interface);
        return interface ? interface->value.vrf : route_vrf;
    }

    [[nodiscard]] std::string text() const { return hop_.value.via->to_string(); }

    void fault(const std::string& where, std::string message, std::string expected, std::string hint = {}) {
        errors_.push_back({where, std::move(message), std::move(expected), std::move(hint)});
    }

    bool usable_address() {
        const IpAddress& via = *hop_.value.via;
        // IPv4 over an IPv6 gateway is RFC 8950; the other way round nobody has.
        if (prefix_ && prefix_->address.is_v6() && via.is_v4()) {
            fault(
                hop_.via_where,
                "gateway " + in_quotes(text()) + " is IPv4, but prefix " + prefix_->to_string() + " is IPv6",
                "an IPv6 address");
            return false;
        }
        if (std::string reason = no_host_address(via); !reason.empty()) {
            fault(hop_.via_where, "gateway " + in_quotes(text()) + " is " + reason,
                  "the address of another router");
            return false;
        }
        if (const auto* own = nets_.with_own_address(via, vrf_);
            own &&
            (!via.is_link_local() || !hop_.value.interface || own->interface == *hop_.value.interface)) {
            fault(hop_.via_where,
                  "gateway " + in_quotes(text()) + " is this router's own address on " +
                      in_quotes(own->interface),
                  "the address of another router", "a route through oneself is a loop");
            return false;
        }
        return true;
    }

    void check_net() {
        const IpAddress& via = *hop_.value.via;
        const std::optional<std::string>& interface = hop_.value.interface;
        auto around = nets_.containing(via, vrf_);
        const ConnectedNets::Net* net = nullptr;
        for (const auto* one : around)
            if (!net && (!interface || one->interface == *interface)) net = one;
        if (net) {
            check_inside(*net);
            if (!interface)
                for (const auto* one : around)
                    if (one->interface != net->interface && via.is_link_local()) {
                        fault(hop_.via_where,
                              in_quotes(text()) + " may be on " + in_quotes(net->interface) + " or " +
                                  in_quotes(one->interface),
                              "\"interface\" beside \"via\"");
                        break;
                    }
        } else if (interface && !around.empty()) {
            fault(at(hop_.where, "interface"),
                  "gateway " + in_quotes(text()) + " is not on " + in_quotes(*interface) + " but in " +
                      around.front()->prefix.to_string(),
                  in_quotes(around.front()->interface), "without \"interface\" it is found by itself");
        } else if (interface && nets_.has(*interface, via.family)) {
            if (!draft_.interface(*interface)->addresses_broken)
                fault(hop_.via_where,
                      "gateway " + in_quotes(text()) + " is on no net of " + in_quotes(*interface),
                      nets_.choice(via.family, *interface));
        }
        // Without an interface and on no net here, a route may lead to it: config/warnings.h looks.
    }

    /// The gateway lies in `net`; can a host have that address, and does the route leave it reachable?
    void check_inside(const ConnectedNets::Net& net) {
        const IpAddress& via = *hop_.value.via;
        if (std::string reserved = reserved_in_net(via, net.prefix); !reserved.empty() && via.is_v4())
            fault(hop_.via_where, "gateway " + in_quotes(text()) + " is " + reserved,
                  "the address of a router in it");
        // As long as the net itself or longer, the route would win over the net for the gateway's own
        // address.
        if (prefix_ && vrf_ == route_vrf_ && prefix_->contains(via) && prefix_->length >= net.prefix.length)
            fault(hop_.via_where,
                  "loop: gateway " + in_quotes(text()) + " lies within the route's own prefix " +
                      prefix_->to_string(),
                  "a gateway outside of it",
                  "packets to " + net.prefix.to_string() + " are delivered on " + in_quotes(net.interface) +
                      " without a route");
    }

    const PlacedNextHop& hop_;
    const std::optional<Prefix>& prefix_;
    const std::string& route_vrf_;
    const std::string vrf_;
    const Draft& draft_;
    const ConnectedNets& nets_;
    Errors& errors_;
};

}  // namespace

void check_next_hops(const std::vector<PlacedNextHop>& next_hops, const std::optional<Prefix>& prefix,
                     const std::string& vrf, const Draft& draft, const ConnectedNets& nets, Errors& errors) {
    using Way = std::tuple<std::optional<IpAddress>, std::optional<std::string>, std::string>;
    std::map<Way, std::string> seen;
    for (const PlacedNextHop& hop : next_hops) {
        NextHopCheck(hop, prefix, vrf, draft, nets, errors).run();
        if (hop.via_broken || (!hop.value.via && !hop.value.interface)) continue;
        auto [first, is_new] =
            seen.try_emplace(Way{hop.value.via, hop.value.interface, hop.value.vrf.value_or(vrf)}, hop.where);
        if (!is_new)
            errors.push_back({hop.where, "the same next hop as " + first->second, "each next hop once",
                              "a larger share is given by \"weight\""});
    }
}

}  // namespace pktpit::config
