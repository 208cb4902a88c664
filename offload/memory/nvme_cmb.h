// SPDX-License-Identifier: BSD-3-Clause
/// Where an NVMe controller's memory buffer lies, from the controller's own registers (NVMe Base
/// Specification 2.0, 3.1.3 and 8.5). The registers are untrusted.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace pktpit::offload {

// Offsets of registers in BAR 0.
inline constexpr uint32_t nvme_cap = 0x00;     ///< 64 bits
inline constexpr uint32_t nvme_cmbloc = 0x38;  ///< 32 bits
inline constexpr uint32_t nvme_cmbsz = 0x3c;   ///< 32 bits
inline constexpr uint32_t nvme_cmbmsc = 0x50;  ///< 64 bits
/// CAP.CMBS: the registers above read as 0 until CMBMSC.CRE is set (since revision 1.4).
inline constexpr uint64_t nvme_cap_cmbs = 1ULL << 57;
inline constexpr uint64_t nvme_cmbmsc_cre = 1;
inline constexpr uint64_t nvme_cmbmsc_cmse = 2;

struct CmbPlace {
    uint8_t bar = 0;
    uint64_t offset = 0;  ///< bytes from the BAR's start
    uint64_t bytes = 0;
    bool operator==(const CmbPlace&) const = default;
};

/// From CMBLOC and CMBSZ. Errors: there is no buffer; a BAR that cannot be; a size that no BAR has.
Result<CmbPlace> locate_cmb(uint32_t cmbloc, uint32_t cmbsz);

}  // namespace pktpit::offload
