// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/rx_sleep.h"

#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "router/dpdk/eal_log.h"

namespace pktpit::router {
RxSleep::RxSleep()
    : epoll_(epoll_create1(EPOLL_CLOEXEC)),
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = nullptr;  // rte_epoll_wait() passes over it
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, timer_.get(), &event);
}

bool RxSleep::add_interrupt(uint16_t device, uint16_t queue) {
    const EalWords unheard;  // most virtual devices have none
    if (rte_eth_dev_rx_intr_enable(device, queue) != 0) return false;
    (void)rte_eth_dev_rx_intr_disable(device, queue);
    if (rte_eth_dev_rx_intr_ctl_q(device, queue, epoll_.get(), RTE_INTR_EVENT_ADD, nullptr) != 0)
        return false;
    queues_.push_back({device, queue});
    return true;
}

void RxSleep::remove_interrupts(uint16_t device) {
    const EalWords unheard;
    std::erase_if(queues_, [&](const Queue& one) {
        if (one.device != device) return false;
        (void)rte_eth_dev_rx_intr_ctl_q(device, one.queue, epoll_.get(), RTE_INTR_EVENT_DEL, nullptr);
        return true;
    });
}

void RxSleep::arm(bool polled) {
    for (const auto& [device, queue] : queues_)
        (void)rte_eth_dev_rx_intr_enable(device, queue);
    if (!polled) return;
    itimerspec when{};
    when.it_value.tv_nsec = std::chrono::nanoseconds(nap_).count();
    timerfd_settime(timer_.get(), 0, &when, nullptr);
    nap_ = std::min(nap_ * 2, longest_nap);
}

void RxSleep::disarm() {
    const itimerspec never{};
    timerfd_settime(timer_.get(), 0, &never, nullptr);  // takes an expiration that was not read with it
    for (const auto& [device, queue] : queues_)
        (void)rte_eth_dev_rx_intr_disable(device, queue);
    // What the drivers have rung is read by DPDK, which knows how.
    if (queues_.empty()) return;
    std::array<rte_epoll_event, 16> events;
    (void)rte_epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
}

}  // namespace pktpit::router
