#include "fib/prefix_table.h"

#include <cassert>

namespace pktpit::fib {
namespace {

MultibitTable make_table(Family family, std::byte* image, const pp_fib_geometry& g,
                         const GracePeriod& grace_period) {
    const auto entries = [image](uint32_t offset) { return reinterpret_cast<uint32_t*>(image + offset); };
    if (family == Family::ipv4)
        return {entries(g.root4_offset), entries(g.block4_offset), g.block4_count, PP_FIB_LEVELS4,
                grace_period};
    return {entries(g.root6_offset), entries(g.block6_offset), g.block6_count, PP_FIB_LEVELS6, grace_period};
}

Error table_full(const Prefix& prefix, const IdPool& blocks, size_t prefixes) {
    const bool v4 = prefix.address.is_v4();
    return {prefix.to_string(),
            std::string(v4 ? "IPv4" : "IPv6") + " table full: " + std::to_string(blocks.used()) + " of " +
                std::to_string(blocks.capacity()) + " blocks in use by " + std::to_string(prefixes) +
                " prefixes",
            {},
            std::string("raise ") + (v4 ? "/fib/ipv4_blocks" : "/fib/ipv6_blocks")};
}

}  // namespace

template <class Key>
PrefixTable<Key>::PrefixTable(std::byte* image, const pp_fib_geometry& geometry,
                              const GracePeriod& grace_period)
    : table_(make_table(Key::family, image, geometry, grace_period)) {}

template <class Key>
Result<void> PrefixTable<Key>::set(const Prefix& prefix, GroupId group) {
    const Key key = Key::of(prefix);
    const GroupId* present = prefixes_.find(key);
    if (present && *present == group) return {};
    if (!table_.insert(prefix.address.bytes.data(), prefix.length, group, present == nullptr))
        return tl::unexpected(table_full(prefix, table_.blocks(), prefixes_.size()));
    prefixes_.set(key, group);
    return {};
}

template <class Key>
bool PrefixTable<Key>::erase(const Prefix& prefix) {
    const Key key = Key::of(prefix);
    if (!prefixes_.erase(key)) return false;
    const auto cover = prefixes_.match(key, int{prefix.length} - 1, [](GroupId) { return true; });
    MultibitTable::Owner owner;
    if (cover) owner = {cover->second, static_cast<int>(cover->first.length)};
    table_.erase(prefix.address.bytes.data(), prefix.length, owner);
    return true;
}

template <class Key>
std::optional<GroupId> PrefixTable<Key>::find(const Prefix& prefix) const {
    const GroupId* group = prefixes_.find(Key::of(prefix));
    return group ? std::optional(*group) : std::nullopt;
}

template <class Key>
std::optional<std::pair<Prefix, GroupId>> PrefixTable<Key>::match(const IpAddress& address) const {
    const auto [group, length] = table_.match(address.bytes.data());
    if (length < 0) return std::nullopt;
    return std::pair{Prefix::of(address, static_cast<unsigned>(length)), group};
}

template class PrefixTable<PrefixKey4>;
template class PrefixTable<PrefixKey6>;

}  // namespace pktpit::fib
