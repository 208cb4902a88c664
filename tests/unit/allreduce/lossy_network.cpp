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

bool LossyNetwork::runs(Turn& turn) {
    if (faults_.turn.count() == 0) return true;
    while (now_ >= turn.until) {
        const auto rest = faults_.turn * std::uniform_real_distribution<>(0, 3)(random_);
        turn.from = std::max(turn.until, now_ - faults_.turn) +
                    std::chrono::duration_cast<std::chrono::microseconds>(rest);
        turn.until = turn.from + faults_.turn;
    }
    return now_ >= turn.from;
}

void LossyNetwork::deliver(size_t worker, Datagram datagram) {
    auto& waiting = turns_[worker].waiting;
    if (waiting.size() < faults_.room)
        waiting.push_back(std::move(datagram));
    else
        lost_++;
}

bool LossyNetwork::run(std::chrono::seconds longest) {
    const Time end = now_ + longest;
    Datagram buffer(2048);
    while (now_ < end) {
        bool idle = true;
        Time wake = end;
        for (size_t worker = 0; worker < streams_.size(); worker++) {
            Stream& stream = *streams_[worker];
            Turn& turn = turns_[worker];
            if (!runs(turn)) {
                wake = std::min(wake, turn.from);
                idle = idle && stream.idle();
                continue;
            }
            for (; !turn.waiting.empty(); turn.waiting.pop_front())
                stream.receive(turn.waiting.front(), now_);
            while (const size_t length = stream.next(now_, buffer))
                carry(true, worker, {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length)});
            idle = idle && stream.idle();
            wake = std::min(wake, stream.wake_at(now_));
        }
        if (idle) return true;
        if (queue_.empty() || queue_.front().at > wake) {
            now_ = wake;
            continue;
        }
        now_ = queue_.front().at;
        while (!queue_.empty() && queue_.front().at <= now_) {
            std::pop_heap(queue_.begin(), queue_.end());
            Carried carried = std::move(queue_.back());
            queue_.pop_back();
            if (!carried.to_router) {
                deliver(carried.worker, std::move(carried.datagram));
                continue;
            }
            for (const Answer& answer : router_(carried.worker, carried.datagram))
                carry(false, answer.worker, answer.datagram);
        }
    }
    return false;
}

}  // namespace pktpit::allreduce::test
