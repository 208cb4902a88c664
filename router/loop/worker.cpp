// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/worker.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <string>

#include "base/clock.h"

namespace pktpit::router {
namespace {

// Adaptive: this many turns without a packet before it sleeps, some tens of microseconds.
constexpr unsigned patience = 200;
constexpr uint64_t look_every = 100'000'000;  // ns
constexpr size_t sends_per_turn = 32;

void ring(const Fd& eventfd) {
    const uint64_t one = 1;
    // It only fails when the counter is full, and then the reader is awake already.
    [[maybe_unused]] const auto written = ::write(eventfd.get(), &one, sizeof one);
}

// Which CPUs there are has been looked at (router/loop/cpus.h); one that has gone since is no loss.
void stay_on(pthread_t thread, uint16_t cpu) {
    std::vector<cpu_set_t> set(cpu / CPU_SETSIZE + 1U);
    const size_t bytes = set.size() * sizeof(cpu_set_t);
    CPU_SET_S(cpu, bytes, set.data());
    (void)pthread_setaffinity_np(thread, bytes, set.data());
}

}  // namespace

Worker::Worker(PortIo& io, const ImageView& image, fib::Epochs& epochs, WorkerCounters& counters,
               Queues& queues, config::Polling polling, Placement placement, int sleep_ms)
    : io_(io),
      reader_(epochs),
      loop_(io, image, reader_, counters, queues.for_daemon),
      queues_(queues),
      polling_(polling),
      sleep_ms_(sleep_ms),
      wakeup_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    watch_interrupt(wakeup_.get());
    thread_ = std::thread([this] { run(); });
    pthread_setname_np(thread_.native_handle(), ("pktpit-w" + std::to_string(placement.index)).c_str());
    if (placement.cpu) stay_on(thread_.native_handle(), *placement.cpu);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return parked_; });
}

Worker::~Worker() {
    stop_ = true;
    wake();
    resume();
    thread_.join();
}

void Worker::pause() {
    pause_wanted_ = true;
    wake();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return parked_; });
}

void Worker::resume() {
    {
        const std::lock_guard lock(mutex_);
        pause_wanted_ = false;
    }
    changed_.notify_all();
}

void Worker::observe(const std::optional<pp_observing>& wanted) {
    pause();
    if (wanted && observer_)
        observer_->change(*wanted);
    else
        observer_ = wanted ? std::make_unique<PacketObserver>(*wanted) : nullptr;
    loop_.observe(observer_.get());
    resume();
}

void Worker::wake() {
    ring(wakeup_);
}

void Worker::watch_interrupt(int descriptor) {
    unwatch_interrupt(descriptor);  // not twice
    watched_.push_back({descriptor, POLLIN, 0});
}

void Worker::unwatch_interrupt(int descriptor) {
    std::erase_if(watched_, [descriptor](const pollfd& one) { return one.fd == descriptor; });
}

void Worker::run() {
    unsigned idle = 0;
    unsigned turns = 0;
    while (true) {
        if (pause_wanted_.load(std::memory_order_acquire)) park();
        if (stop_.load(std::memory_order_relaxed)) return;
        const size_t work = loop_.turn() + send_queued();
        if (loop_.take_wake()) tell_daemon();
        idle = work != 0 ? 0 : idle + 1;
        if (polling_ == config::Polling::busy) {
            if ((++turns & 1023) == 0) look();  // the clock is not read every turn
            continue;
        }
        if (idle > (polling_ == config::Polling::interrupt ? 0 : patience)) {
            sleep();
            idle = 0;
        } else if (work != 0) {
            look();
        }
    }
}

void Worker::park() {
    std::unique_lock lock(mutex_);
    parked_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !pause_wanted_; });
    parked_ = false;
}

size_t Worker::send_queued() {
    return queues_.to_send.pop(sends_per_turn, [this](const pp_punt& head, std::span<uint8_t> frame) {
        (void)io_.send(head.port, frame);  // as lost as a frame that a full device queue refuses
    });
}

void Worker::sleep() {
    io_.arm();
    // What came before has announced itself to nobody.
    if (loop_.turn() + send_queued() == 0 && !pause_wanted_) {
        // Not epoll: its interest in a socket costs the kernel a call and a lock with each frame that comes
        // or has gone, asleep or not (8 % of the worker's core, measured over veth).
        ::poll(watched_.data(), watched_.size(), io_.waits_to_send() ? 1 : sleep_ms_);
        uint64_t rung = 0;
        for (const pollfd& one : watched_)
            if (one.revents & POLLIN) {
                [[maybe_unused]] const auto taken = ::read(one.fd, &rung, sizeof rung);
            }
    }
    if (loop_.take_wake()) tell_daemon();
    io_.disarm();
    look();
}

void Worker::look() {
    const uint64_t time = monotonic_nanoseconds();
    if (time < next_look_) return;
    next_look_ = time + look_every;
    io_.look();
}

void Worker::tell_daemon() {
    ring(queues_.for_daemon_wakeup);
}

}  // namespace pktpit::router
