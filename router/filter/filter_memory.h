// SPDX-License-Identifier: BSD-3-Clause
/// The block of a filter image (bpf/filter_layout.h) and its writer: two halves, of which readers are in one.
/// The memory is the caller's, an mmapped BPF map or a piece of the heap. One thread writes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/huge_memory.h"
#include "router/filter/compile.h"
#include "router/filter/filter_view.h"

namespace pktpit::router {

/// What is to be in force: filters, and which interface has which.
struct FilterSet {
    struct Interface {
        uint16_t id = 0;
        uint16_t port = 0;  ///< that carries it
        std::string in{};   ///< empty: none
        std::string out{};
        bool operator==(const Interface&) const = default;
    };
    std::shared_ptr<const CompiledFilters> compiled;  ///< null: none at all
    std::vector<Interface> interfaces;                ///< that have one
    std::map<std::string, uint32_t> first_counter;    ///< of each filter
    uint32_t counters = 0;                            ///< behind the last one in use

    [[nodiscard]] bool any() const { return compiled && !interfaces.empty(); }
    /// Do packets that come in by the port meet a filter?
    [[nodiscard]] bool concerns(uint16_t port) const;
};

/// A set in memory of its own, for readers in this process.
class FilterBlock {
  public:
    /// Errors: no memory.
    static Result<std::unique_ptr<FilterBlock>> make(const FilterSet& set);
    [[nodiscard]] const FilterView& view() const { return view_; }

  private:
    FilterBlock() = default;
    HugeMemory memory_;
    pp_filter_shape shape_{};
    FilterView view_;
};

/// The shape of a block that has room for the set.
pp_filter_shape plan_filters(const FilterSet& set);
/// Bytes of a block.
size_t filter_block_bytes(const pp_filter_shape& shape);
/// Has a block of this shape room for the set?
bool filters_fit(const pp_filter_shape& shape, const FilterSet& set);
/// Writes the set into the half that readers are not in. None may be left in it from before.
void write_filters(std::span<std::byte> block, const pp_filter_shape& shape, const FilterSet& set);
/// From now on readers find what was written last.
void publish_filters(std::span<std::byte> block);

}  // namespace pktpit::router
