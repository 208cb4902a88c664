#include "fib/image.h"

#include <cassert>
#include <cstring>

#include "fib/adjacencies.h"
#include "fib/groups.h"
#include "fib/lookup.h"
#include "fib/prefix_table.h"
#include "fib/store.h"
#include "fib/vlans.h"

namespace pktpit::fib {
namespace {

/// Everything but the blocks, which no reader reaches before they are filled: clearing them would touch
/// tens of megabytes that may never be used.
std::byte* format(std::span<std::byte> memory, const pp_fib_geometry& geometry) {
    assert(memory.size() >= geometry.image_bytes);
    assert(reinterpret_cast<uintptr_t>(memory.data()) % 64 == 0);
    std::memset(memory.data(), 0, geometry.block4_offset);
    std::memcpy(memory.data(), &geometry, sizeof(geometry));
    return memory.data();
}

}  // namespace

struct FibImage::State {
    State(std::span<std::byte> the_memory, const pp_fib_geometry& the_geometry,
          const GracePeriod& grace_period)
        : memory(the_memory),
          geometry(the_geometry),
          base(format(memory, geometry)),
          groups(base, geometry, grace_period),
          adjacencies(base, geometry, grace_period),
          vlans(base, geometry),
          table4(base, geometry, grace_period),
          table6(base, geometry, grace_period) {}

    std::span<std::byte> memory;
    pp_fib_geometry geometry;
    std::byte* base;
    Groups groups;
    Adjacencies adjacencies;
    Vlans vlans;
    PrefixTable<PrefixKey4> table4;
    PrefixTable<PrefixKey6> table6;
};

FibImage::FibImage(std::span<std::byte> memory, const pp_fib_geometry& geometry,
                   const GracePeriod& grace_period)
    : state_(std::make_unique<State>(memory, geometry, grace_period)) {}
FibImage::~FibImage() = default;
FibImage::FibImage(FibImage&&) noexcept = default;
FibImage& FibImage::operator=(FibImage&&) noexcept = default;

Result<void> FibImage::set(const Prefix& prefix, GroupId group) {
    if (!state_->groups.exists(group))
        return fail(prefix.to_string(), "next-hop group " + std::to_string(group) + " does not exist");
    return prefix.address.is_v4() ? state_->table4.set(prefix, group) : state_->table6.set(prefix, group);
}

bool FibImage::erase(const Prefix& prefix) {
    return prefix.address.is_v4() ? state_->table4.erase(prefix) : state_->table6.erase(prefix);
}

std::optional<GroupId> FibImage::find(const Prefix& prefix) const {
    return prefix.address.is_v4() ? state_->table4.find(prefix) : state_->table6.find(prefix);
}

GroupId FibImage::lookup(const IpAddress& address) const {
    if (address.is_v4()) return pp_fib_lookup4(state_->base, &state_->geometry, address.v4_host_order());
    return pp_fib_lookup6(state_->base, &state_->geometry, address.bytes.data());
}

std::optional<std::pair<Prefix, GroupId>> FibImage::match(const IpAddress& address) const {
    return address.is_v4() ? state_->table4.match(address) : state_->table6.match(address);
}

size_t FibImage::prefix_count(Family family) const {
    return family == Family::ipv4 ? state_->table4.size() : state_->table6.size();
}

Result<GroupId> FibImage::add_group(std::span<const std::pair<AdjacencyId, uint16_t>> members) {
    return state_->groups.add(members);
}

Result<void> FibImage::replace_group(GroupId group,
                                     std::span<const std::pair<AdjacencyId, uint16_t>> members) {
    return state_->groups.replace(group, members);
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

Result<void> FibImage::set_vlan(uint16_t port, uint16_t outer, uint16_t inner, uint16_t interface) {
    return state_->vlans.set({port, outer, inner, interface});
}

void FibImage::erase_vlan(uint16_t port, uint16_t outer, uint16_t inner) {
    state_->vlans.erase({port, outer, inner, 0});
}

std::span<const std::byte> FibImage::memory() const {
    return state_->memory;
}

const pp_fib_geometry& FibImage::geometry() const {
    return state_->geometry;
}

FibImage::Usage FibImage::usage() const {
    const State& s = *state_;
    return {s.groups.used(),        s.groups.buckets_used(), s.adjacencies.used(), s.table4.blocks_used(),
            s.table6.blocks_used(), s.vlans.used(),          s.table4.size(),      s.table6.size()};
}

}  // namespace pktpit::fib
