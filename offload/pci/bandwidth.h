// SPDX-License-Identifier: BSD-3-Clause
/// What a PCIe link carries: raw rate, what data link layer and framing leave of it, and payload rates of
/// posted writes and of reads. The formulas are pcie-bench's (Neugebauer et al., Understanding PCIe
/// performance for end host networking, SIGCOMM 2018, section 3); what the protocol costs is as in PCIe Base
/// 5.0. Pure functions; any thread. Bounds of the protocol: latency, tags and credits are not in them.
#pragma once

#include <cstdint>

#include "offload/pci/capabilities.h"

namespace pktpit::offload {

/// How completions of a large read are cut: at the Max_Payload_Size, or at every read completion boundary,
/// as many root complexes do.
enum class Completions : uint8_t { as_large_as_payload, at_boundary };

/// What is assumed of the traffic; the defaults are pcie-bench's.
struct PcieAssumptions {
    bool address_64bit = true;       ///< 4-DW headers of requests (else 3)
    bool ecrc = false;               ///< 4 bytes more in each TLP
    bool data_link_overhead = true;  ///< ACK and flow control DLLPs, SKP ordered sets
    unsigned framing = 8;            ///< bytes around a TLP: STP or start/end symbols, sequence number, LCRC
    Completions completions = Completions::as_large_as_payload;
    unsigned boundary = 64;  ///< read completion boundary, bytes
};

/// Bytes of a TLP beside its payload.
unsigned write_overhead(const PcieAssumptions& assumptions);         ///< memory write: 24
unsigned read_request_overhead(const PcieAssumptions& assumptions);  ///< memory read: 24, all of it
unsigned completion_overhead(const PcieAssumptions& assumptions);    ///< completion with data: 20

/// Bytes a second in one direction after encoding: 8b/10b up to 5 GT/s, 128b/130b up to 32 GT/s, flits
/// (242 of 256 bytes) at 64 GT/s. 0 for an unknown link.
double raw_rate(const PcieLink& link);

/// Symbol times from one recommended ACK to the next while TLPs of the largest size come in (the tables of
/// section 3.6.3.1).
double ack_interval_symbols(const PcieLink& link, unsigned mps);

/// What is left of raw_rate() for TLPs: less the recommended ACKs (section 3.6.3.1: one per latency limit,
/// which depends on width, speed and `mps`), as many flow control updates (section 2.6.1.2), SKP ordered sets
/// (4 symbols in 1,538). At 64 GT/s: the 236 TLP bytes of a flit.
double tlp_rate(const PcieLink& link, unsigned mps, const PcieAssumptions& assumptions = {});

/// Bytes on the wire, framing included, for a transfer of `bytes` of payload.
uint64_t write_wire_bytes(uint64_t bytes, unsigned mps, const PcieAssumptions& assumptions = {});
uint64_t read_request_wire_bytes(uint64_t bytes, unsigned mrrs, const PcieAssumptions& assumptions = {});
uint64_t completion_wire_bytes(uint64_t bytes, unsigned mps, unsigned mrrs,
                               const PcieAssumptions& assumptions = {});

/// Payload bytes a second in one direction, for transfers of `bytes` each.
double write_rate(const PcieLink& link, unsigned mps, uint64_t bytes,
                  const PcieAssumptions& assumptions = {});
/// The direction of the completions, or that of the requests if it is the narrower one.
double read_rate(const PcieLink& link, unsigned mps, unsigned mrrs, uint64_t bytes,
                 const PcieAssumptions& assumptions = {});
/// Payload that is written and read at once by one device, each at this rate, where writes and read requests
/// share the direction away from the device: a NIC that bounces packets through main memory.
double write_and_read_rate(const PcieLink& link, unsigned mps, unsigned mrrs, uint64_t bytes,
                           const PcieAssumptions& assumptions = {});

}  // namespace pktpit::offload
