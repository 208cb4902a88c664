// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/fragment.h"

#include <algorithm>

#include "router/slow_path/ipv4_options.h"

namespace pktpit::router {

namespace {

constexpr uint16_t more_fragments = 0x2000;
constexpr uint16_t offset_mask = 0x1fff;
constexpr size_t offset_unit = 8;
constexpr size_t datagram_max = 0xffff;

/// The header of every fragment but the first: only the options that say so are copied.
OwnedHeader continuation(const OwnedHeader& header) {
    OwnedHeader out;
    std::copy_n(header.bytes.begin(), ipv4_header_min, out.bytes.begin());
    out.length = ipv4_header_min;
    for_each_option(header.view(), [&](Bytes option) {
        if (!(option[0] & option_copied)) return;
        std::ranges::copy(option, out.bytes.begin() + static_cast<ptrdiff_t>(out.length));
        out.length += option.size();
    });
    // What is left of the last word stays zero: end of options.
    out.length = (out.length + 3) & ~size_t{3};
    out.bytes[0] = static_cast<uint8_t>(0x40 | out.length / 4);
    return out;
}

}  // namespace

size_t fragment(const OwnedHeader& header, Bytes payload, size_t mtu,
                const std::function<void(Bytes, Bytes)>& emit) {
    const uint16_t field = load_be16(header.bytes.data() + 6);
    const size_t base = field & offset_mask;
    if (header.length + base * offset_unit + payload.size() > datagram_max) return 0;
    if (header.length + payload.size() > mtu && mtu < header.length + offset_unit) return 0;

    OwnedHeader current = header;
    size_t done = 0, count = 0;
    do {
        const size_t room = mtu - current.length;
        const size_t left = payload.size() - done;
        const bool last = left <= room;
        const size_t size = last ? left : room & ~(offset_unit - 1);
        store_be16(current.bytes.data() + 2, static_cast<uint16_t>(current.length + size));
        const uint16_t more = last ? field & more_fragments : more_fragments;
        const uint16_t flags = field & static_cast<uint16_t>(~(more_fragments | offset_mask));
        store_be16(current.bytes.data() + 6,
                   static_cast<uint16_t>(flags | more | (base + done / offset_unit)));
        checksum_ipv4(current.span());
        emit(current.view(), payload.subspan(done, size));
        if (done == 0) current = continuation(header);
        done += size;
        count++;
    } while (done < payload.size());
    return count;
}

}  // namespace pktpit::router
