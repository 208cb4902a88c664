// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/int32_message.h"

#include <algorithm>
#include <cstring>

namespace pktpit::allreduce {

uint32_t Int32Message::chunks() const {
    return static_cast<uint32_t>((in_.size() + elements_ - 1) / elements_);
}

// Without what fills the last chunk up.
size_t Int32Message::own(uint32_t chunk) const {
    return std::min<size_t>(elements_, in_.size() - first(chunk));
}

uint16_t Int32Message::count(uint32_t chunk) const {
    return static_cast<uint16_t>((own(chunk) + 1) & ~size_t{1});
}

int8_t Int32Message::write(uint32_t chunk, std::span<uint8_t> bytes) const {
    const size_t size = own(chunk) * sizeof(int32_t);
    std::memcpy(bytes.data(), in_.data() + first(chunk), size);
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(size), bytes.end(), uint8_t{0});
    return 0;
}

void Int32Message::read(uint32_t chunk, std::span<const uint8_t> bytes, int8_t) {
    std::memcpy(out_.data() + first(chunk), bytes.data(), own(chunk) * sizeof(int32_t));
}

}  // namespace pktpit::allreduce
