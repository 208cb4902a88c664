// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/service_manager.h"

#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace pktpit::router {
namespace {

constexpr std::chrono::milliseconds retry_period{250};

}  // namespace

ServiceManager::ServiceManager(EventLoop& loop) {
    const char* named = std::getenv("NOTIFY_SOCKET");
    if (!named || !*named) return;
    const std::string_view path = named;
    if (path.size() >= sizeof address_.sun_path) {
        spdlog::warn("NOTIFY_SOCKET: {}: longer than an address can be; the service manager is told nothing",
                     path);
        return;
    }
    address_.sun_family = AF_UNIX;
    path.copy(address_.sun_path, path.size());
    if (path.front() == '@') address_.sun_path[0] = '\0';  // an abstract address
    address_bytes_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
    socket_ = Fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

    loop.on_tick(retry_period, [this] { tell_what_waits(); });
    uint64_t microseconds = 0;
    if (sd_watchdog_enabled(0, &microseconds) <= 0) return;
    loop.on_tick(std::chrono::milliseconds(std::max<uint64_t>(1, microseconds / 2000)),
                 [this] { feed_watchdog(); });
}

void ServiceManager::tell(std::string state) {
    if (!address_bytes_) return;
    waiting_ = std::move(state);
    tell_what_waits();
}

int ServiceManager::send(const std::string& state) const {
    const ssize_t sent = ::sendto(socket_.get(), state.data(), state.size(), MSG_NOSIGNAL,
                                  reinterpret_cast<const sockaddr*>(&address_), address_bytes_);
    return sent < 0 ? errno : 0;
}

void ServiceManager::feed_watchdog() {
    feed_waits_ = send("WATCHDOG=1") == EAGAIN;
}

void ServiceManager::tell_what_waits() {
    if (feed_waits_) feed_watchdog();
    if (waiting_.empty()) return;
    const int error = send(waiting_);
    if (error == EAGAIN) return;
    if (error) spdlog::warn("the service manager was not told {}: {}", waiting_, std::strerror(error));
    waiting_.clear();
}

}  // namespace pktpit::router
