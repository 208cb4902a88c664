// SPDX-License-Identifier: BSD-3-Clause
#include "fib/image.h"

#include <cassert>
#include <cstring>

#include "fib/adjacencies.h"
#include "fib/groups.h"
#include "fib/lookup.h"
#include "fib/routing_tables.h"
#include "fib/sources.h"
#include "fib/store.h"
#include "fib/vlans.h"

namespace pktpit::fib {
namespace {

/// Everything but the nodes, which no reader reaches before they are filled: clearing them would touch
/// tens of megabytes that may never be used.
std::byte* format(std::span<std::byte> memory, const pp_fib_geometry& geometry) {
    assert(memory.size() >= geometry.image_bytes);
    assert(reinterpret_cast<uintptr_t>(memory.data()) % 64 == 0);
    std::memset(memory.data(), 0, geometry.node_offset);
    std::memcpy(memory.data(), &geometry, sizeof(geometry));
    return memory.data();
}

}  // namespace

struct FibImage::State {
    State(std::span<std::byte> the_memory, const pp_fib_geometry& the_geometry,
          const Reclamation& reclamation)
        : memory(the_memory),
          geometry(the_geometry),
          base(format(memory, geometry)),
          groups(base, geometry, reclamation),
          adjacencies(base, geometry, reclamation),
          vlans(base, geometry),
          sources(base, geometry),
          tables(base, geometry, reclamation) {}

    [[nodiscard]] Result<void> check_group(const Prefix& prefix, GroupId group) const {
        if (groups.exists(group)) return {};
        return fail(prefix.to_string(), "next-hop group " + std::to_string(group) + " does not exist");
    }

    std::span<std::byte> memory;
    pp_fib_geometry geometry;
    std::byte* base;
    Groups groups;
    Adjacencies adjacencies;
    Vlans vlans;
    Sources sources;
    RoutingTables tables;
};

FibImage::FibImage(std::span<std::byte> memory, const pp_fib_geometry& geometry,
                   const Reclamation& reclamation)
    : state_(std::make_unique<State>(memory, geometry, reclamation)) {}
FibImage::~FibImage() = default;
FibImage::FibImage(FibImage&&) noexcept = default;
FibImage& FibImage::operator=(FibImage&&) noexcept = default;

Result<void> FibImage::set(const Prefix& prefix, GroupId group, TableId table) {
    if (auto exists = state_->check_group(prefix, group); !exists) return exists;
    return state_->tables.set(table, prefix, group);
}

Result<bool> FibImage::erase(const Prefix& prefix, TableId table) {
    return state_->tables.erase(table, prefix);
}

Result<void> FibImage::apply(std::span<const RouteChange> changes, TableId table) {
    for (const auto& [prefix, group] : changes)
        if (group)
            if (auto exists = state_->check_group(prefix, *group); !exists) return exists;
    return state_->tables.apply(table, changes);
}

std::optional<GroupId> FibImage::find(const Prefix& prefix, TableId table) const {
    return state_->tables.find(table, prefix);
}

GroupId FibImage::lookup(const IpAddress& address, TableId table) const {
    if (address.is_v4())
        return pp_fib_lookup4_in(state_->base, &state_->geometry, table, address.v4_host_order());
    return pp_fib_lookup6_in(state_->base, &state_->geometry, table, address.bytes.data());
}

std::optional<std::pair<Prefix, GroupId>> FibImage::match(const IpAddress& address, TableId table) const {
    return state_->tables.match(table, address);
}

FibImage::Standing FibImage::standing(const Prefix& prefix, TableId table) const {
    const auto [own, around] = state_->tables.standing(table, prefix);
    return {own, around};
}

std::optional<Prefix> FibImage::cover(const Prefix& prefix, TableId table) const {
    return state_->tables.cover(table, prefix);
}

bool FibImage::is_uniform(const Prefix& range, GroupId group, TableId table) const {
    return state_->tables.is_uniform(table, range, group);
}

// Grown bit by bit: each half that is added is looked at once, so that the whole costs as much as its last
// step.
Prefix FibImage::uniform_block(const IpAddress& address, unsigned shortest, TableId table) const {
    const GroupId group = lookup(address, table);
    Prefix block = Prefix::of(address, address.bits());
    while (block.length > shortest) {
        const auto bit = static_cast<uint8_t>(0x80 >> (block.length - 1) % 8);
        Prefix sibling = block;
        sibling.address.bytes[(block.length - 1) / 8u] ^= bit;
        if (!is_uniform(sibling, group, table)) break;
        block = Prefix::of(address, block.length - 1u);
    }
    return block;
}

size_t FibImage::prefix_count(Family family, TableId table) const {
    return state_->tables.size(table, family);
}

Result<TableId> FibImage::add_table() {
    return state_->tables.add();
}

void FibImage::remove_table(TableId table) {
    state_->tables.remove(table);
}

void FibImage::mirror(TableId table, std::optional<TableId> of) {
    state_->tables.mirror(table, of);
}

bool FibImage::compact(size_t budget) {
    return state_->tables.compact(budget);
}

Result<GroupId> FibImage::add_group(std::span<const std::pair<AdjacencyId, uint16_t>> members,
                                    uint16_t counter) {
    return state_->groups.add(members, counter);
}

Result<void> FibImage::replace_group(GroupId group,
                                     std::span<const std::pair<AdjacencyId, uint16_t>> members) {
    return state_->groups.replace(group, members);
}

Result<void> FibImage::rebalance_group(GroupId group) {
    return state_->groups.rebalance(group);
}

void FibImage::remove_group(GroupId group) {
    state_->groups.remove(group);
}

Result<AdjacencyId> FibImage::add_adjacency(const pp_fib_adjacency& value) {
    return state_->adjacencies.add(value);
}

void FibImage::update_adjacency(AdjacencyId id, const pp_fib_adjacency& value) {
    state_->adjacencies.update(id, value);
}

void FibImage::remove_adjacency(AdjacencyId id) {
    state_->adjacencies.remove(id);
}

const pp_fib_adjacency& FibImage::adjacency(AdjacencyId id) const {
    return state_->adjacencies.at(id);
}

void FibImage::set_port(uint16_t port, const pp_fib_port& value) {
    assert(port < state_->geometry.port_count);
    store_words(reinterpret_cast<pp_fib_port*>(state_->base + state_->geometry.port_offset) + port, value);
}

void FibImage::set_interface(uint16_t interface, const pp_fib_interface& tables) {
    auto* all = reinterpret_cast<__u32*>(state_->base + state_->geometry.interface_offset);
    store_release<__u32>(all + interface, uint32_t{tables.host_table} << 16 | tables.table);
}

Result<void> FibImage::set_vlan(uint16_t port, uint16_t outer, uint16_t inner, uint16_t interface) {
    return state_->vlans.set({port, outer, inner, interface});
}

void FibImage::erase_vlan(uint16_t port, uint16_t outer, uint16_t inner) {
    state_->vlans.erase({port, outer, inner, 0});
}

void FibImage::set_hash_seed(uint64_t seed) {
    auto* globals = reinterpret_cast<pp_fib_globals*>(state_->base + state_->geometry.globals_offset);
    store_relaxed<__u64>(&globals->hash_seed, seed);
}

uint64_t FibImage::hash_seed() const {
    return pp_fib_hash_seed(state_->base, &state_->geometry);
}

void FibImage::set_kernel_routes(bool some) {
    auto* globals = reinterpret_cast<pp_fib_globals*>(state_->base + state_->geometry.globals_offset);
    store_relaxed<__u64>(&globals->kernel_routes, some ? 1 : 0);
}

void FibImage::note_source(const IpAddress& address) {
    state_->sources.note(address);
}

void FibImage::forget_source(const IpAddress& address) {
    state_->sources.forget(address);
}

std::span<const std::byte> FibImage::memory() const {
    return state_->memory;
}

const pp_fib_geometry& FibImage::geometry() const {
    return state_->geometry;
}

FibImage::Usage FibImage::usage() const {
    const State& s = *state_;
    Usage usage{};
    usage.groups = s.groups.used();
    usage.buckets = s.groups.buckets_used();
    usage.adjacencies = s.adjacencies.used();
    usage.vlans = s.vlans.used();
    s.tables.report(usage);
    return usage;
}

}  // namespace pktpit::fib
