// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pktpit::router {
namespace {

/// What a client may still take of its answer once the daemon stops.
constexpr std::chrono::milliseconds farewell{500};

}  // namespace

Connection::Connection(int descriptor, const ConnectionLimits& limits, const std::atomic<bool>& stopping)
    : descriptor_(descriptor),
      limits_(limits),
      stopping_(stopping),
      begin_(Clock::now()),
      request_deadline_(begin_ + std::min(limits.idle_time, limits.request_time)) {}

bool Connection::wait_for(short events, Clock::time_point deadline) const {
    bool farewell_begun = false;
    for (;;) {
        const auto now = Clock::now();
        if (stopping_ && !farewell_begun) {
            deadline = std::min(deadline, now + farewell);
            farewell_begun = true;
        }
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now).count();
        if (left < 0) return false;
        pollfd entry{descriptor_, events, 0};
        // In slices, to see `stopping_`.
        const int ready = ::poll(&entry, 1, static_cast<int>(std::min<long>(left, 100)));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

bool Connection::is_ended_by_client() const {
    pollfd entry{descriptor_, POLLRDHUP, 0};
    return ::poll(&entry, 1, 0) > 0 && (entry.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool Connection::is_readable() const {
    return buffer_start_ < buffer_end_ || wait_for(POLLIN, request_deadline_);
}

bool Connection::is_writable() const {
    return wait_for(POLLOUT, may_pause_ ? Clock::time_point::max() : Clock::now() + limits_.write_progress);
}

ssize_t Connection::read(char* data, size_t size) {
    if (buffer_start_ == buffer_end_) {
        if (received_ >= limits_.request_bytes) return -1;
        ssize_t got = 0;
        do {
            if (!wait_for(POLLIN, request_deadline_)) return -1;
            const size_t room = std::min(buffer_.size(), limits_.request_bytes - received_);
            got = ::recv(descriptor_, buffer_.data(), room, MSG_DONTWAIT);
        } while (got < 0 && (errno == EINTR || errno == EAGAIN));
        if (got <= 0) return got;
        if (received_ == 0) request_deadline_ = begin_ + limits_.request_time;
        received_ += static_cast<size_t>(got);
        buffer_start_ = 0;
        buffer_end_ = static_cast<size_t>(got);
    }
    const size_t count = std::min(size, buffer_end_ - buffer_start_);
    std::memcpy(data, buffer_.data() + buffer_start_, count);
    buffer_start_ += count;
    return static_cast<ssize_t>(count);
}

ssize_t Connection::write(const char* data, size_t size) {
    for (;;) {
        if (!is_writable()) return -1;
        const ssize_t sent = ::send(descriptor_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0 || (errno != EINTR && errno != EAGAIN)) return sent;
    }
}

// A UNIX socket has neither.
void Connection::get_remote_ip_and_port(std::string& ip, int& port) const {
    ip.clear();
    port = 0;
}

void Connection::get_local_ip_and_port(std::string& ip, int& port) const {
    ip.clear();
    port = 0;
}

}  // namespace pktpit::router
