// SPDX-License-Identifier: BSD-3-Clause
/// The router of the protocol as plainly as can be: it keeps every chunk's elements of every worker for ever,
/// and has no slots that could be reused too early. Notes what a worker may not do.
#pragma once

#include <map>
#include <string>

#include "tests/unit/allreduce/lossy_network.h"

namespace pktpit::allreduce::test {

class NaiveRouter {
  public:
    explicit NaiveRouter(const Epoch& epoch) : epoch_(epoch) {}
    std::vector<Answer> operator()(size_t worker, const Datagram& datagram);
    /// The first thing that was against the protocol; empty: nothing was.
    [[nodiscard]] const std::string& broken() const { return broken_; }
    [[nodiscard]] size_t chunks() const { return chunks_.size(); }

  private:
    struct Chunk {
        std::map<size_t, Datagram> of;
        std::map<size_t, bool> answered;
    };
    [[nodiscard]] Datagram sum(const Chunk& chunk, size_t worker) const;
    void check(size_t worker, const pa_header& header, const Datagram& datagram);

    Epoch epoch_;
    std::map<uint32_t, Chunk> chunks_;
    std::string broken_;
};

}  // namespace pktpit::allreduce::test
