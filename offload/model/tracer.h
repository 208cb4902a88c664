// SPDX-License-Identifier: BSD-3-Clause
/// Writes down the journey of chosen packets, TLP by TLP. Nodes and ports call it for TLPs that belong to a
/// packet; it never changes what happens. One thread.
#pragma once

#include <string>
#include <vector>

#include "offload/model/port.h"

namespace pktpit::model {

struct TraceEntry {
    Time begin = 0;        ///< first bit sent, or when a step began
    Time end = 0;          ///< last bit received
    std::string from, to;  ///< nodes; equal for a step within one
    std::string what;      ///< "MWr 64 B", or the step in words
    uint32_t wire_bytes = 0;
    uint32_t payload = 0;
    TlpType type = TlpType::memory_write;
    bool is_tlp = false;
};

class Tracer {
  public:
    /// Packets with this number are written down.
    explicit Tracer(uint64_t packet) : packet_(packet) {}
    void sent(const Port& port, const Tlp& tlp, Time begin, Time tail);
    void step(uint64_t packet, const std::string& where, std::string what, Time begin, Time end);
    [[nodiscard]] uint64_t packet() const { return packet_; }
    [[nodiscard]] const std::vector<TraceEntry>& entries() const { return entries_; }

  private:
    uint64_t packet_;
    std::vector<TraceEntry> entries_;
};

}  // namespace pktpit::model
