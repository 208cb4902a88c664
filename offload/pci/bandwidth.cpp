// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/bandwidth.h"

#include <algorithm>
#include <cmath>

namespace pktpit::offload {
namespace {

constexpr double dllp_bytes = 8;  // 2 framing, 4 DLLP, 2 CRC (section 3.5.1)
constexpr double skp_share = 4.0 / 1538;
constexpr double flit_speed = 64;
constexpr double flit_bytes = 256;
constexpr double flit_tlp_and_dlp = 242;  // the rest is CRC and FEC (PCIe Base 6.0, section 4.2.3.4)
constexpr double flit_tlp = 236;

/// How many TLPs of the largest size may wait for one ACK (tables of section 3.6.3.1).
double ack_factor(unsigned lanes, unsigned mps) {
    if (lanes < 8) return mps <= 256 ? 1.4 : 1.0;
    if (lanes < 12) return mps <= 256 ? 2.5 : 1.0;
    return mps <= 256 ? 3.0 : 2.0;
}

uint64_t pieces(uint64_t bytes, uint64_t largest) {
    return largest == 0 ? 0 : (bytes + largest - 1) / largest;
}

double share(uint64_t payload, uint64_t wire, double rate) {
    return wire == 0 ? 0 : rate * static_cast<double>(payload) / static_cast<double>(wire);
}

unsigned request_overhead(const PcieAssumptions& assumptions) {
    return assumptions.framing + (assumptions.address_64bit ? 16 : 12) + (assumptions.ecrc ? 4 : 0);
}

}  // namespace

unsigned write_overhead(const PcieAssumptions& assumptions) {
    return request_overhead(assumptions);
}

unsigned read_request_overhead(const PcieAssumptions& assumptions) {
    return request_overhead(assumptions);
}

unsigned completion_overhead(const PcieAssumptions& assumptions) {
    return assumptions.framing + 12 + (assumptions.ecrc ? 4 : 0);
}

double raw_rate(const PcieLink& link) {
    if (!link.known()) return 0;
    const double encoding = link.gigatransfers <= 5           ? 8.0 / 10
                            : link.gigatransfers < flit_speed ? 128.0 / 130
                                                              : flit_tlp_and_dlp / flit_bytes;
    return link.gigatransfers * 1e9 / 8 * link.lanes * encoding;
}

double ack_interval_symbols(const PcieLink& link, unsigned mps) {
    constexpr double tlp_overhead = 28;
    const double internal_delay = link.gigatransfers > 5 ? 115 : link.gigatransfers > 2.5 ? 70 : 19;
    // The tables have whole symbol times.
    return std::floor((mps + tlp_overhead) * ack_factor(link.lanes, mps) / link.lanes + internal_delay);
}

double tlp_rate(const PcieLink& link, unsigned mps, const PcieAssumptions& assumptions) {
    const double raw = raw_rate(link);
    if (raw == 0 || !assumptions.data_link_overhead) return raw;
    if (link.gigatransfers >= flit_speed) return raw * flit_tlp / flit_tlp_and_dlp;
    return raw * (1 - 2 * dllp_bytes / ack_interval_symbols(link, mps) - skp_share);
}

uint64_t write_wire_bytes(uint64_t bytes, unsigned mps, const PcieAssumptions& assumptions) {
    return bytes + pieces(bytes, mps) * write_overhead(assumptions);
}

uint64_t read_request_wire_bytes(uint64_t bytes, unsigned mrrs, const PcieAssumptions& assumptions) {
    return pieces(bytes, mrrs) * read_request_overhead(assumptions);
}

uint64_t completion_wire_bytes(uint64_t bytes, unsigned mps, unsigned mrrs,
                               const PcieAssumptions& assumptions) {
    const unsigned largest =
        assumptions.completions == Completions::at_boundary ? std::min(assumptions.boundary, mps) : mps;
    // Each request is answered by completions of its own.
    const uint64_t requests = mrrs == 0 ? 0 : bytes / mrrs;
    const uint64_t rest = mrrs == 0 ? bytes : bytes % mrrs;
    const uint64_t completions = requests * pieces(mrrs, largest) + pieces(rest, largest);
    return bytes + completions * completion_overhead(assumptions);
}

double write_rate(const PcieLink& link, unsigned mps, uint64_t bytes, const PcieAssumptions& assumptions) {
    return share(bytes, write_wire_bytes(bytes, mps, assumptions), tlp_rate(link, mps, assumptions));
}

double read_rate(const PcieLink& link, unsigned mps, unsigned mrrs, uint64_t bytes,
                 const PcieAssumptions& assumptions) {
    const uint64_t wire = std::max(completion_wire_bytes(bytes, mps, mrrs, assumptions),
                                   read_request_wire_bytes(bytes, mrrs, assumptions));
    return share(bytes, wire, tlp_rate(link, mps, assumptions));
}

double write_and_read_rate(const PcieLink& link, unsigned mps, unsigned mrrs, uint64_t bytes,
                           const PcieAssumptions& assumptions) {
    const uint64_t away =
        write_wire_bytes(bytes, mps, assumptions) + read_request_wire_bytes(bytes, mrrs, assumptions);
    const uint64_t towards = completion_wire_bytes(bytes, mps, mrrs, assumptions);
    return share(bytes, std::max(away, towards), tlp_rate(link, mps, assumptions));
}

}  // namespace pktpit::offload
