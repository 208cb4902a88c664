// SPDX-License-Identifier: BSD-3-Clause
/// How a worker sleeps until its Ethernet devices have something: by receive interrupts where a driver has
/// them. One that has none is asked again after a while, the longer the longer nothing came, and at most
/// after `longest_nap`. The worker's thread; add() and remove() while it is paused.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "base/fd.h"

namespace pktpit::router {

class RxSleep {
  public:
    static constexpr std::chrono::microseconds shortest_nap{50};
    static constexpr std::chrono::microseconds longest_nap{500};

    RxSleep();
    /// Readable when a packet has come or a nap is over. It is never to be read.
    [[nodiscard]] int descriptor() const { return epoll_.get(); }

    /// Returns whether the queue's receive interrupts can be used; its device has to run, with them
    /// configured.
    bool add_interrupt(uint16_t device, uint16_t queue);
    void remove_interrupts(uint16_t device);
    /// `polled`: some device has no interrupts.
    void arm(bool polled);
    void disarm();
    /// Something was received: the next naps are short again.
    void busy() { nap_ = shortest_nap; }

  private:
    struct Queue {
        uint16_t device = 0;
        uint16_t queue = 0;
    };
    Fd epoll_;
    Fd timer_;
    std::vector<Queue> queues_;
    std::chrono::microseconds nap_ = shortest_nap;
};

}  // namespace pktpit::router
