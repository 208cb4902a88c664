// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/stream.h"

#include <utility>

namespace pktpit::router {

bool ObservationStream::push(std::string_view bytes) {
    {
        const std::lock_guard lock(mutex_);
        if (bytes_.size() + bytes.size() > bound_) return false;
        bytes_.append(bytes);
    }
    changed_.notify_one();
    return true;
}

void ObservationStream::end(std::string_view bytes) {
    {
        const std::lock_guard lock(mutex_);
        bytes_.append(bytes);
        ended_ = true;
    }
    changed_.notify_one();
}

std::optional<std::string> ObservationStream::take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return ended_ || !bytes_.empty(); });
    if (ended_ && bytes_.empty()) return std::nullopt;
    return std::exchange(bytes_, {});
}

}  // namespace pktpit::router
