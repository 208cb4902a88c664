// SPDX-License-Identifier: BSD-3-Clause
/// Records that port stages write for the daemon, from a BPF ring buffer a CPU (bpf/ring.h). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

struct ring_buffer;

namespace pktpit::router {

class RingReader {
  public:
    using Handler = std::function<void(std::span<const uint8_t> record)>;

    /// Makes the rings, of `bytes` each (a power of two, at least a page), and puts them into `rings`, a map
    /// that is named `name`. Records are handed on as they are, not checked, and are longer than what was
    /// sent.
    static Result<std::unique_ptr<RingReader>> open(int rings, const std::string& name, size_t bytes,
                                                    Handler handler);
    /// Takes the rings out of the map: from then on nothing is written.
    ~RingReader();

    /// Readable when records wait; for epoll.
    [[nodiscard]] int descriptor() const { return epoll_.get(); }
    /// Hands on what waits now, at most one ring per CPU.
    void poll();

  private:
    struct Ring {
        Fd map;
        std::unique_ptr<ring_buffer, void (*)(ring_buffer*)> buffer;
    };
    RingReader(int rings, size_t bytes, Handler handler)
        : rings_(rings), bytes_(bytes), handler_(std::move(handler)) {}
    Result<void> add(const std::string& name);
    Result<void> publish(const std::string& name);
    int receive(const void* data, size_t size);

    int rings_;
    size_t bytes_;
    Handler handler_;
    Fd epoll_;
    std::vector<Ring> all_;
    size_t taken_ = 0;  ///< bytes of the ring that is read
};

}  // namespace pktpit::router
