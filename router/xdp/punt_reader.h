// SPDX-License-Identifier: BSD-3-Clause
/// Frames that the port stage hands to the daemon, read from a perf ring per CPU. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "bpf/abi.h"
#include "router/dataplane/dataplane.h"

struct perf_buffer;

namespace pktpit::router {

class PuntReader {
  public:
    using Handler = Dataplane::PuntHandler;

    static Result<std::unique_ptr<PuntReader>> open(int punts_map, Handler handler);
    ~PuntReader();

    /// Readable when frames wait; for epoll.
    [[nodiscard]] int descriptor() const;
    /// Hands on what waits now, at most one ring per CPU.
    void poll();
    /// Records that did not parse: a bug or a foreign writer, never a frame from the wire.
    [[nodiscard]] uint64_t malformed() const { return malformed_; }

  private:
    explicit PuntReader(Handler handler) : handler_(std::move(handler)) {}
    void receive(void* data, uint32_t size);

    Handler handler_;
    uint64_t malformed_ = 0;
    std::unique_ptr<perf_buffer, void (*)(perf_buffer*)> buffer_{nullptr, nullptr};
};

}  // namespace pktpit::router
