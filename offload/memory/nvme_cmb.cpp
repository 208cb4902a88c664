// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/nvme_cmb.h"

#include <limits>

namespace pktpit::offload {

Result<CmbPlace> locate_cmb(uint32_t cmbloc, uint32_t cmbsz) {
    if (cmbloc == 0xffffffff && cmbsz == 0xffffffff)
        return fail({}, "the NVMe controller does not answer", "registers that can be read",
                    "is the device there, and awake?");
    const uint64_t units = cmbsz >> 12;
    if (units == 0)
        return fail({}, "the NVMe controller has no controller memory buffer", "a size in CMBSZ",
                    "`pktpit doctor` lists other memories");
    // Units are 4 KiB times 16 to the power of SZU; 7 to 15 are reserved.
    const uint32_t unit_code = cmbsz >> 8 & 15;
    if (unit_code > 6) return fail({}, "CMBSZ.SZU is " + std::to_string(unit_code), "0 to 6", "");
    const uint64_t unit = 4096ULL << (4 * unit_code);
    const uint32_t bar = cmbloc & 7;
    if (bar != 0 && (bar < 2 || bar > 5))
        return fail({}, "CMBLOC.BIR is " + std::to_string(bar), "0, or 2 to 5", "");
    const uint64_t offset_units = cmbloc >> 12;
    constexpr uint64_t most = std::numeric_limits<int64_t>::max();
    if (units > most / unit || offset_units > most / unit)
        return fail({}, "the controller memory buffer is larger than any BAR", "a size in CMBSZ that fits",
                    "");
    return CmbPlace{static_cast<uint8_t>(bar), offset_units * unit, units * unit};
}

}  // namespace pktpit::offload
