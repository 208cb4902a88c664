// SPDX-License-Identifier: BSD-3-Clause
/// A TCP port at which the daemon answers questions, and changes nothing: /metrics of the configuration, and
/// /web, the page to look at with the API's readers that it asks. It knows GET alone, takes connections from
/// whom the configuration names, refuses requests for other machines' names, and bounds what all its clients
/// together can make the daemon do.
///
/// Owned by the daemon; its own threads answer. open(), start() and stop() on any one thread; stop() waits up
/// to half a second for clients, so not on the daemon's.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "config/config.h"
#include "router/api/control.h"

namespace pktpit::router {

class TcpServer {
  public:
    enum class Kind { metrics, web };
    using Executor = std::function<void(std::function<void()>)>;

    /// Listens, and answers nobody yet. `before`: the one that it will follow; where that listens at the same
    /// place, they share the socket. Error at /metrics/listen or /web/listen: the place is taken, or none of
    /// this machine's.
    static Result<std::unique_ptr<TcpServer>> open(Kind kind, const config::TcpService& settings,
                                                   Control& control, Executor executor,
                                                   const TcpServer* before = nullptr);
    ~TcpServer();  ///< stop()
    TcpServer(const TcpServer&) = delete;
    TcpServer& operator=(const TcpServer&) = delete;

    void start();
    /// Requests that wait for the daemon's loop are answered with 503.
    void stop();
    [[nodiscard]] const config::TcpService& settings() const;

  private:
    struct State;
    explicit TcpServer(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::router
