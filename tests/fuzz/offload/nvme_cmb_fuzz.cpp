// SPDX-License-Identifier: BSD-3-Clause
// locate_cmb() on any register values: a place that it gives follows from them and can be added up.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "offload/memory/nvme_cmb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::offload;
    uint32_t registers[2];
    if (size < sizeof registers) return 0;
    std::memcpy(registers, data, sizeof registers);
    const auto [location, extent] = registers;
    const auto place = locate_cmb(location, extent);
    const uint32_t unit_code = extent >> 8 & 15;
    const uint32_t bar = location & 7;
    const bool valid = extent >> 12 != 0 && unit_code <= 6 && (bar == 0 || (bar >= 2 && bar <= 5));
    if (place.has_value() != valid) std::abort();
    if (!valid) return 0;
    uint64_t unit = 4096;
    for (uint32_t i = 0; i < unit_code; i++)
        unit *= 16;
    if (place->bar != bar || place->bytes != (extent >> 12) * unit ||
        place->offset != (location >> 12) * unit || place->offset + place->bytes < place->bytes)
        std::abort();
    return 0;
}
