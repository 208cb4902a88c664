// SPDX-License-Identifier: BSD-3-Clause
/// The thread that owns ports' rings: turns of the control loop, frames of the daemon's to send, sleep when
/// there is nothing to do. The daemon pauses it to change what it works on.
#pragma once

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "config/config.h"
#include "fib/epochs.h"
#include "router/loop/control_loop.h"
#include "router/loop/port_io.h"

namespace pktpit::router {

/// Which of the workers it is, and the CPU that it stays on; without one the kernel places it.
struct WorkerPlacement {
    unsigned index = 0;
    std::optional<uint16_t> cpu;
};

class Worker {
  public:
    struct Queues {
        FrameQueue for_daemon{1 << 22};  ///< bytes
        FrameQueue to_send{1 << 22};
        Fd for_daemon_wakeup;  ///< eventfd: something is in for_daemon, or a link changed
    };
    using Placement = WorkerPlacement;
    static Placement placement(const config::Workers& workers, unsigned index) {
        if (workers.cpus.empty()) return {index, std::nullopt};
        return {index, workers.cpus[index]};
    }
    /// All are the caller's and outlive this. Starts the thread, paused. `sleep_ms`: a sleep that nothing
    /// ends lasts so long.
    Worker(PortIo& io, const ImageView& image, fib::Epochs& epochs, WorkerCounters& counters, Queues& queues,
           config::Polling polling, Placement placement = {}, int sleep_ms = 100);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// When it returns the thread is outside of everything it shares; resume() lets it go on. The daemon's.
    void pause();
    void resume();
    /// Has it write down what becomes of packets, or nothing any more; pauses it for that. The daemon's, as
    /// the observer's side of it is.
    void observe(const std::optional<pp_observing>& wanted);
    /// nullptr while nothing is observed.
    [[nodiscard]] PacketObserver* observer() { return observer_.get(); }
    /// The next packet that leaves by the interface that it came in by is copied to the daemon.
    void copy_returning() { loop_.copy_returning(); }
    /// Wakes it to look at to_send.
    void wake();
    /// A descriptor that becomes readable when a port has something: ends a sleep. Eventfds are read. While
    /// it is paused.
    void watch_interrupt(int eventfd);
    void unwatch_interrupt(int eventfd);

  private:
    void run();
    void park();
    size_t send_queued();
    void sleep();
    void look();
    void tell_daemon();

    PortIo& io_;
    fib::EpochReader reader_;
    ControlLoop loop_;
    std::unique_ptr<PacketObserver> observer_;
    Queues& queues_;
    config::Polling polling_;
    int sleep_ms_;
    std::vector<pollfd> watched_;  ///< while paused the daemon's to change
    Fd wakeup_;
    uint64_t next_look_ = 0;

    std::mutex mutex_;  ///< of parked_
    std::condition_variable changed_;
    bool parked_ = false;
    std::atomic<bool> pause_wanted_ = true;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

/// pause() and resume() as a scope, of one worker or of all.
class WorkerPause {
  public:
    explicit WorkerPause(Worker& worker) : workers_{&worker} { worker.pause(); }
    explicit WorkerPause(std::vector<Worker*> workers) : workers_(std::move(workers)) {
        for (Worker* worker : workers_)
            worker->pause();
    }
    ~WorkerPause() {
        for (Worker* worker : workers_)
            worker->resume();
    }
    WorkerPause(const WorkerPause&) = delete;
    WorkerPause& operator=(const WorkerPause&) = delete;

  private:
    std::vector<Worker*> workers_;
};

}  // namespace pktpit::router
