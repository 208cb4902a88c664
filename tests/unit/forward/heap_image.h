// SPDX-License-Identifier: BSD-3-Clause
/// The test router's FIB image in heap memory.
#pragma once

#include <cstdlib>
#include <memory>

#include "router/forward/forward.h"
#include "tests/unit/forward/test_router.h"

namespace pktpit::router::test {

class HeapImage {
  public:
    explicit HeapImage(const fib::Capacity& capacity = small_capacity())
        : geometry_(fib::plan_geometry(capacity)),
          memory_(static_cast<std::byte*>(std::aligned_alloc(64, geometry_.image_bytes)), &std::free),
          image_({memory_.get(), geometry_.image_bytes}, geometry_, [] {}) {}

    fib::FibImage& image() { return image_; }
    std::byte* base() { return memory_.get(); }
    [[nodiscard]] ImageView view() const { return {memory_.get(), &geometry_}; }

  private:
    pp_fib_geometry geometry_;
    std::unique_ptr<std::byte, decltype(&std::free)> memory_;
    fib::FibImage image_;
};

/// The egress frame that a decision describes.
inline Buffer egress_frame(const Decision& decision, const Buffer& in) {
    Buffer out(decision.header.begin(), decision.header.begin() + decision.header_length);
    out.insert(out.end(), in.begin() + decision.consumed, in.end() - decision.trailer);
    return out;
}

/// forward() of a whole frame: it gets the slice, in memory that ends where the slice does.
inline Decision forward_frame(const ImageView& image, uint16_t port, const Buffer& in) {
    const Buffer slice(in.begin(),
                       in.begin() + static_cast<long>(std::min<size_t>(in.size(), PP_SLICE_BYTES)));
    return forward(image, port, slice, static_cast<uint32_t>(in.size()));
}

}  // namespace pktpit::router::test
