// SPDX-License-Identifier: BSD-3-Clause
/// HTTP/1.1 over a listening socket, UNIX or TCP: cpp-httplib parses, routes and answers; the sockets, their
/// limits and an end without waiting are here, because cpp-httplib 0.11 bounds neither connections nor
/// chunked bodies and its stop() waits for idle clients.
///
/// One thread accepts, and each connection has a thread of its own, so that clients who are slow or silent
/// cost nobody else's time; how many there may be is bounded, in all and of each peer. start() and stop() on
/// one thread; register the handlers before start().
#pragma once

#include <httplib.h>

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "router/api/connection.h"
#include "router/api/peer.h"

namespace pktpit::router {

struct HttpLimits {
    ConnectionLimits connection;
    size_t connections = 64;
    size_t kept_for_root = 8;          ///< of them: root gets in when others have filled the rest
    size_t connections_per_peer = 32;  ///< of a user, or by TCP of an address
    double connections_a_second = 0;   ///< more wait in the kernel's backlog; 0: as many as come
    std::function<bool(const Peer&)> may_connect{};  ///< empty: everybody
};

class HttpServer final : public httplib::Server {
  public:
    explicit HttpServer(HttpLimits limits);
    ~HttpServer() override;

    /// Takes connections from `listener`, which stays the caller's.
    void start(int listener);
    /// Of the request that the calling thread answers: its client has gone, or has closed its side.
    static bool is_ended_by_client();
    /// The answer that the calling thread gives waits for its client while that takes nothing: somebody who
    /// reads it page by page.
    static void let_client_pause();
    /// Who asks, of the request that the calling thread answers.
    static const Peer& peer();
    /// Cuts off requests that have not wholly arrived; gives answers half a second to leave; joins all
    /// threads.
    void close();

  private:
    struct Open {
        Peer peer;
        std::thread thread;
    };
    class Refused;

    void accept_loop(int listener);
    class Pace;
    void take(int descriptor, Refused& refused);
    [[nodiscard]] const char* why_not(const Peer& peer) const;
    void serve(int descriptor, const Peer& peer);
    void join_ended();

    HttpLimits limits_;
    std::atomic<bool> stopping_{false};
    int wake_;  // eventfd: ends the accept loop's poll()
    std::thread acceptor_;
    std::mutex mutex_;
    std::map<int, Open> open_;        // by descriptor
    std::vector<std::thread> ended_;  // to be joined
};

}  // namespace pktpit::router
