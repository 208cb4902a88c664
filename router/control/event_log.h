// SPDX-License-Identifier: BSD-3-Clause
/// What happened to the control plane lately, for `pktpit show events`: the last thousand of its events, with
/// the time of the day. Written and read on the daemon's thread. What packets alone can bring about is no
/// event, so that nobody's packets push all else out; a peer of FPM that connects again and again does.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>

namespace pktpit::router {

enum class EventKind : uint8_t { link, address, neighbour, next_hop, port, reload, kernel_routes, fpm };
const char* to_string(EventKind kind);

struct ControlEvent {
    uint64_t id = 0;  ///< from 1 on, without gaps
    std::chrono::system_clock::time_point time;
    EventKind kind = EventKind::link;
    std::string text;
};

class EventLog {
  public:
    static constexpr size_t most = 1000;
    static constexpr size_t longest = 500;  ///< bytes of a text: it is cut

    void add(EventKind kind, std::string text) {
        if (events_.size() == most) events_.pop_front();
        if (text.size() > longest) text.resize(longest);
        events_.push_back({++last_, std::chrono::system_clock::now(), kind, std::move(text)});
    }
    /// In their order.
    [[nodiscard]] const std::deque<ControlEvent>& all() const { return events_; }
    [[nodiscard]] uint64_t last() const { return last_; }

  private:
    std::deque<ControlEvent> events_;
    uint64_t last_ = 0;
};

}  // namespace pktpit::router
