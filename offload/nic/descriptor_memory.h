// SPDX-License-Identifier: BSD-3-Clause
/// Descriptor words in memory that the device reads and writes at the same time: 64-bit, little-endian,
/// naturally aligned. Packet path; nothing here knows what the words mean.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pktpit::offload {

constexpr uint64_t little_endian(uint64_t value) {
    if constexpr (std::endian::native == std::endian::little) return value;
    return __builtin_bswap64(value);
}

/// One descriptor, as words.
class DescriptorWords {
  public:
    explicit DescriptorWords(std::byte* at) : words_(reinterpret_cast<uint64_t*>(at)) {}

    /// The word that holds the "done" bit: what is loaded after it is at least as new.
    [[nodiscard]] uint64_t load_first(size_t word) const {
        return little_endian(std::atomic_ref<uint64_t>(words_[word]).load(std::memory_order_acquire));
    }
    [[nodiscard]] uint64_t load(size_t word) const {
        return little_endian(std::atomic_ref<uint64_t>(words_[word]).load(std::memory_order_relaxed));
    }
    void store(size_t word, uint64_t value) const {
        std::atomic_ref<uint64_t>(words_[word]).store(little_endian(value), std::memory_order_relaxed);
    }

  private:
    uint64_t* words_;
};

/// Between writing descriptors and the doorbell. On x86 stores stay in order and the doorbell is an uncached
/// store, so that nothing but the compiler must be held back; elsewhere it is a barrier instruction.
inline void before_doorbell() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace pktpit::offload
