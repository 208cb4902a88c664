// SPDX-License-Identifier: BSD-3-Clause
/// Who calls back when a descriptor becomes readable, and when nothing else is to be done: the daemon's event
/// loop. One thread.
#pragma once

#include <functional>

namespace pktpit::router {

class DescriptorWatcher {
  public:
    virtual ~DescriptorWatcher() = default;
    /// Calls back whenever `descriptor` is readable.
    virtual void watch(int descriptor, std::function<void()> readable) = 0;
    /// Must be called before the descriptor is closed; also from within a callback, its own or another one's.
    virtual void unwatch(int descriptor) = 0;
    /// Calls back once, when all that is ready now has been handled. Work that lasts long does a turn of it
    /// (base/turn.h) and asks for the next one.
    virtual void after_others(std::function<void()> turn) = 0;

    /// Runs `work`, which may wait for the kernel, on a thread of its own where there is one, and `then` on
    /// this one when it is done. Where there is none: both now.
    virtual void aside(const std::function<void()>& work, const std::function<void()>& then) {
        work();
        then();
    }
    /// Waits until no such work is under way. To be called before what it uses goes; `then` may come later.
    virtual void finish_aside() {}
};

}  // namespace pktpit::router
