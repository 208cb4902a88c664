// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/capture_tally.h"

#include <cstring>

#include "router/observe/pcapng.h"

namespace pktpit::router::cli {
namespace {

constexpr uint32_t largest_block = 1 << 20;
constexpr size_t block_frame = 12;       // type, length, length
constexpr size_t statistics_bytes = 12;  // interface, time
constexpr uint16_t isb_ifdrop = 5;

uint32_t word_at(std::string_view bytes, size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

}  // namespace

void CaptureTally::take(std::string_view bytes) {
    if (broken_) return;
    waiting_.append(bytes);
    size_t at = 0;
    while (waiting_.size() - at >= 8) {
        const uint32_t length = word_at(waiting_, at + 4);
        if (length < block_frame || length > largest_block || length % 4 != 0) {
            broken_ = true;
            waiting_.clear();
            return;
        }
        if (waiting_.size() - at < length) break;
        block(word_at(waiting_, at), std::string_view(waiting_).substr(at + 8, length - block_frame));
        at += length;
    }
    waiting_.erase(0, at);
}

void CaptureTally::block(uint32_t type, std::string_view body) {
    if (type == pcapng::enhanced_packet_type) packets_++;
    if (type != pcapng::interface_statistics_type || body.size() < statistics_bytes) return;
    std::string_view options = body.substr(statistics_bytes);
    while (options.size() >= 4) {
        const uint32_t head = word_at(options, 0);
        const size_t length = head >> 16;
        const size_t whole = 4 + (length + 3) / 4 * 4;
        if ((head & 0xffff) == 0 || whole > options.size()) return;
        if ((head & 0xffff) == isb_ifdrop && length == 8) {
            uint64_t dropped = 0;
            std::memcpy(&dropped, options.data() + 4, sizeof dropped);
            lost_ += dropped;
        }
        options.remove_prefix(whole);
    }
}

}  // namespace pktpit::router::cli
