// SPDX-License-Identifier: BSD-3-Clause
/// Who calls back when a descriptor becomes readable: the daemon's event loop. One thread.
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
};

}  // namespace pktpit::router
