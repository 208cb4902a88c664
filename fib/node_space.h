// SPDX-License-Identifier: BSD-3-Clause
/// The memory of a FIB image's nodes: places of 2^4 to 2^10 bytes, and the 256 KiB of roots. Bounded: when it
/// is full, take() says so. What is given back is used again when no reader can hold it any more.
///
/// Used by fib/nodes.h alone. Writer's thread only. Readers' memory is not touched here.
///
/// Pages of 1 KiB hold places of one size each; a page that is empty again may take any size. So memory does
/// not fall apart: what one page's worth of changes leaves free serves every later one.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "fib/entry.h"
#include "fib/reclamation.h"

namespace pktpit::fib {

class NodeSpace {
  public:
    /// `bytes` of memory, of which the first page and `roots` roots behind it are set apart.
    NodeSpace(uint32_t bytes, uint32_t roots, Reclamation reclamation);

    /// A place (in units of PP_FIB_PLACE_UNIT bytes), or nothing: full. Waits for a grace period only when
    /// nothing else is left.
    std::optional<uint32_t> take(unsigned size_bits);
    /// No reader ever saw it: free at once.
    void drop(uint32_t place, unsigned size_bits);
    /// Nothing that a reader may find from now on may lead to it.
    void retire(uint32_t place, unsigned size_bits);

    /// Of used_bytes() alone: what a batch replaced is not counted from then on, whether retired or not.
    void uncount(uint64_t bytes) { used_ -= bytes; }
    void recount(uint64_t bytes) { used_ += bytes; }

    std::optional<uint32_t> take_root();
    void drop_root(uint32_t place);
    void retire_root(uint32_t place);

    /// Bytes that entries lead to, without what waits for readers and what is free in pages begun.
    [[nodiscard]] uint64_t used_bytes() const { return used_; }
    /// Bytes that cannot be had now: used, waiting for readers, or the free rest of pages begun.
    [[nodiscard]] uint64_t taken_bytes() const;
    [[nodiscard]] uint64_t capacity_bytes() const { return uint64_t{page_count_} << page_bits; }

    /// Compaction: the emptiest pages of each size, as many as the others have room for, are not taken from
    /// any more until end_evacuation(), so that moving the nodes off them empties them. Ends by itself when
    /// memory is out otherwise: compaction never refuses a change.
    void begin_evacuation();
    void end_evacuation();
    [[nodiscard]] bool evacuating(uint32_t place) const;

  private:
    static constexpr unsigned page_bits = most_size_bits;
    static constexpr uint8_t root_size = 0xff;
    struct Page {
        uint64_t free = 0;      ///< a bit for each place
        uint8_t size_bits = 0;  ///< 0: the page is empty
        bool evacuating = false;
        uint16_t listed = 0;  ///< by size_bits: mentioned in partial_
    };
    struct Waiting {
        uint32_t place;
        uint8_t size_bits;
    };

    [[nodiscard]] std::optional<uint32_t> take_free(unsigned size_bits);
    [[nodiscard]] std::optional<uint32_t> take_free_root();
    void free_place(uint32_t place, unsigned size_bits);
    void list(uint32_t number, unsigned size_bits);
    void retire(Waiting waiting);
    void collect(size_t most);

    uint32_t first_page_;  ///< those before are the identity bytes and the roots
    uint32_t page_count_;
    uint32_t fresh_page_;  ///< pages from here on were never used
    std::vector<Page> pages_;
    std::vector<uint32_t> empty_pages_;
    std::array<std::vector<uint32_t>, most_size_bits + 1>
        partial_;  ///< pages with free places, and stale mentions
    std::vector<uint32_t> free_roots_;
    std::deque<Waiting> waiting_;                        ///< oldest first
    std::deque<std::pair<uint64_t, uint32_t>> tickets_;  ///< for how many of waiting_, from its front
    Reclamation reclamation_;
    uint64_t used_ = 0;
    bool evacuating_ = false;
};

}  // namespace pktpit::fib
