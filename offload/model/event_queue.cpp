// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/event_queue.h"

#include <algorithm>

namespace pktpit::model {

void EventQueue::schedule(Time at, Actor& actor, uint32_t what, uint64_t argument) {
    const Event event{std::max(at, now_), order_++, &actor, argument, what};
    size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
        const size_t parent = (hole - 1) / 4;
        if (!(event < heap_[parent])) break;
        heap_[hole] = heap_[parent];
        hole = parent;
    }
    heap_[hole] = event;
}

void EventQueue::run_first() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    const size_t size = heap_.size();
    if (size > 0) {
        size_t hole = 0;
        for (size_t child = 1; child < size; child = hole * 4 + 1) {
            size_t least = child;
            for (size_t other = child + 1; other < std::min(child + 4, size); other++)
                if (heap_[other] < heap_[least]) least = other;
            if (!(heap_[least] < last)) break;
            heap_[hole] = heap_[least];
            hole = least;
        }
        heap_[hole] = last;
    }
    now_ = first.at;
    run_++;
    first.actor->on_event(first.what, first.argument);
}

bool EventQueue::run_next() {
    if (heap_.empty()) return false;
    run_first();
    return true;
}

void EventQueue::run_until(Time end) {
    while (!heap_.empty() && heap_.front().at <= end)
        run_first();
    now_ = std::max(now_, end);
}

bool EventQueue::run_all(uint64_t limit) {
    while (!heap_.empty()) {
        if (limit-- == 0) return false;
        run_first();
    }
    return true;
}

}  // namespace pktpit::model
