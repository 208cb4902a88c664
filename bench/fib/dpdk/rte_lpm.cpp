// SPDX-License-Identifier: BSD-3-Clause
// DPDK's headers are C first: conversions in their inline functions are theirs.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <rte_errno.h>
#include <rte_lpm.h>
#pragma GCC diagnostic pop

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "bench/fib/batch_peer.h"
#include "bench/fib/dpdk/peers.h"
#include "bench/fib/dpdk/sizing.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::fib {
namespace {

constexpr size_t spare_tbl8 = 2048;

class RteLpm final : public BatchPeer<RteLpm, Address4, uint32_t> {
  public:
    explicit RteLpm(const Table& table) : tbl8_(count_tbl8(table)) {
        static std::atomic<unsigned> number{0};
        rte_lpm_config config{};
        config.max_rules = static_cast<uint32_t>(table.routes.size() + 1);
        config.number_tbl8s = static_cast<uint32_t>(tbl8_ + spare_tbl8);
        lpm_.reset(rte_lpm_create(fmt::format("lpm{}", number++).c_str(), -1, &config));
        if (!lpm_) throw harness::Failure(fmt::format("rte_lpm_create: {}", rte_strerror(rte_errno)));
        fill(table);
    }

    [[nodiscard]] std::vector<std::string> settings() const override { return {"bulk", "x4"}; }
    void choose(size_t setting) override { four_at_once_ = setting == 1; }

    void look_up_batch(const Address4* from, uint32_t* to) const {
        if (!four_at_once_) {
            rte_lpm_lookup_bulk(lpm_.get(), from, to, batch_size);
            return;
        }
        for (size_t i = 0; i < batch_size; i += 4)
            rte_lpm_lookupx4(lpm_.get(), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)), to + i,
                             0);
    }
    [[nodiscard]] uint32_t to_group(uint32_t next_hop) const {
        if (four_at_once_) return next_hop;
        return next_hop & RTE_LPM_LOOKUP_SUCCESS ? next_hop & 0x00ffffff : 0;
    }

    void apply(const Update&) override { throw harness::Failure("rte_lpm takes no updates here"); }

    [[nodiscard]] std::vector<Part> size() const override {
        return {{"tbl24", (1 << 24) * 4.0}, {"tbl8 in use", double(tbl8_) * 256 * 4}};
    }

  private:
    /// rte_lpm_add() looks through all rules of the same length each time: minutes for a full table. Lookups
    /// read none of the rules, so prefixes up to /24 are written as it would write them, shortest first;
    /// longer ones, of which there are few, are added by rte_lpm_add(), which goes by tbl24's contents.
    void fill(const Table& table) {
        std::vector<const Route*> routes;
        for (const Route& route : table.routes)
            routes.push_back(&route);
        std::stable_sort(routes.begin(), routes.end(),
                         [](const Route* a, const Route* b) { return a->prefix.length < b->prefix.length; });
        for (const Route* route : routes) {
            const uint32_t address = route->prefix.address.v4_host_order();
            const uint8_t length = route->prefix.length;
            if (length <= 24) {
                rte_lpm_tbl_entry entry{};
                entry.next_hop = route->group & 0x00ffffff;
                entry.valid = 1;
                entry.depth = length & 0x3f;
                std::fill_n(lpm_->tbl24 + (address >> 8), size_t{1} << (24 - length), entry);
            } else if (const int code = rte_lpm_add(lpm_.get(), address, length, route->group); code != 0) {
                throw harness::Failure(
                    fmt::format("rte_lpm_add {}: {}", route->prefix.to_string(), std::strerror(-code)));
            }
        }
    }

    struct Free {
        void operator()(rte_lpm* lpm) const { rte_lpm_free(lpm); }
    };

    size_t tbl8_;
    std::unique_ptr<rte_lpm, Free> lpm_;
    bool four_at_once_ = false;
};

}  // namespace

PeerKind<Address4> rte_lpm_kind() {
    return {"rte_lpm", "DPDK's rte_lpm; tbl24 is written directly, since rte_lpm_add takes minutes",
            [](const Table& table) { return std::make_unique<RteLpm>(table); }};
}

}  // namespace pktpit::bench::fib
