/// The longest-prefix-match structure of one family: a 16-bit root and blocks of 8 bits below it
/// (fib/layout.h), written while readers look up.
///
/// Beside each entry the writer keeps, in its own memory, the length of the prefix that owns it. So a prefix
/// overwrites just what belongs to shorter ones, and nothing of the table has to be searched or rebuilt.
/// It does not know which prefixes exist: that is fib/prefix_table.h, its only user. Writer's thread only.
#pragma once

#include <cstdint>
#include <memory>

#include "fib/id_pool.h"

namespace pktpit::fib {

class MultibitTable {
  public:
    /// `root`: 65536 entries, zero. `blocks`: 256 entries each, contents do not matter. `levels`: block
    /// levels below the root; the table takes prefixes up to 16 + 8 * levels bits.
    MultibitTable(uint32_t* root, uint32_t* blocks, uint32_t block_count, unsigned levels,
                  std::function<void()> grace_period);

    /// `address` is in network byte order, as many bytes as the family has. `is_new`: the prefix was not
    /// there before, else it is replaced. False: too few blocks left, and nothing changed.
    bool insert(const uint8_t* address, unsigned length, uint32_t group, bool is_new);

    /// What decides where a prefix ends: the next shorter prefix, or nothing.
    struct Owner {
        uint32_t group = 0;
        int length = -1;  ///< -1: no prefix
    };
    /// The prefix must be there; `cover` is the longest other prefix around it.
    void erase(const uint8_t* address, unsigned length, Owner cover);

    [[nodiscard]] Owner match(const uint8_t* address) const;
    [[nodiscard]] const IdPool& blocks() const { return pool_; }

  private:
    struct Slot {
        uint32_t* entry;
        uint8_t* owner;
    };
    [[nodiscard]] Slot root_slot(const uint8_t* address) const;
    [[nodiscard]] Slot block_slot(uint32_t entry, unsigned index) const;
    void rewrite(Slot first, unsigned count, uint8_t limit, uint32_t group, uint8_t owner);
    uint32_t build_chain(const uint8_t* address, unsigned length, uint32_t group, unsigned from, unsigned to,
                         Slot above);

    uint32_t* root_;
    uint32_t* blocks_;
    unsigned levels_;
    IdPool pool_;
    std::unique_ptr<uint8_t[]> root_owners_;  ///< prefix length + 1, 0: no prefix
    std::unique_ptr<uint8_t[]> block_owners_;
    std::unique_ptr<uint16_t[]> users_;  ///< by block: prefixes that end in it, and blocks below it
};

}  // namespace pktpit::fib
