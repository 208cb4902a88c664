// SPDX-License-Identifier: BSD-3-Clause
/// The routing tables of a FIB image: which there are, and changes of one table that become visible together.
/// Used by FibImage alone. Writer's thread only.
#pragma once

#include <memory>
#include <vector>

#include "fib/id_pool.h"
#include "fib/image.h"
#include "fib/nodes.h"
#include "fib/prefix_table.h"

namespace pktpit::fib {

class RoutingTables {
  public:
    RoutingTables(std::byte* image, const pp_fib_geometry& geometry, const Reclamation& reclamation);

    Result<void> set(TableId table, const Prefix& prefix, GroupId group);
    Result<bool> erase(TableId table, const Prefix& prefix);
    Result<void> apply(TableId table, std::span<const RouteChange> changes);
    [[nodiscard]] std::optional<GroupId> find(TableId table, const Prefix& prefix) const;
    [[nodiscard]] std::optional<std::pair<Prefix, GroupId>> match(TableId table,
                                                                  const IpAddress& address) const;
    /// The groups of exactly this prefix, and of the longest one around it.
    [[nodiscard]] std::pair<std::optional<GroupId>, std::optional<GroupId>> standing(
        TableId table, const Prefix& prefix) const;
    [[nodiscard]] std::optional<Prefix> cover(TableId table, const Prefix& prefix) const;
    [[nodiscard]] bool is_uniform(TableId table, const Prefix& range, GroupId group) const;
    [[nodiscard]] size_t size(TableId table, Family family) const;

    Result<TableId> add();
    void remove(TableId table);
    void mirror(TableId table, std::optional<TableId> of);
    [[nodiscard]] bool exists(TableId table) const { return table < tables_.size() && tables_[table]; }
    bool compact(size_t budget);

    void report(FibImage::Usage& usage) const;

  private:
    struct Table {
        Table(Nodes& nodes, pp_fib_table* entries, bool rooted)
            : v4(nodes, &entries->entry4, rooted), v6(nodes, &entries->entry6, rooted) {}
        PrefixTable<PrefixKey4> v4;
        PrefixTable<PrefixKey6> v6;
    };
    [[nodiscard]] Error full(const Prefix& prefix) const;

    pp_fib_table* entries_;
    Nodes nodes_;
    IdPool ids_;
    std::vector<std::unique_ptr<Table>> tables_;
    struct Mirror {
        TableId table = 0;
        TableId of = 0;
    };
    std::optional<Mirror> mirror_;
    [[nodiscard]] bool is_mirror(TableId table) const { return mirror_ && mirror_->table == table; }
    struct Cursor {
        bool compacting = false;
        TableId table = 0;
        bool v6 = false;
        uint32_t first = 0;
    } cursor_;
};

}  // namespace pktpit::fib
