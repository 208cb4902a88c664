// SPDX-License-Identifier: BSD-3-Clause
/// What systemd, or another service manager, is told, in the words of sd_notify(3). libsystemd's sd_notify()
/// waits while the manager's queue is full, so that a manager that hangs would hold up the loop. This never
/// waits. All of it on the loop's thread.
#pragma once

#include <sys/un.h>

#include <string>

#include "base/fd.h"
#include "router/daemon/event_loop.h"

namespace pktpit::router {

class ServiceManager {
  public:
    /// The environment names it: NOTIFY_SOCKET; without, nobody is told anything. With WATCHDOG_USEC the loop
    /// feeds its watchdog from now on: a loop that stands still for as long is started again.
    explicit ServiceManager(EventLoop& loop);
    ServiceManager(const ServiceManager&) = delete;
    ServiceManager& operator=(const ServiceManager&) = delete;
    /// Tries once more what still waits.
    ~ServiceManager() { tell_what_waits(); }

    /// READY=1, RELOADING=1 or STOPPING=1. A manager that has no room for it is told soon after it has some
    /// again: the newest state.
    void tell(std::string state);

  private:
    void feed_watchdog();
    void tell_what_waits();
    /// An errno; EAGAIN: the manager has no room.
    [[nodiscard]] int send(const std::string& state) const;

    Fd socket_;
    sockaddr_un address_{};
    socklen_t address_bytes_ = 0;
    std::string waiting_;
    bool feed_waits_ = false;
};

}  // namespace pktpit::router
