// SPDX-License-Identifier: BSD-3-Clause
// forward() on any bytes, over the test router's image: the first byte chooses the port, the next two say how
// much longer than the slice the frame is. What comes out must make sense whatever came in.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "router/forward/batch.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/forward/router_image.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using namespace pktpit::router;

bool is_sum_right(const uint8_t* header) {
    return router::test::checksum_of(header, (header[0] & 15u) * 4) == 0;
}

void check_forwarded(const Decision& decision, const router::test::Buffer& slice) {
    demand(decision.egress_port != 0 && decision.adjacency != 0 && decision.ingress_interface != 0);
    demand(decision.header_length <= decision.header.size() && decision.consumed <= slice.size());
    demand(decision.consumed > decision.l3_offset);
    const size_t ip_bytes = decision.consumed - size_t{decision.l3_offset};
    const uint8_t* out = decision.header.data() + decision.header_length - ip_bytes;
    const uint8_t* in = slice.data() + decision.l3_offset;
    const bool ipv4 = in[0] >> 4 == 4;
    const size_t ttl = ipv4 ? 8 : 7;
    demand(out[ttl] == in[ttl] - 1 && out[ttl] > 0);
    if (ipv4) {
        router::test::Buffer whole(in, in + (in[0] & 15u) * 4);
        std::copy_n(out, ip_bytes, whole.begin());
        demand(is_sum_right(whole.data()));
    }
    for (size_t i = 0; i < ip_bytes; i++)
        demand(out[i] == in[i] || i == ttl || (ipv4 && (i == 10 || i == 11)));
}

/// Nothing leaves longer than its packet may be, but for a short frame's padding.
void check_length(const Decision& decision, uint32_t length) {
    demand(decision.trailer <= length - decision.consumed);
    const uint32_t behind_tags = length - decision.trailer - decision.l3_offset;
    demand(behind_tags <= std::max(decision.mtu, 46U));
}

/// Of workers, for what is not plain (plain_fuzz has what is).
void check_batch(const Decision& alone, const IngressFrame& in) {
    static Forwarder forwarder(fuzz::router_image());
    Decision decision;
    forwarder.forward({&in, 1}, {&decision, 1});
    demand(decision.verdict == alone.verdict && decision.adjacency == alone.adjacency &&
           decision.egress_port == alone.egress_port && decision.trailer == alone.trailer &&
           decision.consumed == alone.consumed && decision.header_length == alone.header_length);
    demand(std::equal(alone.header.begin(), alone.header.begin() + alone.header_length,
                      decision.header.begin()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 3) return 0;
    const auto port = static_cast<uint16_t>(1 + data[0] % 4);
    const uint32_t beyond = data[1] | uint32_t{data[2]} << 8;
    // Memory of its own that ends with the slice, so that a read behind it is seen.
    const router::test::Buffer slice(data + 3, data + std::min(size, size_t{3 + PP_SLICE_BYTES}));
    const bool whole = slice.size() < PP_SLICE_BYTES;
    const auto length = static_cast<uint32_t>(slice.size() + (whole ? 0 : beyond));

    const Decision decision = forward(fuzz::router_image(), port, slice, length);
    demand(decision.verdict > PP_NONE && decision.verdict < PP_VERDICT_COUNT);
    if (decision.verdict == PP_FORWARDED) check_forwarded(decision, slice);
    if (decision.verdict == PP_FORWARDED) check_length(decision, length);
    check_batch(decision, {port, slice, length});
    if (decision.verdict == PP_PUNT_IPV4_OPTIONS || decision.verdict == PP_PUNT_IPV6_OPTION)
        demand(decision.parameter_pointer >= 20 &&
               decision.l3_offset + decision.parameter_pointer < int(slice.size()));
    if (decision.verdict == PP_PUNT_TOO_BIG) demand(decision.mtu < length);
    return 0;
}
