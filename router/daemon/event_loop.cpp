// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/event_loop.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace pktpit::router {
namespace {

Fd checked(int fd, const char* what) {
    if (fd < 0) throw std::system_error(errno, std::system_category(), what);
    return Fd(fd);
}

}  // namespace

EventLoop::EventLoop() {
    sigset_t handled;
    sigemptyset(&handled);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2})
        sigaddset(&handled, signal);
    pthread_sigmask(SIG_BLOCK, &handled, nullptr);
    epoll_ = checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    wakeup_ = checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd");
    signal_fd_ = checked(signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
    watch(wakeup_.get(), [this] { drain(); });
    watch(signal_fd_.get(), [this] { read_signals(); });
}

void EventLoop::watch(int descriptor, Callback readable) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
        throw std::system_error(errno, std::system_category(), "epoll_ctl");
    callbacks_[descriptor] = std::make_shared<Callback>(std::move(readable));
}

void EventLoop::unwatch(int descriptor) {
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
    callbacks_.erase(descriptor);
}

void EventLoop::on_tick(std::chrono::milliseconds period, Callback tick) {
    const auto timer = std::make_shared<Fd>(
        checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create"));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(period);
    itimerspec spec{};
    spec.it_interval.tv_sec = seconds.count();
    spec.it_interval.tv_nsec = std::chrono::nanoseconds(period - seconds).count();
    spec.it_value = spec.it_interval;
    timerfd_settime(timer->get(), 0, &spec, nullptr);
    watch(timer->get(), [timer, tick = std::move(tick)] {
        uint64_t expirations = 0;
        if (read(timer->get(), &expirations, sizeof expirations) == sizeof expirations) tick();
    });
}

void EventLoop::post(Callback closure) {
    {
        const std::lock_guard lock(mutex_);
        posted_.push_back(std::move(closure));
    }
    const uint64_t one = 1;
    // It only fails when the counter is full, and then the loop is awake already.
    [[maybe_unused]] const auto written = write(wakeup_.get(), &one, sizeof one);
}

void EventLoop::aside(const Callback& work, const Callback& then) {
    side_.run([this, work, then] {
        try {
            work();
        } catch (...) {
            post(then);
            throw;
        }
        post(then);
    });
}

void EventLoop::drain() {
    uint64_t count = 0;
    [[maybe_unused]] const auto got = read(wakeup_.get(), &count, sizeof count);
    std::vector<Callback> closures;
    {
        const std::lock_guard lock(mutex_);
        closures.swap(posted_);
    }
    for (const auto& closure : closures)
        closure();
}

void EventLoop::read_signals() {
    signalfd_siginfo info{};
    while (read(signal_fd_.get(), &info, sizeof info) == sizeof info)
        if (const auto found = signals_.find(static_cast<int>(info.ssi_signo)); found != signals_.end())
            found->second();
}

bool EventLoop::asked_to_stop() {
    sigset_t waiting;
    return sigpending(&waiting) == 0 &&
           (sigismember(&waiting, SIGTERM) == 1 || sigismember(&waiting, SIGINT) == 1);
}

void EventLoop::run() {
    running_ = true;
    std::array<epoll_event, 64> events{};
    while (running_) {
        const int patience = turns_.empty() ? -1 : 0;
        const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), patience);
        if (count < 0 && errno != EINTR) throw std::system_error(errno, std::system_category(), "epoll_wait");
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < count && running_; i++) {
            // Another callback of this turn may have ended the watch, and this one may end its own.
            const auto found = callbacks_.find(events[static_cast<size_t>(i)].data.fd);
            if (found == callbacks_.end()) continue;
            const auto callback = found->second;
            (*callback)();
        }
        if (running_) take_turns();
        turn_times_.add(static_cast<uint64_t>((std::chrono::steady_clock::now() - begin).count()), 1);
    }
}

void EventLoop::take_turns() {
    for (const auto& turn : std::exchange(turns_, {}))
        turn();
}

}  // namespace pktpit::router
