// SPDX-License-Identifier: BSD-3-Clause
// The input as a sequence of updates of a small FIB image with three tables: single ones, batches and steps
// of compaction, with ids of every width. Compared with the longest-prefix oracle at its end, all variants of
// the batch lookup as well, and, for the addresses touched, after each update.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "fib/reader.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/input.h"
#include "tests/property/lpm_oracle.h"
#include "tests/unit/fib/test_image.h"

namespace {

using pktpit::fuzz::demand;
using pktpit::fuzz::Input;
using namespace pktpit;

constexpr fib::TableId table_count = 3;

/// The image of all inputs: an update that leaves something behind is noticed by a later one.
struct Shared {
    Shared() : image(capacity()) {
        for (fib::TableId table = 1; table < table_count; table++)
            demand(image->add_table() == table);
        std::vector<fib::GroupId> ids;
        for (int i = 0; i < 66'000; i++)
            ids.push_back(image->add_group({}).value());
        // Of one byte, of two and of four.
        groups = {ids[0], ids[1], ids[253], ids[254], ids[255], ids[300], ids[65'534], ids[65'999]};
    }
    static fib::Capacity capacity() {
        fib::Capacity capacity = pktpit::test::TestImage::small();
        capacity.roots = 0;
        capacity.groups = 70'000;
        capacity.node_bytes = 32 << 10;
        return capacity;
    }
    pktpit::test::TestImage image;
    std::array<fib::GroupId, 8> groups{};
};

class Sequence {
  public:
    Sequence(Shared& shared, Input& input)
        : fib_(*shared.image),
          groups_(shared.groups),
          input_(input),
          family_(input.byte() & 1 ? Family::ipv6 : Family::ipv4),
          oracles_(table_count, pktpit::test::LpmOracle(family_)) {}

    void run() {
        for (int step = 0; !input_.empty() && step < 200; step++) {
            const uint8_t operation = input_.byte();
            const fib::TableId table = (operation >> 5 & 3) % table_count;
            if ((operation & 0x0f) == 0x0e)
                fib_.compact(1 + input_.byte());
            else if ((operation & 0x0f) == 0x0f)
                batch(table);
            else
                one(table, change(operation));
        }
        for (fib::TableId table = 0; table < table_count; table++)
            check_all(table);
        // A whole pass changes nothing.
        for (int steps = 0; !fib_.compact(16); steps++)
            demand(steps < 100'000);
        for (fib::TableId table = 0; table < table_count; table++)
            check_all(table);
        clear();
    }

  private:
    /// A length, the address bits that matter (those not given are 0) and what is to become of the prefix.
    fib::RouteChange change(uint8_t operation) {
        IpAddress address;
        address.family = family_;
        const unsigned length = input_.byte() % (address.bits() + 1);
        for (unsigned i = 0; i < (length + 7) / 8; i++)
            address.bytes[i] = operation & 0x80 ? static_cast<uint8_t>(input_.byte() & 0x81) : input_.byte();
        const Prefix prefix = Prefix::of(address, length);
        if (operation & 1) return {prefix, groups_[operation >> 1 & 7]};
        return {prefix, std::nullopt};
    }
    static void follow(pktpit::test::LpmOracle& oracle, const fib::RouteChange& change) {
        if (change.group)
            oracle.set(change.prefix, *change.group);
        else
            oracle.erase(change.prefix);
    }
    void one(fib::TableId table, const fib::RouteChange& change) {
        pktpit::test::LpmOracle& oracle = oracles_[table];
        if (change.group) {
            if (fib_.set(change.prefix, *change.group, table)) follow(oracle, change);
        } else if (const auto erased = fib_.erase(change.prefix, table)) {
            demand(*erased == oracle.erase(change.prefix));
        }
        check_around(change.prefix);
    }
    /// All or nothing; now and then with a group at its end that does not exist.
    void batch(fib::TableId table) {
        const uint8_t shape = input_.byte();
        std::vector<fib::RouteChange> changes;
        for (int i = 0; i < (shape & 15); i++)
            changes.push_back(change(input_.byte()));
        const bool bad = (shape & 0xf0) == 0xf0;
        if (bad) changes.push_back({Prefix::of(IpAddress::v4(0u), 0), groups_.back() + 1});
        const auto before = fib_.usage();
        if (fib_.apply(changes, table)) {
            demand(!bad);
            for (const auto& change : changes)
                follow(oracles_[table], change);
        } else {
            const auto after = fib_.usage();
            demand(after.prefixes4 == before.prefixes4 && after.prefixes6 == before.prefixes6 &&
                   after.node_bytes4 == before.node_bytes4 && after.node_bytes6 == before.node_bytes6);
        }
        for (const auto& change : changes)
            if (change.prefix.address.family == family_) check_around(change.prefix);
    }

    void check(fib::TableId table, const IpAddress& address) const {
        const auto expected = oracles_[table].match(address);
        demand(fib_.lookup(address, table) == (expected ? expected->value : 0));
        const auto match = fib_.match(address, table);
        demand(match.has_value() == expected.has_value());
        demand(!match || match->first == Prefix::of(address, expected->length));
    }
    /// In all tables: what one is told must not show in another.
    void check_around(const Prefix& prefix) const {
        for (fib::TableId table = 0; table < table_count; table++) {
            demand(fib_.find(prefix, table) == oracles_[table].find(prefix));
            for (const IpAddress& address :
                 {prefix.address, prefix.last(), oracles_[0].previous(prefix.address),
                  oracles_[0].next(prefix.last())})
                check(table, address);
        }
    }
    void check_all(fib::TableId table) const {
        demand(fib_.prefix_count(family_, table) == oracles_[table].size());
        std::vector<uint32_t> v4;
        std::vector<fib::Ip6Bytes> v6;
        std::vector<fib::GroupId> expected;
        for (const auto& [prefix, group] : oracles_[table].all()) {
            check_around(prefix);
            for (const IpAddress& address :
                 {prefix.address, prefix.last(), oracles_[table].next(prefix.last())}) {
                v4.push_back(address.v4_host_order());
                v6.push_back(address.bytes);
                expected.push_back(fib_.lookup(address, table));
            }
        }
        std::vector<fib::GroupId> found(expected.size());
        for (const auto variant : {fib::CpuVariant::scalar, fib::CpuVariant::avx2, fib::CpuVariant::avx512}) {
            if (!fib::cpu_has(variant) || expected.empty()) continue;
            const fib::FibReader reader(fib_.memory(), variant);
            if (family_ == Family::ipv4)
                reader.lookup_batch(v4, found, table);
            else
                reader.lookup_batch(v6, found, table);
            demand(found == expected);
        }
    }
    /// Shortest first: what falls to no route needs no wider nodes, so that nothing is refused.
    void clear() {
        for (fib::TableId table = 0; table < table_count; table++) {
            auto all = oracles_[table].all();
            std::sort(all.begin(), all.end(),
                      [](const auto& a, const auto& b) { return a.first.length < b.first.length; });
            for (const auto& [prefix, group] : all)
                demand(fib_.erase(prefix, table) == true);
            demand(fib_.prefix_count(family_, table) == 0);
        }
    }

    fib::FibImage& fib_;
    const std::array<fib::GroupId, 8>& groups_;
    Input& input_;
    Family family_;
    std::vector<pktpit::test::LpmOracle> oracles_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static Shared shared;
    Input input(data, size);
    Sequence(shared, input).run();
    return 0;
}
