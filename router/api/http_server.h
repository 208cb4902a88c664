// SPDX-License-Identifier: BSD-3-Clause
/// HTTP/1.1 over a listening UNIX socket: cpp-httplib parses, routes and answers; the sockets, their limits
/// and an end without waiting are here, because cpp-httplib 0.11 bounds neither connections nor chunked
/// bodies and its stop() waits for idle clients.
///
/// One thread accepts, and each connection has a thread of its own, so that clients who are slow or silent
/// cost nobody else's time; how many there may be is bounded, in all and of each user. start() and stop() on
/// one thread; register the handlers before start().
#pragma once

#include <httplib.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "router/api/connection.h"
#include "router/api/peer.h"

namespace pktpit::router {

class HttpServer final : public httplib::Server {
  public:
    static constexpr size_t max_connections = 64;
    static constexpr size_t kept_for_root = 8;  ///< of them: root gets in when others have filled the rest

    HttpServer(const ConnectionLimits& limits, size_t connections_per_user);
    ~HttpServer() override;

    /// Takes connections from `listener`, which stays the caller's.
    void start(int listener);
    /// Of the request that the calling thread answers: its client has gone, or has closed its side.
    static bool is_ended_by_client();
    /// Who asks, of the request that the calling thread answers.
    static const Peer& peer();
    /// Cuts off requests that have not wholly arrived; gives answers half a second to leave; joins all
    /// threads.
    void close();

  private:
    struct Open {
        uid_t uid;
        std::thread thread;
    };
    class Refused;

    void accept_loop(int listener);
    void take(int descriptor, Refused& refused);
    [[nodiscard]] const char* why_not(const Peer& peer) const;
    void serve(int descriptor, const Peer& peer);
    void join_ended();

    ConnectionLimits limits_;
    size_t connections_per_user_;
    std::atomic<bool> stopping_{false};
    int wake_;  // eventfd: ends the accept loop's poll()
    std::thread acceptor_;
    std::mutex mutex_;
    std::map<int, Open> open_;        // by descriptor
    std::vector<std::thread> ended_;  // to be joined
};

}  // namespace pktpit::router
