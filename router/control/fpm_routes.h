// SPDX-License-Identifier: BSD-3-Clause
/// Routes that FRR's zebra sends by FPM (module dplane_fpm_nl), in the RIB of the VRF whose table they are in
/// (fpm_vrf_routes.h). Listens, takes one connection at a time, and reads it in turns of at most 5 ms: what
/// has not been read waits with zebra, so nothing is ever lost. One thread.
///
/// Routes outlive their connection. When zebra has connected anew and has not repeated one of them for
/// /fpm/stale_hold_s, those that it did not repeat go.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/fd.h"
#include "config/config.h"
#include "router/control/descriptor_watcher.h"
#include "router/control/event_log.h"
#include "router/control/fpm_vrf_routes.h"
#include "router/control/transaction.h"
#include "router/fpm/fpm_socket.h"
#include "router/fpm/fpm_table.h"
#include "router/fpm/fpm_updates.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// Opens the socket that zebra connects to: fpm_listen(), or what a test has instead.
using ListenForZebra = std::function<Result<Fd>(const IpAddress& address, uint16_t port)>;

class FpmRoutes : private FpmUpdates::Receiver {
  public:
    using Clock = std::chrono::steady_clock;

    FpmRoutes(Routing& routing, DescriptorWatcher& watcher, EventLog& events, ListenForZebra listen);
    ~FpmRoutes() override;
    [[nodiscard]] size_t memory_bytes() const { return sum(&FpmTable::memory_bytes); }
    FpmRoutes(const FpmRoutes&) = delete;
    FpmRoutes& operator=(const FpmRoutes&) = delete;

    /// Listens as is wanted; on an Error as before. What else changes changes when the transaction is
    /// committed.
    Result<void> configure(const config::Fpm& wanted, const config::Vrfs& vrfs, Transaction& transaction);
    /// Interfaces came or went: where the next hops lead is decided anew, whatever the number of routes.
    void refresh();
    /// Every 100 ms.
    void tick(Clock::time_point now);

    /// RTPROT_* of the route that zebra has sent for exactly this prefix of the VRF.
    [[nodiscard]] std::optional<uint8_t> protocol_of(const Prefix& prefix, const std::string& vrf) const;
    /// For `show fpm`: the shape is docs/api.md's.
    [[nodiscard]] nlohmann::json show() const;

  private:
    struct Session {
        explicit Session(FpmPeer accepted)
            : name(accepted.to_string()), address(accepted.address), stream(std::move(accepted.connection)) {}
        std::string name;
        IpAddress address;
        FpmStream stream;
        Clock::time_point since = Clock::now();
    };
    struct Counters {
        uint64_t connections = 0;
        uint64_t refused = 0;  ///< connections
        uint64_t errors = 0;   ///< of the framing: the connection was closed
        uint64_t swept = 0;    ///< routes
        uint64_t turns = 0;
        std::chrono::nanoseconds longest_turn{0};
    };

    void route(const RouteEvent& event) override;
    void next_hop(const NextHopEvent& event) override;

    void committed(const config::Fpm& wanted, const config::Vrfs& vrfs, Fd listener);
    bool set_vrfs(const config::Vrfs& vrfs);
    void accept();
    void refuse_connection(const std::string& why);
    void read();
    void disconnect(const std::string& why, bool is_error);
    void work();
    void mend();
    void wake();
    void begin_epoch();
    /// Until one says that it is not done.
    bool each(const std::function<bool(FpmTable& table)>& done);
    [[nodiscard]] size_t sum(size_t (FpmTable::*count)() const) const;
    [[nodiscard]] size_t routes() const { return routes(Family::ipv4) + routes(Family::ipv6); }
    [[nodiscard]] size_t routes(Family family) const;
    [[nodiscard]] size_t stale() const { return sum(&FpmTable::stale); }
    [[nodiscard]] size_t next_hop_sets() const;
    [[nodiscard]] uint64_t repeated() const;

    Routing& routing_;
    DescriptorWatcher& watcher_;
    EventLog& events_;
    ListenForZebra listen_;
    FpmShortfalls shortfalls_;
    std::map<std::string, std::unique_ptr<FpmVrfRoutes>> vrfs_;  ///< by name; the default one's is ""
    std::unordered_map<uint32_t, FpmVrfRoutes*> by_table_;       ///< the same, by zebra's number of the table
    uint64_t ignored_ = 0;                                       ///< routes of tables that are no VRF's
    FpmUpdates updates_;
    config::Fpm settings_;
    config::Vrfs configured_vrfs_;
    Fd listener_;
    Fd work_;  ///< an eventfd, readable as long as there is something that no other descriptor tells of
    std::unique_ptr<Session> session_;
    Counters counters_;
    std::string last_error_;
    std::optional<Clock::time_point> refusal_told_;
    bool watching_work_ = false;
    bool sweeping_ = false;
    bool repeating_ = false;
    bool read_next_ = false;  ///< in turns: what is left of the stream, what is to be swept
    uint64_t repeated_ = 0;   ///< FpmTable::repeated() when it was looked at last
    std::optional<Clock::time_point>
        quiet_since_;  ///< nothing was repeated; absent: no connection, or nothing is stale
};

}  // namespace pktpit::router
