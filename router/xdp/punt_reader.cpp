// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/punt_reader.h"

#include <algorithm>

#include "router/forward/partial_checksum.h"
#include "router/xdp/punt_record.h"

namespace pktpit::router {
namespace {

// Of each CPU's ring: 600 full-size frames or 100 jumbo ones.
constexpr size_t ring_bytes = 1 << 20;

}  // namespace

Result<std::unique_ptr<PuntReader>> PuntReader::open(int punts_map, Handler handler) {
    std::unique_ptr<PuntReader> reader(new PuntReader(std::move(handler)));
    // What does not fit is counted by the port stage itself, as drop_punt_full.
    auto rings =
        RingReader::open(punts_map, PP_MAP_PUNTS, ring_bytes,
                         [self = reader.get()](std::span<const uint8_t> record) { self->receive(record); });
    if (!rings) return tl::unexpected(rings.error());
    reader->rings_ = std::move(*rings);
    return reader;
}

// The rings' memory cannot be written, and frames are rewritten where they lie.
void PuntReader::receive(std::span<const uint8_t> record) {
    const auto kept = record.first(std::min(record.size(), copy_.size()));
    std::ranges::copy(kept, copy_.begin());
    const auto punt = read_punt(std::span(copy_).first(kept.size()));
    if (!punt) {
        malformed_++;
        return;
    }
    complete_checksum(punt->frame);
    handler_(punt->head, punt->frame);
}

}  // namespace pktpit::router
