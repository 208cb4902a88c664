// SPDX-License-Identifier: BSD-3-Clause
// Records of the ring of punted frames, which other programs could write to. Must hold: a record is refused,
// or its frame lies behind its head and within it, and head and verdict are ones that the daemon knows.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "router/xdp/punt_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::router;
    // As the ring has it: at an address of its own, so that a byte behind it is nobody's.
    std::vector<uint8_t> record(data, data + size);
    const auto punt = read_punt(record);
    if (!punt) {
        pp_punt head{};
        if (size >= sizeof head) std::memcpy(&head, data, sizeof head);
        const bool good = size >= sizeof head && head.frame_length <= size - sizeof head &&
                          head.verdict < PP_VERDICT_COUNT && head.port < PP_MAX_PORTS;
        if (good) std::abort();
        return 0;
    }
    if (punt->frame.size() != punt->head.frame_length || punt->head.verdict >= PP_VERDICT_COUNT ||
        punt->head.port >= PP_MAX_PORTS)
        std::abort();
    if (punt->frame.data() != record.data() + sizeof(pp_punt) || punt->frame.size() > size - sizeof(pp_punt))
        std::abort();
    for (uint8_t& byte : punt->frame)  // its user may change it in place
        byte ^= 0xff;
    return 0;
}
