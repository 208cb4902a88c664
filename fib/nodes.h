// SPDX-License-Identifier: BSD-3-Clause
/// The nodes of a FIB image as the writer sees them: made, read, changed, copied and taken out of use, in the
/// memory that readers look at. It knows no prefixes: that is fib/prefix_table.h. Writer's thread only.
///
/// A slot is where an entry stands: a table's entry, or an element of a node. Storing an entry there
/// publishes what it leads to. Between begin_batch() and its end only nodes made since are changed in place
/// (own()), so that readers see nothing until the table's entry is stored.
#pragma once

#include <tsl/robin_set.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "fib/entry.h"
#include "fib/node_space.h"
#include "fib/store.h"

namespace pktpit::fib {

class Nodes {
  public:
    /// `memory`: bytes and roots as the geometry says. Writes the identity bytes.
    Nodes(std::byte* memory, uint32_t bytes, uint32_t roots, Reclamation reclamation);

    /// A node of ids or entries; its elements are what was there before. Nothing: no memory left.
    std::optional<Entry> make(pp_fib_kind kind, unsigned stride);
    std::optional<Entry> make_sorted(const pp_fib_sorted& value);
    std::optional<Entry> make_root();
    /// The node was never published.
    void drop(Entry node);
    /// The node is not reachable any more, but readers may hold it. What lies below it is not touched.
    void retire(Entry node);

    /// Elements of a node of ids or entries, or of a root.
    [[nodiscard]] uint32_t element(Entry node, unsigned index) const;
    void set_element(Entry node, unsigned index, uint32_t value);
    /// Of ENTRIES and ROOT: the element as a slot.
    [[nodiscard]] Entry* slot(Entry node, unsigned index) const {
        return reinterpret_cast<Entry*>(at(node)) + index;
    }
    [[nodiscard]] pp_fib_sorted* sorted(Entry node) const {
        return reinterpret_cast<pp_fib_sorted*>(at(node));
    }
    void publish(Entry* slot, Entry entry) {
        store_release(slot, entry);
        if (mirrored_ && slot == &mirrored_->entry4) store_release(&mirror_->entry4, entry);
        if (mirrored_ && slot == &mirrored_->entry6) store_release(&mirror_->entry6, entry);
    }
    /// What is published in `of` is published in `mirror` as well, before what it replaces is retired. Null:
    /// no more.
    void set_mirror(const pp_fib_table* of, pp_fib_table* mirror) {
        mirrored_ = of;
        mirror_ = mirror;
    }

    /// From here on own() copies. One batch at a time.
    void begin_batch();
    /// Makes sure that the node in `slot`, which is itself owned, may be changed in place: outside a batch it
    /// may; inside, a node from before is replaced by a copy. False: no memory left.
    bool own(Entry* slot);
    /// Replaces the node in `slot` by a copy elsewhere, and retires it. False: no memory left.
    bool move(Entry* slot);
    void commit_batch();   ///< what was replaced is retired; after the table's entry was stored
    void discard_batch();  ///< what was made is dropped; the table's entry was not stored

    [[nodiscard]] NodeSpace& space() { return space_; }
    [[nodiscard]] const NodeSpace& space() const { return space_; }

  private:
    [[nodiscard]] std::byte* at(Entry node) const {
        return memory_ + size_t{place_of(node)} * PP_FIB_PLACE_UNIT;
    }
    std::optional<Entry> made(std::optional<uint32_t> place, pp_fib_kind kind, unsigned stride);
    std::optional<Entry> copy(Entry node);
    void replace(Entry node);
    void forget_replaced();
    void drop_place(Entry node);
    void retire_place(Entry node);

    std::byte* memory_;
    NodeSpace space_;
    const pp_fib_table* mirrored_ = nullptr;
    pp_fib_table* mirror_ = nullptr;
    bool in_batch_ = false;
    tsl::robin_set<Entry> fresh_;  ///< made in this batch and still in use
    std::vector<Entry> replaced_;  ///< from before the batch, to be retired when it is visible
};

}  // namespace pktpit::fib
