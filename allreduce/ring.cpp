// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/ring.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <thread>

namespace pktpit::allreduce {
namespace {

using Clock = std::chrono::steady_clock;
/// A peer that takes and gives nothing for so long is gone.
constexpr int patience_ms = 30000;

std::string error_text(int error) {
    return std::strerror(error);
}

std::optional<sockaddr_in> endpoint_of(const std::string& text) {
    const size_t colon = text.rfind(':');
    sockaddr_in out{};
    uint16_t port = 0;
    out.sin_family = AF_INET;
    if (colon == std::string::npos || inet_pton(AF_INET, text.substr(0, colon).c_str(), &out.sin_addr) != 1)
        return {};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, port);
    if (error != std::errc{} || stop != end || port == 0) return {};
    out.sin_port = htons(port);
    return out;
}

int32_t added(int32_t one, int32_t other) {
    return static_cast<int32_t>(static_cast<uint32_t>(one) + static_cast<uint32_t>(other));
}

float added(float one, float other) {
    return one + other;
}

void set_up(int socket) {
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Ring::~Ring() {
    close();
}

void Ring::close() {
    for (int* socket : {&next_, &before_}) {
        if (*socket >= 0) ::close(*socket);
        *socket = -1;
    }
}

std::string Ring::open(const std::vector<std::string>& peers, unsigned worker,
                       std::chrono::milliseconds longest) {
    close();
    worker_ = worker;
    workers_ = static_cast<unsigned>(peers.size());
    if (worker >= workers_) return "there is no peer " + std::to_string(worker);
    if (workers_ == 1) return {};
    const auto own = endpoint_of(peers[worker]);
    const std::string& next = peers[(worker + 1) % workers_];
    const auto to = endpoint_of(next);
    if (!own || !to) return "'" + (own ? next : peers[worker]) + "' is no ADDRESS:PORT";
    const auto until = Clock::now() + longest;

    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    std::string why;
    if (bind(listener, reinterpret_cast<const sockaddr*>(&*own), sizeof *own) != 0 ||
        listen(listener, 4) != 0)
        why = "cannot listen at " + peers[worker] + ": " + error_text(errno);
    while (why.empty() && (next_ < 0 || before_ < 0)) {
        if (Clock::now() >= until)
            why = next_ < 0 ? "peer " + next + " does not answer" : "no connection from the peer before";
        if (next_ < 0) {
            next_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (connect(next_, reinterpret_cast<const sockaddr*>(&*to), sizeof *to) != 0) {
                ::close(next_);
                next_ = -1;
            }
        }
        pollfd waiting{listener, POLLIN, 0};
        if (before_ < 0 && poll(&waiting, 1, 50) > 0)
            before_ = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (next_ < 0 && before_ >= 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ::close(listener);
    if (!why.empty()) {
        close();
        return why;
    }
    set_up(next_);
    set_up(before_);
    return {};
}

// Both ways at once: each waits for the one before, and nobody for nobody.
std::string Ring::exchange(std::span<const std::byte> to_send, std::span<std::byte> to_receive) {
    while (!to_send.empty() || !to_receive.empty()) {
        std::array<pollfd, 2> waiting{pollfd{to_send.empty() ? -1 : next_, POLLOUT, 0},
                                      pollfd{to_receive.empty() ? -1 : before_, POLLIN, 0}};
        if (poll(waiting.data(), waiting.size(), patience_ms) <= 0) return "a peer of the ring is silent";
        if (waiting[0].revents != 0) {
            const ssize_t sent = ::send(next_, to_send.data(), to_send.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN) return "the next peer of the ring is gone: " + error_text(errno);
            if (sent > 0) to_send = to_send.subspan(static_cast<size_t>(sent));
        }
        if (waiting[1].revents != 0) {
            const ssize_t received = ::recv(before_, to_receive.data(), to_receive.size(), 0);
            if (received == 0 || (received < 0 && errno != EAGAIN))
                return "the peer before in the ring is gone";
            if (received > 0) to_receive = to_receive.subspan(static_cast<size_t>(received));
        }
    }
    return {};
}

template <class Number>
std::string Ring::sum_of(std::span<Number> values) {
    if (workers_ <= 1) return {};
    const auto part = [&](unsigned index) {
        const size_t first = values.size() * (index % workers_) / workers_;
        return values.subspan(first, values.size() * (index % workers_ + 1) / workers_ - first);
    };
    for (unsigned step = 0; step + 1 < workers_; step++) {
        const auto own = part(worker_ + 2 * workers_ - step - 1);
        received_.resize(own.size_bytes());
        if (auto why = exchange(std::as_bytes(part(worker_ + workers_ - step)), received_); !why.empty())
            return why;
        for (size_t i = 0; i < own.size(); i++) {
            Number other{};
            std::memcpy(&other, received_.data() + i * sizeof other, sizeof other);
            own[i] = added(own[i], other);
        }
    }
    for (unsigned step = 0; step + 1 < workers_; step++)
        if (auto why = exchange(std::as_bytes(part(worker_ + 1 + workers_ - step)),
                                std::as_writable_bytes(part(worker_ + workers_ - step)));
            !why.empty())
            return why;
    return {};
}

std::string Ring::sum(std::span<int32_t> values) {
    return sum_of(values);
}

std::string Ring::sum(std::span<float> values) {
    return sum_of(values);
}

}  // namespace pktpit::allreduce
