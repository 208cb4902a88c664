// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/allreduce.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "offload/model/event_queue.h"
#include "offload/model/ring.h"

namespace pktpit::model {
namespace {

constexpr uint64_t most_events = 2'000'000'000;
constexpr unsigned worker_shift = 48;  // in arguments, above a frame's or a chunk's number

enum Happening : uint32_t { copied, may_send, at_router, summed, at_worker, copied_back };

/// What a worker has in a frame, in place of its numbers: sums of these are as good as any.
uint32_t contribution(uint64_t worker, uint64_t frame) {
    uint64_t x = (worker + 1) * 0x9e3779b97f4a7c15 + frame * 0xbf58476d1ce4e5b9;
    x ^= x >> 29;
    return static_cast<uint32_t>((x * 0x94d049bb133111eb) >> 32);
}

class AllreduceRun : public Actor {
  public:
    explicit AllreduceRun(const AllreduceSettings& settings)
        : settings_(settings),
          frames_((settings.message_bytes + settings.frame_bytes - 1) / settings.frame_bytes),
          frames_of_chunk_(settings.chunk_bytes / settings.frame_bytes),
          chunks_((frames_ + frames_of_chunk_ - 1) / frames_of_chunk_),
          ps_per_byte_(8000 / settings.gbps),
          workers_(settings.workers),
          adding_(std::min<uint64_t>(settings.router_slots, frames_ * settings.messages)),
          added_(adding_.size()) {}

    AllreduceResult run() {
        for (size_t w = 0; w < workers_.size(); w++)
            copy(w);
        (void)events_.run_all(most_events);
        const double bits = static_cast<double>(settings_.message_bytes) * 8;
        const auto others = static_cast<double>(settings_.messages - 1);
        result_.gbps = settings_.messages == 1 ? bits / to_ns(result_.all)
                                               : bits * others / to_ns(result_.all - result_.first);
        result_.events = events_.events_run();
        return result_;
    }

    void on_event(uint32_t what, uint64_t argument) override {
        const size_t worker = argument >> worker_shift;
        const uint64_t number = argument & ((uint64_t{1} << worker_shift) - 1);
        switch (what) {
            case copied:
                return chunk_copied(worker);
            case may_send:
                workers_[worker].sending = false;
                return send(worker);
            case at_router:
                workers_[worker].received++;
                adding_[number % adding_.size()] += contribution(worker, number);
                result_.frames++;
                return add();
            case summed:
                return answer(number);
            case at_worker:
                return came_back(worker, number);
            default:
                return chunk_back(worker);
        }
    }

  private:
    struct Ready {
        uint64_t frame = 0;
        Time at = 0;
    };
    struct Worker {
        uint64_t copies = 0, sent_chunks = 0;  ///< chunks begun to be copied; wholly sent
        bool copying = false, sending = false;
        Time nic_free = 0;  ///< the NIC's way to the host
        Ring<Ready> ready;
        uint64_t sent = 0;      ///< frames
        uint64_t received = 0;  ///< by the router
        Time down_free = 0;     ///< the wire to it
        uint64_t back = 0;      ///< frames of sums that have come
        Ring<uint64_t> whole;   ///< chunks of sums that wait to be copied
        bool copying_back = false;
        uint64_t done = 0;  ///< chunks
    };

    [[nodiscard]] uint64_t all_chunks() const { return chunks_ * settings_.messages; }
    [[nodiscard]] uint64_t all_frames() const { return frames_ * settings_.messages; }
    /// Of a frame, numbered through all messages.
    [[nodiscard]] uint64_t payload(uint64_t frame) const {
        const uint64_t within = frame % frames_;
        return within + 1 < frames_ ? settings_.frame_bytes
                                    : settings_.message_bytes - within * settings_.frame_bytes;
    }
    [[nodiscard]] uint64_t first_frame(uint64_t chunk) const {
        return chunk / chunks_ * frames_ + chunk % chunks_ * frames_of_chunk_;
    }
    [[nodiscard]] uint64_t end_frame(uint64_t chunk) const {
        return std::min(first_frame(chunk) + frames_of_chunk_, (chunk / chunks_ + 1) * frames_);
    }
    [[nodiscard]] uint64_t chunk_bytes(uint64_t chunk) const {
        uint64_t bytes = 0;
        for (uint64_t frame = first_frame(chunk); frame < end_frame(chunk); frame++)
            bytes += payload(frame);
        return bytes;
    }
    [[nodiscard]] Time copy_time(uint64_t chunk) const {
        if (settings_.accelerator_gbytes == 0) return 0;
        return settings_.copy_latency +
               from_ns(static_cast<double>(chunk_bytes(chunk)) / settings_.accelerator_gbytes);
    }
    [[nodiscard]] Time wire_time(uint64_t bytes) const {
        return static_cast<Time>(static_cast<double>(bytes) * ps_per_byte_);
    }
    void schedule(Time at, Happening what, size_t worker, uint64_t number) {
        events_.schedule(at, *this, what, uint64_t{worker} << worker_shift | number);
    }

    /// The next chunk to the host, if there is a buffer for it.
    void copy(size_t index) {
        Worker& worker = workers_[index];
        if (worker.copying || worker.copies == all_chunks() ||
            worker.copies - worker.sent_chunks == settings_.buffers)
            return;
        worker.copying = true;
        const uint64_t chunk = worker.copies++;
        schedule(events_.now() + copy_time(chunk), copied, index, chunk);
    }

    /// The NIC fetches it, and has a frame when its last byte has come.
    void chunk_copied(size_t index) {
        Worker& worker = workers_[index];
        worker.copying = false;
        const uint64_t chunk = worker.copies - 1;
        const Time begin = std::max(events_.now(), worker.nic_free);
        uint64_t bytes = 0;
        for (uint64_t frame = first_frame(chunk); frame < end_frame(chunk); frame++) {
            bytes += payload(frame);
            worker.nic_free = begin + from_ns(static_cast<double>(bytes) / settings_.nic_gbytes);
            worker.ready.push({frame, worker.nic_free + settings_.nic_latency});
        }
        send(index);
        copy(index);
    }

    void send(size_t index) {
        Worker& worker = workers_[index];
        if (worker.sending || worker.ready.empty()) return;
        const Ready next = worker.ready.front();
        if (next.frame >= worker.back + settings_.router_slots) return;  // until a sum comes back
        worker.sending = true;
        if (next.at > events_.now()) return schedule(next.at, may_send, index, next.frame);
        worker.ready.pop();
        worker.sent++;
        const uint64_t bytes = payload(next.frame) + settings_.frame_overhead;
        const bool by_head = settings_.buffering == Buffering::threshold && settings_.threshold == 0;
        const uint64_t seen = by_head ? std::min<uint64_t>(bytes, settings_.head_bytes) : bytes;
        schedule(events_.now() + wire_time(seen), at_router, index, next.frame);
        schedule(events_.now() + wire_time(bytes), may_send, index, next.frame);
        const uint64_t chunk = worker.sent_chunks;
        if (worker.sent < end_frame(chunk)) return;
        worker.sent_chunks++;
        copy(index);
    }

    /// In the order of frames, as soon as all have sent one, and enough of its message.
    void add() {
        uint64_t there = all_frames();
        for (const Worker& worker : workers_)
            there = std::min(there, worker.received);
        while (next_sum_ < there) {
            const uint64_t message = next_sum_ / frames_;
            const uint64_t wanted = settings_.buffering == Buffering::store_and_forward
                                        ? frames_
                                        : std::min<uint64_t>(settings_.threshold, frames_);
            if (there < message * frames_ + wanted) break;
            const Time add_time = from_ns(static_cast<double>(payload(next_sum_)) / settings_.add_gbytes);
            const Time begin = std::max(events_.now(), adder_free_);
            adder_free_ = begin + add_time;
            // One frame after the other goes through the adder; its latency is that of all.
            // Free for another frame, which comes when all have got back what this place held before.
            const size_t place = next_sum_ % adding_.size();
            added_[place] = std::exchange(adding_[place], 0);
            schedule(begin + settings_.router_latency, summed, 0, next_sum_++);
        }
        result_.most_held = std::max(result_.most_held, there - next_sum_);
    }

    void answer(uint64_t frame) {
        const uint64_t bytes = payload(frame) + settings_.frame_overhead;
        for (size_t w = 0; w < workers_.size(); w++) {
            Worker& worker = workers_[w];
            worker.down_free = std::max(worker.down_free, events_.now()) + wire_time(bytes);
            schedule(worker.down_free + settings_.nic_latency, at_worker, w, frame);
        }
    }

    void came_back(size_t index, uint64_t frame) {
        Worker& worker = workers_[index];
        uint32_t expected = 0;
        for (size_t w = 0; w < workers_.size(); w++)
            expected += contribution(w, frame);
        result_.wrong_sums += added_[frame % added_.size()] != expected || frame != worker.back;
        worker.back++;
        const uint64_t chunk = frame / frames_ * chunks_ + frame % frames_ / frames_of_chunk_;
        if (frame + 1 == end_frame(chunk)) {
            worker.whole.push(chunk);
            copy_back(index);
        }
        send(index);
    }

    void copy_back(size_t index) {
        Worker& worker = workers_[index];
        if (worker.copying_back || worker.whole.empty()) return;
        worker.copying_back = true;
        const uint64_t chunk = worker.whole.pop();
        schedule(events_.now() + copy_time(chunk), copied_back, index, chunk);
    }

    void chunk_back(size_t index) {
        Worker& worker = workers_[index];
        worker.copying_back = false;
        worker.done++;
        if (worker.done == chunks_) result_.first = std::max(result_.first, events_.now());
        if (worker.done == all_chunks()) result_.all = std::max(result_.all, events_.now());
        copy_back(index);
    }

    AllreduceSettings settings_;
    uint64_t frames_, frames_of_chunk_, chunks_;  ///< of a message; of a chunk; of a message
    double ps_per_byte_;
    EventQueue events_;
    std::vector<Worker> workers_;
    std::vector<uint32_t> adding_, added_;  ///< by frame modulo their size: the router's places
    uint64_t next_sum_ = 0;
    Time adder_free_ = 0;
    AllreduceResult result_;
};

}  // namespace

Result<AllreduceResult> run_allreduce(const AllreduceSettings& settings) {
    const auto refuse = [](const char* what, const auto& value, const std::string& expected) {
        return fail(what, std::to_string(value) + " cannot be", expected);
    };
    if (settings.workers < 1 || settings.workers > 1024)
        return refuse("workers", settings.workers, "1 to 1,024");
    if (settings.frame_bytes < 1 || settings.frame_bytes > 65536)
        return refuse("frame", settings.frame_bytes, "1 to 65,536 bytes");
    if (settings.message_bytes < 1 || settings.message_bytes > uint64_t{1} << 40)
        return refuse("size", settings.message_bytes, "1 byte to 1 TiB");
    if (settings.messages < 1 || settings.messages > 1'000'000)
        return refuse("messages", settings.messages, "1 to 1,000,000");
    if (settings.buffers < 1) return refuse("buffers", settings.buffers, "at least 1");
    if (settings.chunk_bytes < settings.frame_bytes)
        return refuse("chunk", settings.chunk_bytes, "at least a frame");
    if (!(settings.gbps > 0) || !(settings.add_gbytes > 0) || !(settings.nic_gbytes > 0) ||
        !(settings.accelerator_gbytes >= 0))
        return fail("rates", "one is 0 or less", "more than 0");
    const uint64_t frames = (settings.message_bytes + settings.frame_bytes - 1) / settings.frame_bytes;
    const uint64_t held = settings.buffering == Buffering::store_and_forward
                              ? frames
                              : std::min<uint64_t>(std::max(settings.threshold, 1U), frames);
    if (settings.router_slots < held)
        return fail("slots",
                    std::to_string(settings.router_slots) + " for " + std::to_string(held) + " frames",
                    "as many as the router waits for");
    return AllreduceRun(settings).run();
}

}  // namespace pktpit::model
