// SPDX-License-Identifier: BSD-3-Clause
/// How the writer of a FIB image stores into memory that readers look at meanwhile. Writer's thread only.
#pragma once

#include <cstdint>
#include <cstring>

namespace pktpit::fib {

/// For memory that no reader can reach yet, and for values that refer to nothing. Atomic all the same: the
/// reader's relaxed loads (fib/lookup.h) do not order themselves after what published the memory.
template <class T>
void store_relaxed(T* place, T value) {
    __atomic_store_n(place, value, __ATOMIC_RELAXED);
}

/// The writer's own reading of what it stores in several widths.
template <class T>
[[nodiscard]] T load_relaxed(const T* place) {
    return __atomic_load_n(place, __ATOMIC_RELAXED);
}

/// Makes everything written before it visible to whoever follows `value`.
template <class T>
void store_release(T* place, T value) {
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
}

/// Stores a struct of whole 8-byte words, each word at once, first word last: it carries the flag that
/// readers look at first.
template <class T>
void store_words(T* place, const T& value) {
    static_assert(sizeof(T) % 8 == 0);
    uint64_t words[sizeof(T) / 8];
    std::memcpy(words, &value, sizeof(T));
    using Word [[gnu::may_alias]] = uint64_t;
    auto* target = reinterpret_cast<Word*>(place);
    for (size_t i = sizeof(T) / 8; i-- > 0;)
        __atomic_store_n(target + i, words[i], __ATOMIC_RELEASE);
}

}  // namespace pktpit::fib
