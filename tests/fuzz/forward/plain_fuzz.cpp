// SPDX-License-Identifier: BSD-3-Clause
// The plain way on any bytes, a batch at a time: every variant that this CPU has finds the same frames plain,
// and what they are is what the long way makes of them. A frame is a byte for its port and flags, one for the
// slice's length, one for what the frame has more, and its bytes.
#include <deque>

#include "tests/fuzz/demand.h"
#include "tests/fuzz/forward/router_image.h"
#include "tests/unit/forward/plain_rig.h"

namespace {

using namespace pktpit;
using namespace pktpit::router;

std::vector<router::test::PlainFrame> plain_frames(const uint8_t* data, size_t size) {
    std::vector<router::test::PlainFrame> frames;
    while (size > 3 && frames.size() < PlainBatch::most) {
        const size_t slice = std::min<size_t>({size - 3, data[1], PP_SLICE_BYTES});
        router::test::PlainFrame frame;
        frame.port = static_cast<uint16_t>(1 + data[0] % 4);
        frame.checksum_good = (data[0] & 0x40) != 0;
        frame.vetoed = (data[0] & 0x80) != 0;
        frame.slice.assign(data + 3, data + 3 + slice);
        frame.frame_length =
            static_cast<uint32_t>(slice) + (slice == PP_SLICE_BYTES ? data[2] * 64U : data[2]);
        frames.push_back(std::move(frame));
        data += 3 + slice;
        size -= 3 + slice;
    }
    return frames;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static std::deque<router::test::PlainRig> rigs = [] {
        std::deque<router::test::PlainRig> all;
        for (const auto variant : router::test::cpu_variants())
            all.emplace_back(fuzz::router_image(), variant);
        return all;
    }();
    const auto frames = plain_frames(data, size);
    if (frames.empty()) return 0;
    for (router::test::PlainRig& rig : rigs) {
        const std::string difference = rig.difference(frames);
        fuzz::demand(difference.empty(), "the plain way does as the long way", difference);
        fuzz::demand(rig.plain == rigs.front().plain, "no variant finds more plain than another");
    }
    return 0;
}
