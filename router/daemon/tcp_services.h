// SPDX-License-Identifier: BSD-3-Clause
/// The daemon's TCP ports that only answer (/metrics and /web of the configuration), kept as the
/// configuration has them: what it newly wants is opened before anything else of it is touched, so that a
/// refusal changes nothing, and answers once all is applied. The daemon's thread.
#pragma once

#include <memory>
#include <optional>

#include "config/config.h"
#include "router/api/tcp_server.h"
#include "router/daemon/event_loop.h"

namespace pktpit::router {

class TcpServices {
  public:
    TcpServices(EventLoop& loop, Control& control) : loop_(loop), control_(control) {}
    ~TcpServices() { stop(); }
    TcpServices(const TcpServices&) = delete;
    TcpServices& operator=(const TcpServices&) = delete;

    /// What has been opened for a configuration, or is to be closed; thrown away, nothing has happened.
    class Change {
        friend class TcpServices;
        // Present: takes the place of what is there.
        std::optional<std::unique_ptr<TcpServer>> metrics_, web_;
    };
    /// Error: a port is taken.
    Result<Change> open(const config::Config& wanted);
    void commit(Change change);
    /// No more requests, before the daemon ends. Waits for clients, up to half a second.
    void stop();

  private:
    using Server = std::unique_ptr<TcpServer>;
    Result<std::optional<Server>> open_one(TcpServer::Kind kind, const config::TcpService& wanted,
                                           const Server& now);
    void replace(Server& now, std::optional<Server> next);

    EventLoop& loop_;
    Control& control_;
    Server metrics_, web_;
};

}  // namespace pktpit::router
