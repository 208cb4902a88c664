// SPDX-License-Identifier: BSD-3-Clause
// Records of the ring of punted frames, which other programs could write to. Must hold: a record is refused,
// or its frame lies behind its head and within it, and head and verdict are ones that the daemon knows.
#include <cstdint>
#include <cstring>
#include <vector>

#include "router/xdp/punt_record.h"
#include "tests/fuzz/demand.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::router;
    using pktpit::fuzz::demand;
    // As the ring has it: at an address of its own, so that a byte behind it is nobody's.
    std::vector<uint8_t> record(data, data + size);
    pp_punt head{};
    if (size >= sizeof head) std::memcpy(&head, data, sizeof head);
    const bool good = size >= sizeof head && head.frame_length <= size - sizeof head &&
                      head.verdict < PP_VERDICT_COUNT && head.port < PP_MAX_PORTS;
    const auto punt = read_punt(record);
    demand(punt.has_value() == good, "what a port stage can have written is taken, and nothing else");
    if (!punt) return 0;
    demand(std::memcmp(&punt->head, &head, sizeof head) == 0, "the head is the record's");
    demand(punt->frame.data() == record.data() + sizeof head && punt->frame.size() == head.frame_length,
           "the frame lies behind its head");
    for (uint8_t& byte : punt->frame)  // its user may change it in place
        byte ^= 0xff;
    return 0;
}
