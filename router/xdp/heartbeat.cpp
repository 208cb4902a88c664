// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/heartbeat.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "router/dataplane/kernel_forwarding.h"

namespace pktpit::router {
namespace {

constexpr uint64_t millisecond = 1'000'000;
constexpr uint64_t second = 1'000'000'000;
// A tick is due every 100 ms: what a busy machine does to it is no news.
constexpr uint64_t long_pause = second;

void store(uint32_t& word, uint32_t value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}

template <class Word>
Word load(const Word& word) {
    return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

// The coarse clock advances once a jiffy.
uint64_t jiffy() {
    timespec each{};
    clock_getres(CLOCK_MONOTONIC_COARSE, &each);
    return std::max<uint64_t>(
        1, static_cast<uint64_t>(each.tv_sec) * second + static_cast<uint64_t>(each.tv_nsec));
}

constexpr uint64_t least_jiffies = 2;

}  // namespace

uint32_t jiffies_in(uint64_t nanoseconds) {
    if (nanoseconds == 0) return 0;
    return static_cast<uint32_t>(std::max<uint64_t>(least_jiffies, nanoseconds / jiffy()));
}

void Heartbeat::configure(const config::Heartbeat& wanted) {
    settings_ = wanted;
    store(order_->beat,
          order_->beat + 1);  // it moves: a port stage that has seen no beat yet begins to count now
    const uint64_t exactly = std::max(wanted.worker_ms * millisecond, least_jiffies * jiffy());
    __atomic_store_n(&order_->heartbeat_ns, exactly, __ATOMIC_RELEASE);
    store(order_->heartbeat, jiffies_in(wanted.worker_ms * millisecond));
    store(order_->hold, watches_daemon() ? jiffies_in(wanted.hold_s * second) : 0);
    for (const Error& warning : kernel_forwarding_warnings(wanted))
        spdlog::warn("{}", warning.to_string());
}

void Heartbeat::beat(uint64_t now) {
    store(order_->beat, order_->beat + 1);
    const uint64_t pause = last_beat_ == 0 ? 0 : now - last_beat_;
    last_beat_ = now;
    if (pause < long_pause) return;
    const bool held = watches_daemon() && pause >= settings_.hold_s * second;
    spdlog::warn("the daemon stood still for {:.1f} s{}", static_cast<double>(pause) / second,
                 held ? "; packets that came after " + std::to_string(settings_.hold_s) +
                            " s went to the kernel (host_daemon_lost)"
                      : "");
}

StandIn Heartbeat::stand_in(uint16_t port) const {
    StandIn sum;
    for (uint32_t queue = 0; queue < PP_PORT_QUEUES; queue++) {
        const pp_socket_order& one = socket(port, queue);
        sum.times += load(one.times);
        sum.packets += load(one.packets);
        sum.now = sum.now || stands_in(port, queue);
    }
    return sum;
}

bool Heartbeat::stands_in(uint16_t port, uint32_t queue) const {
    const pp_socket_order& one = socket(port, queue);
    return load(one.standing) != 0 && load(one.settled) != load(one.void_to);
}

// Told once it is over, so that what was lost is known; a long one when it begins, too, if there is somebody
// to.
void Heartbeat::tell(const std::map<uint16_t, std::string>& names, const WorkerCounterSet& workers) {
    for (const auto& [port, name] : names) {
        const StandIn now = stand_in(port);
        const uint64_t stale = workers.port(port).verdict[PP_DROP_STALE];
        Told& told = told_[port];
        if (now.now) {
            if (!std::exchange(told.now, true))
                spdlog::warn("port {}: its worker stands still, the port stage decides", name);
            continue;
        }
        if (now.times == told.times || last_beat_ - told.at < second) continue;
        spdlog::warn(
            "port {}: its worker stood still {}; the port stage decided about {} packets meanwhile, {} "
            "that had waited for the worker were dropped (drop_stale)",
            name, now.times - told.times == 1 ? "once" : std::to_string(now.times - told.times) + " times",
            now.packets - told.packets, stale - std::min(stale, told.stale));
        told = {now.times, now.packets, stale, last_beat_, false};
    }
    std::erase_if(told_, [&](const auto& entry) { return !names.contains(entry.first); });
}

void Heartbeat::forget(uint16_t port) {
    for (uint32_t queue = 0; queue < PP_PORT_QUEUES; queue++) {
        __atomic_store_n(&socket(port, queue).packets, 0, __ATOMIC_RELAXED);
        store(socket(port, queue).times, 0);
    }
    told_.erase(port);
}

}  // namespace pktpit::router
