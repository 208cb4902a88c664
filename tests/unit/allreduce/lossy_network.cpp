// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/allreduce/lossy_network.h"

#include <algorithm>

namespace pktpit::allreduce::test {

void LossyNetwork::carry(bool to_router, size_t worker, const Datagram& datagram) {
    for (int copies = chance(faults_.duplicates) ? 2 : 1; copies > 0; copies--) {
        if (chance(faults_.loss)) {
            lost_++;
            continue;
        }
        const auto delay =
            std::chrono::microseconds(20 + random_() % 10 + (chance(faults_.late) ? random_() % 300 : 0));
        queue_.push_back({now_ + delay, order_++, to_router, worker, datagram});
        std::push_heap(queue_.begin(), queue_.end());
    }
}

bool LossyNetwork::run(std::chrono::seconds longest) {
    const Time end = now_ + longest;
    Datagram buffer(2048);
    while (now_ < end) {
        bool idle = true;
        for (size_t worker = 0; worker < streams_.size(); worker++) {
            while (const size_t length = streams_[worker]->next(now_, buffer))
                carry(true, worker, {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length)});
            idle = idle && streams_[worker]->idle();
        }
        if (idle) return true;
        Time wake = end;
        for (const Stream* stream : streams_)
            wake = std::min(wake, stream->wake_at(now_));
        if (queue_.empty() || queue_.front().at > wake) {
            now_ = wake;
            continue;
        }
        now_ = queue_.front().at;
        while (!queue_.empty() && queue_.front().at <= now_) {
            std::pop_heap(queue_.begin(), queue_.end());
            const Carried carried = std::move(queue_.back());
            queue_.pop_back();
            if (!carried.to_router) {
                streams_[carried.worker]->receive(carried.datagram);
                continue;
            }
            for (const Answer& answer : router_(carried.worker, carried.datagram))
                carry(false, answer.worker, answer.datagram);
        }
    }
    return false;
}

}  // namespace pktpit::allreduce::test
