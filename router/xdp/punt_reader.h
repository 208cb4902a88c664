// SPDX-License-Identifier: BSD-3-Clause
/// Frames that the port stage hands to the daemon. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/result.h"
#include "bpf/abi.h"
#include "router/dataplane/dataplane.h"
#include "router/xdp/ring_reader.h"

namespace pktpit::router {

class PuntReader {
  public:
    using Handler = Dataplane::PuntHandler;

    static Result<std::unique_ptr<PuntReader>> open(int punts_map, Handler handler);

    /// Readable when frames wait; for epoll.
    [[nodiscard]] int descriptor() const { return rings_->descriptor(); }
    /// Hands on what waits now, at most one ring per CPU.
    void poll() { rings_->poll(); }
    /// Records that did not parse: a bug or a foreign writer, never a frame from the wire.
    [[nodiscard]] uint64_t malformed() const { return malformed_; }

  private:
    explicit PuntReader(Handler handler) : handler_(std::move(handler)) {}
    void receive(std::span<const uint8_t> record);

    Handler handler_;
    uint64_t malformed_ = 0;
    std::array<uint8_t, sizeof(pp_punt) + PP_RECORD_BYTES> copy_{};
    std::unique_ptr<RingReader> rings_;
};

}  // namespace pktpit::router
