// SPDX-License-Identifier: BSD-3-Clause
#include "router/filter/filter_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace pktpit::router {
namespace {

size_t interface_count(const FilterSet& set) {
    uint16_t highest = 0;
    for (const auto& one : set.interfaces)
        highest = std::max(highest, one.id);
    return size_t{highest} + 1;
}

size_t nodes_bytes(const FilterSet& set) {
    return set.compiled->nodes.size() * 8;
}

size_t data_bytes(const FilterSet& set) {
    return set.compiled->data.size() * 8 + interface_count(set) * sizeof(pp_filter_interface);
}

uint64_t* current_of(std::span<std::byte> block) {
    return reinterpret_cast<uint64_t*>(block.data());
}

/// The rule's counter is one of all filters' from now on. 0 is none.
void number_counters(std::byte* data, const CompiledFilters::One& filter, uint32_t first) {
    for (const uint32_t at : filter.words) {
        uint32_t word = 0;
        std::memcpy(&word, data + at, sizeof word);
        word += first << 8;
        std::memcpy(data + at, &word, sizeof word);
    }
}

}  // namespace

bool FilterSet::concerns(uint16_t port) const {
    return any() && std::ranges::any_of(interfaces, [port](const Interface& one) {
               return !one.out.empty() || one.port == port;
           });
}

pp_filter_shape plan_filters(const FilterSet& set) {
    constexpr size_t least = 4096;
    const auto nodes = static_cast<uint32_t>(std::bit_ceil(std::max(nodes_bytes(set), least)));
    // Some more, so that a reload that adds a few rules finds room.
    const auto data = static_cast<uint32_t>(std::bit_ceil(std::max(data_bytes(set) * 5 / 4, least)));
    pp_filter_shape shape{};
    shape.nodes.node_bytes = nodes;
    shape.data_offset = nodes;
    shape.data_bytes = data;
    shape.half_bytes = nodes + data;
    shape.counters = std::bit_ceil(std::max(set.counters, 64U));
    return shape;
}

size_t filter_block_bytes(const pp_filter_shape& shape) {
    return PP_FILTER_FIRST + size_t{2} * shape.half_bytes;
}

bool filters_fit(const pp_filter_shape& shape, const FilterSet& set) {
    return nodes_bytes(set) <= shape.nodes.node_bytes && data_bytes(set) <= shape.data_bytes &&
           set.counters <= shape.counters;
}

void write_filters(std::span<std::byte> block, const pp_filter_shape& shape, const FilterSet& set) {
    const uint64_t other = ~*current_of(block) & 1;
    std::byte* half = block.data() + PP_FILTER_FIRST + other * shape.half_bytes;
    std::byte* data = half + shape.data_offset;
    std::memcpy(half, set.compiled->nodes.data(), nodes_bytes(set));
    std::memcpy(data, set.compiled->data.data(), set.compiled->data.size() * 8);
    for (const auto& [name, filter] : set.compiled->filters)
        number_counters(data, filter, set.first_counter.at(name));

    std::vector<pp_filter_interface> table(interface_count(set));
    for (const auto& one : set.interfaces) {
        if (!one.in.empty()) table[one.id].in = set.compiled->filters.at(one.in).at;
        if (!one.out.empty()) table[one.id].out = set.compiled->filters.at(one.out).at;
    }
    pp_filter_head head{};
    head.interfaces = static_cast<uint32_t>(set.compiled->data.size() * 8);
    head.interface_count = static_cast<uint32_t>(table.size());
    std::memcpy(data + head.interfaces, table.data(), table.size() * sizeof table[0]);
    std::memcpy(data, &head, sizeof head);
}

void publish_filters(std::span<std::byte> block) {
    uint64_t* current = current_of(block);
    __atomic_store_n(current, ~*current & 1, __ATOMIC_RELEASE);
}

Result<std::unique_ptr<FilterBlock>> FilterBlock::make(const FilterSet& set) {
    std::unique_ptr<FilterBlock> self(new FilterBlock);
    self->shape_ = plan_filters(set);
    auto memory = HugeMemory::map(filter_block_bytes(self->shape_));
    if (!memory) return tl::unexpected(memory.error());
    self->memory_ = std::move(*memory);
    write_filters(self->memory_.bytes(), self->shape_, set);
    publish_filters(self->memory_.bytes());
    self->view_ = {self->memory_.bytes().data(), &self->shape_};
    return self;
}

}  // namespace pktpit::router
