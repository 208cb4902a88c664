// SPDX-License-Identifier: BSD-3-Clause
#include "fib/sources.h"

#include <cassert>

#include "fib/lookup.h"
#include "fib/store.h"

namespace pktpit::fib {
namespace {

uint64_t word_of(const uint8_t* bytes) {
    uint64_t word = 0;
    for (size_t i = 0; i < sizeof word; i++)
        word = word << 8 | bytes[i];
    return word;
}

uint32_t bit_of(const IpAddress& address) {
    const uint8_t* bytes = address.bytes.data();
    return address.is_v4() ? pp_fib_source_bit4(static_cast<uint32_t>(word_of(bytes) >> 32))
                           : pp_fib_source_bit6(word_of(bytes), word_of(bytes + 8));
}

}  // namespace

Sources::Sources(std::byte* image, const pp_fib_geometry& geometry)
    : globals_(reinterpret_cast<pp_fib_globals*>(image + geometry.globals_offset)),
      noted_(PP_FIB_SOURCE_BITS) {}

void Sources::note(const IpAddress& address) {
    const uint32_t bit = bit_of(address);
    __u32* word = &globals_->sources[bit / 32];
    if (noted_[bit]++ == 0) store_relaxed(word, load_relaxed(word) | 1U << bit % 32);
}

void Sources::forget(const IpAddress& address) {
    const uint32_t bit = bit_of(address);
    assert(noted_[bit] != 0);
    __u32* word = &globals_->sources[bit / 32];
    if (--noted_[bit] == 0) store_relaxed(word, load_relaxed(word) & ~(1U << bit % 32));
}

}  // namespace pktpit::fib
