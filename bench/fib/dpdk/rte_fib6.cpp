// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_fib6.h>

#include <atomic>
#include <cstring>
#include <memory>

#include "bench/fib/batch_peer.h"
#include "bench/fib/dpdk/peers.h"
#include "bench/fib/dpdk/sizing.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::fib {
namespace {

constexpr struct {
    rte_fib6_lookup_type type;
    const char* name;
} lookups[] = {{RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512, "AVX-512"}, {RTE_FIB6_LOOKUP_TRIE_SCALAR, "scalar"}};

/// It sets aside more tables with each update and never all of them free again: some 0.3 an update on a real
/// table. So it has many to spare, and is loaded anew before they are used up.
constexpr size_t spare_tbl8 = 1 << 17;
constexpr size_t most_updates = 250'000;
constexpr size_t spare_routes = 65536;
/// An entry of 2 bytes keeps one bit for "table below".
constexpr size_t most_tbl8_of_2_bytes = (1 << 15) - 1;

class RteFib6 final : public BatchPeer<RteFib6, Address6, uint64_t> {
  public:
    RteFib6(const Table& table, unsigned next_hop_bytes)
        : table_(table), next_hop_bytes_(next_hop_bytes), tbl8_(count_tbl8(table)) {
        if (next_hop_bytes == 2 && tbl8_ > most_tbl8_of_2_bytes)
            throw harness::Failure(
                fmt::format("the table takes {} tbl8, 2-byte entries reach {}", tbl8_, most_tbl8_of_2_bytes));
        load();
        for (size_t i = 0; i < std::size(lookups); i++)
            if (rte_fib6_select_lookup(fib_.get(), lookups[i].type) == 0) usable_.push_back(i);
        choose(0);
    }

    [[nodiscard]] std::vector<std::string> settings() const override {
        std::vector<std::string> names;
        for (const size_t i : usable_)
            names.emplace_back(lookups[i].name);
        return names;
    }
    void choose(size_t setting) override {
        setting_ = setting;
        if (rte_fib6_select_lookup(fib_.get(), lookups[usable_.at(setting)].type) != 0)
            throw harness::Failure(
                fmt::format("rte_fib6_select_lookup: {} is refused", lookups[usable_.at(setting)].name));
    }

    void look_up_batch(const Address6* from, uint64_t* to) const {
        auto* addresses = reinterpret_cast<uint8_t(*)[RTE_FIB6_IPV6_ADDR_SIZE]>(const_cast<Address6*>(from));
        rte_fib6_lookup_bulk(fib_.get(), addresses, to, batch_size);
    }
    [[nodiscard]] static uint32_t to_group(uint64_t next_hop) { return static_cast<uint32_t>(next_hop); }

    void before_updates() override {
        if (updates_ < most_updates) return;
        load();
        choose(setting_);
    }
    void apply(const Update& update) override {
        updates_++;
        const uint8_t* address = update.prefix.address.bytes.data();
        if (update.group == 0) {
            rte_fib6_delete(fib_.get(), address, update.prefix.length);
            return;
        }
        const int code = rte_fib6_add(fib_.get(), address, update.prefix.length, update.group);
        if (code != 0)
            throw harness::Failure(
                fmt::format("rte_fib6_add {}: {}", update.prefix.to_string(), std::strerror(-code)));
    }

    [[nodiscard]] std::vector<Part> size() const override {
        return {{"tbl24", (1 << 24) * double(next_hop_bytes_)},
                {"tbl8 in use", double(tbl8_) * 256 * next_hop_bytes_}};
    }

  private:
    void load() {
        static std::atomic<unsigned> number{0};
        fib_.reset();
        rte_fib6_conf conf{};
        conf.type = RTE_FIB6_TRIE;
        conf.default_nh = 0;
        conf.max_routes = static_cast<int>(table_.routes.size() + spare_routes);
        conf.trie.nh_sz = next_hop_bytes_ == 2 ? RTE_FIB6_TRIE_2B : RTE_FIB6_TRIE_4B;
        size_t tbl8 = count_reserved_tbl8(table_) + spare_tbl8;
        if (next_hop_bytes_ == 2) tbl8 = std::min(tbl8, most_tbl8_of_2_bytes);
        conf.trie.num_tbl8 = static_cast<uint32_t>(tbl8);
        fib_.reset(rte_fib6_create(fmt::format("fib6_{}", number++).c_str(), -1, &conf));
        if (!fib_)
            throw harness::Failure(fmt::format("rte_fib6_create with {} routes, {} tbl8: {}", conf.max_routes,
                                               tbl8, rte_strerror(rte_errno)));
        for (const Route& route : table_.routes)
            apply(route);
        updates_ = 0;
    }

    struct Free {
        void operator()(rte_fib6* fib) const { rte_fib6_free(fib); }
    };

    const Table& table_;
    unsigned next_hop_bytes_;
    size_t tbl8_;
    std::unique_ptr<rte_fib6, Free> fib_;
    std::vector<size_t> usable_;
    size_t setting_ = 0;
    size_t updates_ = 0;  ///< since load()
};

}  // namespace

PeerKind<Address6> rte_fib6_kind(unsigned next_hop_bytes) {
    return {fmt::format("rte_fib6 {}B", next_hop_bytes),
            fmt::format("DPDK's rte_fib6, TRIE, {}-byte next hops", next_hop_bytes),
            [next_hop_bytes](const Table& table) { return std::make_unique<RteFib6>(table, next_hop_bytes); },
            next_hop_bytes == 4};
}

}  // namespace pktpit::bench::fib
