// SPDX-License-Identifier: BSD-3-Clause
/// What a TLP costs on a link: its bytes with header, padding to double words, ECRC and framing, and their
/// time. What the data link layer takes is charged in one of two ways, which are two assumptions and not two
/// figures of one: both take an ACK and a flow control update, 16 bytes, for each ACK interval of PCIe
/// Base 5.0, section 3.6.3.1, which is told in symbol times.
/// - `share`, as pcie-bench counts (offload/pci/bandwidth.h): 16 of that many *bytes*, whatever the width and
///   whatever comes in: 16 / 203 = 7.9 % of Gen 3 x8 with an MPS of 256.
/// - `dllps`, one by one: a symbol time carries a byte on each lane, so that 16 of 203 × 8 bytes, 1.0 %, are
///   gone, and only of the direction against which TLPs come in.
/// Both take SKP ordered sets besides, 0.3 %. Pure; any thread.
#pragma once

#include <array>
#include <string>

#include "offload/model/time.h"
#include "offload/model/tlp.h"
#include "offload/pci/bandwidth.h"

namespace pktpit::model {

enum class DataLink : uint8_t {
    share,  ///< pcie-bench: part of the rate is gone, whatever the traffic; ACK interval in bytes
    dllps,  ///< an ACK and a credit update each interval in which TLPs come in; interval in symbol times
    none,
};

/// Room that a receiver advertises. 0: infinite. `data` in units of 16 bytes (PCIe Base 5.0, section 2.6.1).
struct CreditLimit {
    uint32_t headers = 0;
    uint32_t data = 0;
    bool operator==(const CreditLimit&) const = default;
};
using CreditLimits = std::array<CreditLimit, flow_classes>;  ///< by FlowClass

struct LinkSettings {
    offload::PcieLink link{8, 8};
    unsigned mps = 256;
    bool ecrc = false;
    bool cxl = false;  ///< CXL.mem: lines of 64 bytes in slots of flits, instead of TLPs
    DataLink data_link = DataLink::share;
    Time propagation = 0;     ///< wire and SerDes, one way
    Time credit_latency = 0;  ///< from room in the receiver's buffer to the transmitter's knowing of it
    CreditLimits credits;
};

/// Credits that a TLP takes.
constexpr uint32_t data_credits(const Tlp& tlp) {
    return has_data(tlp.type) ? (tlp.length + 15) / 16 : 0;
}

/// For people: what is charged for it on this link.
std::string data_link_words(const LinkSettings& settings);

class WireFormat {
  public:
    WireFormat() = default;
    explicit WireFormat(const LinkSettings& settings);

    /// What a slot of 16 bytes takes of a CXL link: 4 in a flit of 68 bytes (CXL 2.0, section 4.2.2); with
    /// flits of 256 bytes, of 64 GT/s, it is 15 in 256 (CXL 3.0, section 4.3.1), 0.4 % more.
    static constexpr uint32_t cxl_slot_bytes = 17;
    /// All of it, from STP to LCRC. An address from 4 GiB on takes a 4-DW header (section 2.2.4.1).
    [[nodiscard]] uint32_t bytes(const Tlp& tlp) const;
    [[nodiscard]] Time time(uint64_t wire_bytes) const { return wire_bytes * ps_per_byte_ >> fraction; }
    /// Between ACKs while TLPs come in.
    [[nodiscard]] Time ack_interval() const { return ack_interval_; }
    /// An ACK and a credit update.
    [[nodiscard]] static constexpr uint32_t dllp_bytes() { return 16; }
    /// What a receiver waits for before it can look at a TLP: the whole flit, at 64 GT/s.
    [[nodiscard]] Time flit_time() const { return flit_time_; }

  private:
    static constexpr unsigned fraction = 20;
    uint64_t ps_per_byte_ = 0;
    Time ack_interval_ = 0;
    Time flit_time_ = 0;
    unsigned around_ = 0;  ///< framing and ECRC
    bool cxl_ = false;
};

}  // namespace pktpit::model
