// SPDX-License-Identifier: BSD-3-Clause
/// The API: HTTP and JSON over a UNIX socket (docs/api.md). Owned by the daemon, which implements Control.
///
/// Requests are parsed and answers are written on threads of the server's own; Control is called on the
/// daemon's loop thread alone, by way of the executor. The server never touches the data path, and bounds
/// what a client can make it read, hold and wait for.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "router/api/control.h"

namespace pktpit::router {

class ApiServer {
  public:
    /// Runs a closure on the loop thread, in order, later or at once; may be called from any thread. Closures
    /// that it holds when the daemon ends may be run or dropped: after stop() they do nothing.
    using Executor = std::function<void(std::function<void()>)>;

    struct Limits {
        std::chrono::milliseconds patience{10'000};      ///< until the loop starts on a request; then 503
        std::chrono::milliseconds request_time{10'000};  ///< for a request to arrive whole
        std::chrono::milliseconds idle_time{2'000};      ///< for it to begin
        /// For a client to take some more of its answer. One in chunks has no limit: a pager may read it.
        std::chrono::milliseconds write_progress{10'000};
        size_t connections_per_user = 32;
    };

    /// Told of each change that was asked for, of what became of it as an HTTP status, and of traces and
    /// captures that begin. On the API's threads, several at once.
    using Audit = std::function<void(const Peer& by, const std::string& what, int status)>;

    /// `control` must live until stop() has returned.
    ApiServer(Control& control, Executor executor, const Limits& limits, Audit audit = {});
    ApiServer(Control& control, Executor executor);
    ~ApiServer();  ///< stop()
    ApiServer(const ApiServer&) = delete;
    ApiServer& operator=(const ApiServer&) = delete;

    /// Binds `socket_path` (mode 0660, of that group) and serves. An Error if another daemon listens there; a
    /// socket that a dead one left is replaced. Once only.
    Result<void> listen(const std::string& socket_path, std::optional<gid_t> group = {});

    /// Answers waiting requests with 503, gives answers under way half a second, removes the socket. Call it
    /// on the loop thread, or on another while the loop still runs; never from within a call of Control.
    void stop();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::router
