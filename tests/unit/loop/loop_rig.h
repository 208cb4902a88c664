// SPDX-License-Identifier: BSD-3-Clause
/// A control loop over frames in memory and the test router's FIB image.
#pragma once

#include "router/loop/control_loop.h"
#include "tests/unit/forward/heap_image.h"
#include "tests/unit/loop/fake_io.h"

namespace pktpit::router::test {

struct QueuedFrame {
    uint16_t port = 0;
    pp_verdict verdict = PP_NONE;
    Buffer bytes;
    bool operator==(const QueuedFrame&) const = default;
};

struct LoopRig {
    explicit LoopRig(size_t queue_bytes = 1 << 20, const fib::Capacity& capacity = small_capacity(),
                     size_t doorbell = offload::default_batch)
        : image(capacity), io(256, doorbell), for_daemon(queue_bytes) {}

    /// Until there is nothing left to receive.
    void run() {
        while (loop.turn() != 0) {
        }
    }
    std::vector<QueuedFrame> take_queued() {
        std::vector<QueuedFrame> frames;
        for_daemon.pop(SIZE_MAX, [&](const pp_punt& head, std::span<uint8_t> frame) {
            frames.push_back(
                {head.port, static_cast<pp_verdict>(head.verdict), {frame.begin(), frame.end()}});
        });
        return frames;
    }
    [[nodiscard]] uint64_t counted(uint16_t port, pp_verdict verdict) const {
        return counters.port(port).verdict[verdict];
    }

    HeapImage image;
    FakeIo io;
    fib::Epochs epochs;
    fib::EpochReader reader{epochs};
    WorkerCounters counters;
    FrameQueue for_daemon;
    ControlLoop loop{io, image.view(), reader, counters, for_daemon};
};

}  // namespace pktpit::router::test
