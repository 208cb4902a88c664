// SPDX-License-Identifier: BSD-3-Clause
/// HTTP/1.1 over a listening UNIX socket: cpp-httplib parses, routes and answers; the sockets, their limits
/// and an end without waiting are here, because cpp-httplib 0.11 bounds neither connections nor chunked
/// bodies and its stop() waits for idle clients.
///
/// One thread accepts, a few work. start() and stop() on one thread; register the handlers before start().
#pragma once

#include <httplib.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "router/api/connection.h"

namespace pktpit::router {

class HttpServer final : public httplib::Server {
  public:
    static constexpr size_t worker_count = 8;  ///< half of them for streams that last
    static constexpr size_t max_connections = 64;

    explicit HttpServer(const ConnectionLimits& limits);
    ~HttpServer() override;

    /// Takes connections from `listener`, which stays the caller's.
    void start(int listener);
    /// Of the request that the calling thread answers: its client has gone, or has closed its side.
    static bool is_ended_by_client();
    /// Cuts off requests that have not wholly arrived; gives answers half a second to leave; joins all
    /// threads.
    void close();

  private:
    void accept_loop(int listener);
    void serve(int descriptor);

    ConnectionLimits limits_;
    std::atomic<bool> stopping_{false};
    int wake_;  // eventfd: ends the accept loop's poll()
    std::unique_ptr<httplib::ThreadPool> workers_;
    std::thread acceptor_;
    std::mutex mutex_;
    std::set<int> open_;
};

}  // namespace pktpit::router
