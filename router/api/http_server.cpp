// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/http_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

namespace pktpit::router {
namespace {

thread_local const Connection* current = nullptr;

}  // namespace

HttpServer::HttpServer(const ConnectionLimits& limits)
    : limits_(limits), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

HttpServer::~HttpServer() {
    close();
    if (wake_ >= 0) ::close(wake_);
}

void HttpServer::start(int listener) {
    svr_sock_ = listener;  // cpp-httplib ends answers in chunks when there is none
    workers_ = std::make_unique<httplib::ThreadPool>(worker_count);
    acceptor_ = std::thread([this, listener] { accept_loop(listener); });
}

void HttpServer::close() {
    if (!acceptor_.joinable()) return;
    stopping_ = true;
    svr_sock_ = INVALID_SOCKET;
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
    acceptor_.join();
    {
        const std::lock_guard lock(mutex_);
        // Reading ends at once; what is being answered may still go out.
        for (const int descriptor : open_)
            ::shutdown(descriptor, SHUT_RD);
    }
    workers_->shutdown();
    workers_.reset();
}

bool HttpServer::is_ended_by_client() {
    return current && current->is_ended_by_client();
}

void HttpServer::accept_loop(int listener) {
    while (!stopping_) {
        bool full = false;
        {
            const std::lock_guard lock(mutex_);
            full = open_.size() >= max_connections;
        }
        // While full, further clients wait in the kernel's backlog.
        pollfd entries[2] = {{wake_, POLLIN, 0}, {full ? -1 : listener, POLLIN, 0}};
        if (::poll(entries, 2, full ? 10 : 1000) < 0 && errno != EINTR) return;
        if (full || stopping_ || !(entries[1].revents & POLLIN)) continue;
        const int descriptor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (descriptor < 0) {
            // Out of descriptors or memory: the client stays in the backlog, and so poll() would not wait.
            if (errno != EAGAIN && errno != EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(50));
            continue;
        }
        {
            const std::lock_guard lock(mutex_);
            open_.insert(descriptor);
        }
        workers_->enqueue([this, descriptor] { serve(descriptor); });
    }
}

void HttpServer::serve(int descriptor) {
    Connection connection(descriptor, limits_, stopping_);
    current = &connection;
    bool closed = false;
    process_request(connection, true, closed, [](httplib::Request& request) {
        // A body without a length would last until the client hangs up; RFC 9112 6.3: it is empty.
        if (!request.has_header("Content-Length") && !request.has_header("Transfer-Encoding")) {
            request.set_header("Content-Length", "0");
        }
        // JSON is all that bodies are, whatever curl says; and never compressed, since a body's limit is
        // checked before it is unpacked.
        request.headers.erase("Content-Type");
        request.headers.erase("Content-Encoding");
        // Answers are whole: a part of JSON is none.
        request.headers.erase("Range");
        request.ranges.clear();
    });
    current = nullptr;
    ::shutdown(descriptor, SHUT_WR);
    const std::lock_guard lock(mutex_);
    open_.erase(descriptor);
    ::close(descriptor);
}

}  // namespace pktpit::router
