// SPDX-License-Identifier: BSD-3-Clause
/// Whose turn it is among ports that have packets waiting: deficit round robin (Shreedhar and Varghese,
/// 1995), by bytes on the wire, so that each port gets the same share of a worker whatever the size of its
/// frames. Asked by dataplanes in receive(); the worker's thread.
///
/// A port's turn ends when it has had its quantum. What its last frame took beyond it is taken off the next
/// turn (how long a frame is need not be known before it is taken); what is left when it has nothing more is
/// forfeited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pktpit::router {

class DeficitRoundRobin {
  public:
    /// Bytes of a turn: more than the longest frame, few enough that nobody waits long for his turn.
    static constexpr int64_t quantum = 16384;
    /// Bytes that a frame takes on the wire beside its own: preamble, start, FCS, gap (IEEE 802.3).
    static constexpr int64_t wire_overhead = 24;

    /// Between two runs only.
    void resize(size_t ports) {
        deficits_.assign(ports, 0);
        current_ = 0;
        begun_ = false;
    }
    [[nodiscard]] size_t ports() const { return deficits_.size(); }

    /// Up to `room` frames of all ports. take(port, room, deficit) takes up to `room` frames of one while
    /// `deficit` is above 0, takes their bytes off it, and returns how many there were: fewer than `room`
    /// with the deficit still above 0 says that the port has no more.
    template <class Take>
    size_t run(size_t room, Take&& take);

  private:
    void next() {
        current_ = current_ + 1 < deficits_.size() ? current_ + 1 : 0;
        begun_ = false;
    }

    std::vector<int64_t> deficits_;
    size_t current_ = 0;
    bool begun_ = false;  ///< the current port has had its quantum for this turn
};

template <class Take>
size_t DeficitRoundRobin::run(size_t room, Take&& take) {
    if (deficits_.size() == 1) {
        int64_t endless = INT64_MAX;
        return take(size_t{0}, room, endless);
    }
    size_t count = 0;
    for (size_t empty = 0; count < room && empty < deficits_.size();) {
        int64_t& deficit = deficits_[current_];
        if (!begun_) deficit += quantum;
        begun_ = true;
        size_t got = 0;
        if (deficit > 0) got = take(current_, room - count, deficit);
        count += got;
        // Its turn goes on in the next batch.
        if (count == room && deficit > 0) break;
        if (deficit > 0) {
            empty++;
            deficit = 0;
        } else {
            empty = 0;
        }
        next();
    }
    return count;
}

}  // namespace pktpit::router
