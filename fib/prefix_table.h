/// The prefixes of one family in a FIB image: which there are, and the lookup structure made of them.
///
/// Used by FibImage alone. The lookup structure (fib/multibit_table.h) is hidden behind this. Writer's thread
/// only.
#pragma once

#include "fib/image.h"
#include "fib/multibit_table.h"
#include "fib/prefix_map.h"

namespace pktpit::fib {

template <class Key>
class PrefixTable {
  public:
    /// Where the structure lies in `image`, and how large it is, stands in `geometry`.
    PrefixTable(std::byte* image, const pp_fib_geometry& geometry, const GracePeriod& grace_period);

    Result<void> set(const Prefix& prefix, GroupId group);
    bool erase(const Prefix& prefix);
    [[nodiscard]] std::optional<GroupId> find(const Prefix& prefix) const;
    [[nodiscard]] std::optional<std::pair<Prefix, GroupId>> match(const IpAddress& address) const;
    [[nodiscard]] size_t size() const { return prefixes_.size(); }
    [[nodiscard]] uint32_t blocks_used() const { return table_.blocks().used(); }

  private:
    PrefixMap<Key, GroupId> prefixes_;
    MultibitTable table_;
};

extern template class PrefixTable<PrefixKey4>;
extern template class PrefixTable<PrefixKey6>;

}  // namespace pktpit::fib
