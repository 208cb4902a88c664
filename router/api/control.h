// SPDX-License-Identifier: BSD-3-Clause
/// What the API can ask of the daemon. Implemented by the daemon, called by the API server; on the daemon's
/// own thread (the server hands calls over), so an implementation needs no locks, but for reload().
///
/// Every answer is a JSON value whose shape docs/api.md fixes; the CLI prints it as it is with --json.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "config/config.h"
#include "router/api/peer.h"
#include "router/observe/request.h"
#include "router/observe/stream.h"

namespace pktpit::router {

struct RouteQuery {
    std::optional<Family> family;
    std::optional<std::string> source;  ///< "connected", "config", "cli", "fpm", "kernel"
    std::optional<Prefix> within;       ///< only prefixes inside this one
    size_t limit = 1000;                ///< prefixes; the answer says how many routes there are in all
    std::optional<Prefix> after{};      ///< only prefixes behind this one in prefix order: the next page
    std::string vrf{};                  ///< whose routes; empty: the default VRF's
};

/// What is asked about addresses.
struct AddressQuery {
    std::vector<IpAddress> addresses;
    std::string vrf{};  ///< in whose routes; empty: the default VRF's
};

/// An answer that may be long. It is made in pieces, each of a few milliseconds on the daemon's own thread;
/// between two of them everybody else has their turn. It holds where it is and not what it has yet to say.
class LongAnswer {
  public:
    virtual ~LongAnswer() = default;  ///< any thread, while no piece is being made
    struct Piece {
        std::string text;
        bool last = false;
    };
    virtual Piece next() = 0;  ///< on the daemon's thread; not after the last one
};

enum class RouteEdit { add, replace, remove };  ///< add: an error if the CLI's route is there already

struct ReloadOrder {
    std::optional<std::string> path{};  ///< absolute; none: the file that was loaded last
    bool dry_run = false;               ///< only says what would change
    std::optional<uint32_t>
        confirm_s{};  ///< goes back by itself unless it is confirmed within so many seconds
    /// One that was applied before, instead of a file: 1 is the one before the running one.
    std::optional<size_t> back{};
    std::optional<uint64_t> number{};  ///< the same by its number: the daemon's own way back
    std::optional<Peer> by{};          ///< none: the machine's own administrator, by a signal
};

/// A reload that was not made.
struct ReloadRefusal {
    enum class Why {
        wrong,      ///< the file, or something in it
        forbidden,  ///< not from there, by whoever asks
        busy,       ///< another is under way, or the daemon stops
    };
    config::Errors errors;
    bool unchanged = true;  ///< false: something could not be put back as it was, which `errors` say
    Why why = Why::wrong;
    std::vector<size_t>
        lines{};  ///< of the file, one for each of `errors` where it is known, else 0; or none at all
};

/// Everything that the daemon counts, as it was read in one go on its thread. Making text of it takes longer,
/// and is any thread's.
class MetricsReading {
  public:
    virtual ~MetricsReading() = default;
    /// Prometheus' text format: families of samples, each with its help and type.
    [[nodiscard]] virtual std::string text() const = 0;
};

/// What is asked about configurations that were applied.
struct ConfigsQuery {
    std::optional<size_t> back;  ///< one of them: 0 is the newest; none: which there are
    bool difference = false;     ///< from that one to the newest, instead of its text
};

class Control {
  public:
    virtual ~Control() = default;
    virtual nlohmann::json version() = 0;
    virtual nlohmann::json ports() = 0;
    using Begun = Result<std::unique_ptr<LongAnswer>>;
    // Errors of what names a VRF: there is none of that name.
    /// One page, a JSON object.
    virtual Begun routes(const RouteQuery& query) = 0;
    /// JSON lines: a route each, and the end.
    virtual Begun all_routes(const RouteQuery& query) = 0;
    /// JSON objects. Of the query the VRF alone is looked at.
    virtual Begun routes_summary(const RouteQuery& query) = 0;
    virtual std::unique_ptr<LongAnswer> next_hop_groups() = 0;
    /// Which there are, with their interfaces and numbers of routes.
    virtual nlohmann::json vrfs() = 0;
    /// With their rules and what these have counted.
    virtual nlohmann::json filters() = 0;
    /// Of the one address: all candidates of the longest matching prefix, the chosen next hop's adjacency and
    /// where a packet would go.
    virtual Result<nlohmann::json> route_to(const AddressQuery& query) = 0;
    /// The FIB's answer for each address: prefix matched and next hops.
    virtual Result<nlohmann::json> lookup(const AddressQuery& query) = 0;
    virtual nlohmann::json neighbours() = 0;
    /// The connection of FRR's zebra, and what came by it.
    virtual nlohmann::json fpm() = 0;
    /// Groups whose vectors the router adds, and their workers.
    virtual nlohmann::json aggregation() = 0;
    /// The kernel's routes that are not followed, and why.
    virtual nlohmann::json ignored_routes() = 0;
    /// Of the control plane: those behind this one (0: all that are kept).
    virtual nlohmann::json events(const uint64_t& after) = 0;
    /// What the daemon needs memory for: by part, measured or computed.
    virtual nlohmann::json memory() = 0;
    /// What of the machine somebody else has changed.
    virtual nlohmann::json drift() = 0;
    virtual nlohmann::json counters() = 0;
    virtual nlohmann::json latency() = 0;
    virtual nlohmann::json workers() = 0;
    /// What auto ports' stages hold: how much, how well it is chosen; and each entry.
    virtual nlohmann::json offload() = 0;
    virtual nlohmann::json offload_entries() = 0;
    virtual nlohmann::json running_config() = 0;
    virtual std::unique_ptr<MetricsReading> metrics() = 0;
    /// Begins to observe packets, for one client; what that yields comes by the stream.
    virtual Result<std::shared_ptr<ObservationStream>> observe(const ObservationRequest& request) = 0;
    /// Changes a route of source `cli`.
    virtual Result<nlohmann::json> change_route(RouteEdit change, const config::StaticRoute& route) = 0;
    /// Changes all of these or none. `where` of an error is the JSON pointer of its route, as /routes/7.
    virtual tl::expected<nlohmann::json, config::Errors> change_routes(
        RouteEdit change, const std::vector<config::StaticRoute>& routes) = 0;
    /// Loads the configuration file again (or another one) and applies it as a transaction. Unlike all others
    /// it is called on a thread of the API's own, any of them, and waits: files are read and checked on
    /// neither that thread nor the loop's.
    virtual tl::expected<nlohmann::json, ReloadRefusal> reload(const ReloadOrder& order) = 0;
    /// As reload(), on a thread of the API's. The reload that waits to be confirmed stays. Error: none does.
    virtual Result<nlohmann::json> confirm() = 0;
    /// As reload(), on a thread of the API's. Error: that one is not kept.
    virtual Result<nlohmann::json> configs(const ConfigsQuery& query) = 0;
};

}  // namespace pktpit::router
