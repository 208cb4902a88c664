// SPDX-License-Identifier: BSD-3-Clause
#include "fib/routing_tables.h"

#include <cassert>
#include <string>

namespace pktpit::fib {

RoutingTables::RoutingTables(std::byte* image, const pp_fib_geometry& g, const Reclamation& reclamation)
    : entries_(reinterpret_cast<pp_fib_table*>(image + g.table_offset)),
      nodes_(image + g.node_offset, g.node_bytes, g.root_count, reclamation),
      ids_(1, g.table_count, reclamation),
      tables_(g.table_count) {
    // Most images have one table, and that is a large one.
    tables_[0] = std::make_unique<Table>(nodes_, entries_, true);
}

Error RoutingTables::full(const Prefix& prefix) const {
    const auto kib = [](uint64_t bytes) { return std::to_string(bytes >> 10) + " KiB"; };
    size_t prefixes = 0;
    for (const auto& table : tables_)
        if (table) prefixes += table->v4.size() + table->v6.size();
    return {prefix.to_string(),
            "the FIB is full: " + kib(nodes_.space().taken_bytes()) + " of " +
                kib(nodes_.space().capacity_bytes()) + " of table memory taken by " +
                std::to_string(prefixes) + " prefixes",
            {},
            "raise /fib/table_memory_mib"};
}

Result<void> RoutingTables::set(TableId table, const Prefix& prefix, GroupId group) {
    assert(exists(table) && !is_mirror(table));
    Table& t = *tables_[table];
    const bool done = prefix.address.is_v4() ? t.v4.set(PrefixKey4::of(prefix), group)
                                             : t.v6.set(PrefixKey6::of(prefix), group);
    if (!done) return tl::unexpected(full(prefix));
    return {};
}

Result<bool> RoutingTables::erase(TableId table, const Prefix& prefix) {
    assert(exists(table) && !is_mirror(table));
    Table& t = *tables_[table];
    const auto done =
        prefix.address.is_v4() ? t.v4.erase(PrefixKey4::of(prefix)) : t.v6.erase(PrefixKey6::of(prefix));
    if (!done) return tl::unexpected(full(prefix));
    return *done;
}

/// The changes are made to copies below an entry that no reader sees, and undone there if one is refused.
Result<void> RoutingTables::apply(TableId table, std::span<const RouteChange> changes) {
    assert(exists(table) && !is_mirror(table));
    Table& t = *tables_[table];
    pp_fib_table hidden = entries_[table];
    const uint64_t bytes4 = t.v4.used_bytes(), bytes6 = t.v6.used_bytes();
    nodes_.begin_batch();
    t.v4.move_top(&hidden.entry4);
    t.v6.move_top(&hidden.entry6);
    std::vector<RouteChange> undo;
    Result<void> result;
    for (const RouteChange& change : changes) {
        undo.push_back({change.prefix, find(table, change.prefix)});
        if (change.group)
            result = set(table, change.prefix, *change.group);
        else if (auto erased = erase(table, change.prefix); !erased)
            result = tl::unexpected(erased.error());
        if (!result) break;
    }
    t.v4.move_top(&entries_[table].entry4);
    t.v6.move_top(&entries_[table].entry6);
    if (result) {
        store_words(entries_ + table, hidden);
        if (mirror_ && mirror_->of == table) store_words(entries_ + mirror_->table, hidden);
        nodes_.commit_batch();
        return {};
    }
    nodes_.discard_batch();
    undo.pop_back();
    for (; !undo.empty(); undo.pop_back()) {
        const auto& [prefix, group] = undo.back();
        if (prefix.address.is_v4())
            t.v4.remember(PrefixKey4::of(prefix), group);
        else
            t.v6.remember(PrefixKey6::of(prefix), group);
    }
    t.v4.restore_used_bytes(bytes4);
    t.v6.restore_used_bytes(bytes6);
    return result;
}

std::optional<GroupId> RoutingTables::find(TableId table, const Prefix& prefix) const {
    assert(exists(table));
    const Table& t = *tables_[table];
    return prefix.address.is_v4() ? t.v4.find(PrefixKey4::of(prefix)) : t.v6.find(PrefixKey6::of(prefix));
}

std::optional<std::pair<Prefix, GroupId>> RoutingTables::match(TableId table,
                                                               const IpAddress& address) const {
    assert(exists(table));
    const Table& t = *tables_[table];
    const auto answer = [](const auto& found) {
        return found ? std::optional(std::pair{found->first.prefix(), found->second}) : std::nullopt;
    };
    return address.is_v4() ? answer(t.v4.match(PrefixKey4::of(address, 32)))
                           : answer(t.v6.match(PrefixKey6::of(address, 128)));
}

std::pair<std::optional<GroupId>, std::optional<GroupId>> RoutingTables::standing(
    TableId table, const Prefix& prefix) const {
    assert(exists(table));
    Table& t = *tables_[table];
    return prefix.address.is_v4() ? t.v4.standing(PrefixKey4::of(prefix))
                                  : t.v6.standing(PrefixKey6::of(prefix));
}

std::optional<Prefix> RoutingTables::cover(TableId table, const Prefix& prefix) const {
    assert(exists(table));
    const Table& t = *tables_[table];
    const auto answer = [](const auto& found) {
        return found ? std::optional(found->first.prefix()) : std::nullopt;
    };
    return prefix.address.is_v4() ? answer(t.v4.cover(PrefixKey4::of(prefix)))
                                  : answer(t.v6.cover(PrefixKey6::of(prefix)));
}

bool RoutingTables::is_uniform(TableId table, const Prefix& range, GroupId group) const {
    assert(exists(table));
    const Table& t = *tables_[table];
    return range.address.is_v4() ? t.v4.is_uniform(PrefixKey4::of(range), group)
                                 : t.v6.is_uniform(PrefixKey6::of(range), group);
}

size_t RoutingTables::size(TableId table, Family family) const {
    assert(exists(table));
    return family == Family::ipv4 ? tables_[table]->v4.size() : tables_[table]->v6.size();
}

Result<TableId> RoutingTables::add() {
    if (!ids_.reserve(1))
        return fail({}, "no routing table left: " + std::to_string(tables_.size()) + " in use");
    const TableId id = ids_.take();
    store_words(entries_ + id, pp_fib_table{});
    tables_[id] = std::make_unique<Table>(nodes_, entries_ + id, false);
    return id;
}

void RoutingTables::remove(TableId table) {
    assert(table != 0 && exists(table) && !(mirror_ && (mirror_->table == table || mirror_->of == table)));
    tables_[table]->v4.clear();
    tables_[table]->v6.clear();
    tables_[table].reset();
    if (cursor_.table == table) cursor_.first = 0;  // where a pass is there is nothing left to look at
    ids_.give_back(table);
}

void RoutingTables::mirror(TableId table, std::optional<TableId> of) {
    assert(exists(table) && size(table, Family::ipv4) + size(table, Family::ipv6) == 0);
    if (of) {
        assert(exists(*of) && *of != table && !mirror_);
        mirror_ = Mirror{table, *of};
        nodes_.set_mirror(entries_ + *of, entries_ + table);
        store_words(entries_ + table, entries_[*of]);
    } else if (is_mirror(table)) {
        // What readers still hold of it is the other table's, and retired as its nodes are.
        nodes_.set_mirror(nullptr, nullptr);
        store_words(entries_ + table, pp_fib_table{});
        mirror_.reset();
    }
}

bool RoutingTables::compact(size_t budget) {
    if (!cursor_.compacting) {
        cursor_ = {.compacting = true};
        nodes_.space().begin_evacuation();
    }
    if (exists(cursor_.table) && !is_mirror(cursor_.table)) {
        Table& t = *tables_[cursor_.table];
        cursor_.first =
            cursor_.v6 ? t.v6.compact(cursor_.first, budget) : t.v4.compact(cursor_.first, budget);
    }
    if (cursor_.first != 0) return false;
    if (exists(cursor_.table) && !cursor_.v6) {
        cursor_.v6 = true;
        return false;
    }
    cursor_.v6 = false;
    do
        cursor_.table++;
    while (cursor_.table < tables_.size() && !tables_[cursor_.table]);
    if (cursor_.table < tables_.size()) return false;
    nodes_.space().end_evacuation();
    cursor_.compacting = false;
    return true;
}

void RoutingTables::report(FibImage::Usage& usage) const {
    usage.tables = ids_.used() + 1;
    for (const auto& table : tables_) {
        if (!table) continue;
        usage.prefixes4 += table->v4.size();
        usage.prefixes6 += table->v6.size();
        usage.node_bytes4 += table->v4.used_bytes();
        usage.node_bytes6 += table->v6.used_bytes();
    }
    usage.node_bytes_taken = nodes_.space().taken_bytes();
    usage.node_bytes_capacity = nodes_.space().capacity_bytes();
}

}  // namespace pktpit::fib
