// SPDX-License-Identifier: BSD-3-Clause
/// forward() for a batch of frames: the same decisions, with all longest-prefix matches made at once by the
/// widest instructions that the CPU has (fib/reader.h), so that their cache misses overlap. One thread a
/// Forwarder; it reads the image, and never allocates, locks, logs or touches payload. A worker asks it about
/// what is not plain (router/forward/plain.h), and about every packet while somebody observes.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "bpf/abi.h"
#include "fib/reader.h"
#include "router/forward/forward.h"

namespace pktpit::router {

struct Destination;

/// A frame to decide about: forward()'s arguments.
struct IngressFrame {
    uint16_t port = 0;
    std::span<const uint8_t> slice;
    uint32_t frame_length = 0;
    bool checksum_good = false;  ///< the NIC has verified the IPv4 header's; false says nothing of it
};

class Forwarder {
  public:
    static constexpr size_t batch = 64;  ///< frames at most

    explicit Forwarder(const ImageView& image, fib::CpuVariant variant = fib::best_cpu_variant());
    ~Forwarder();

    /// decisions[i] becomes what forward() says of frames[i]. At most `batch` of them.
    void forward(std::span<const IngressFrame> frames, std::span<Decision> decisions);
    [[nodiscard]] const ImageView& image() const { return image_; }
    /// Null: nothing is guarded.
    [[nodiscard]] pp_guard* guard() const {
        return image_.guard ? image_.guard->load(std::memory_order_acquire) : nullptr;
    }
    /// Which frame of the last forward() a destination is of.
    struct Sighting {
        uint8_t frame;
        pp_destination destination;
    };
    /// What the last forward() has looked up: how many there are in `out`.
    size_t looked_up(std::span<Sighting, batch> out) const;

  private:
    struct Scratch;
    /// Frame of[i] has addresses[i].
    template <class Address>
    void look_up(std::span<const Address> addresses, const std::array<uint8_t, batch>& of);
    /// Up to the lookup, step by step.
    pp_verdict begin_steps(size_t at, const IngressFrame& in, Decision& decision, Destination& destination);
    ImageView image_;
    fib::FibReader reader_;
    std::unique_ptr<Scratch> scratch_;
};

}  // namespace pktpit::router
