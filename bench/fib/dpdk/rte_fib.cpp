// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_fib.h>

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
    rte_fib_lookup_type type;
    const char* name;
} lookups[] = {{RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512, "AVX-512"},
               {RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO, "macro"},
               {RTE_FIB_LOOKUP_DIR24_8_SCALAR_INLINE, "inline"},
               {RTE_FIB_LOOKUP_DIR24_8_SCALAR_UNI, "uni"}};

/// Beyond what the table itself takes, for updates.
constexpr size_t spare_tbl8 = 2048;
constexpr size_t spare_routes = 65536;

class RteFib final : public BatchPeer<RteFib, Address4, uint64_t> {
  public:
    RteFib(const Table& table, unsigned next_hop_bytes)
        : next_hop_bytes_(next_hop_bytes), tbl8_(count_tbl8(table)) {
        static std::atomic<unsigned> number{0};
        rte_fib_conf conf{};
        conf.type = RTE_FIB_DIR24_8;
        conf.default_nh = 0;
        conf.max_routes = static_cast<int>(table.routes.size() + spare_routes);
        conf.dir24_8.nh_sz = next_hop_bytes == 2 ? RTE_FIB_DIR24_8_2B : RTE_FIB_DIR24_8_4B;
        conf.dir24_8.num_tbl8 = static_cast<uint32_t>(tbl8_ + spare_tbl8);
        fib_.reset(rte_fib_create(fmt::format("fib{}", number++).c_str(), -1, &conf));
        if (!fib_)
            throw harness::Failure(fmt::format("rte_fib_create with {} routes, {} tbl8: {}", conf.max_routes,
                                               conf.dir24_8.num_tbl8, rte_strerror(rte_errno)));
        for (const Route& route : table.routes)
            apply(route);
        for (size_t i = 0; i < std::size(lookups); i++)
            if (rte_fib_select_lookup(fib_.get(), lookups[i].type) == 0) usable_.push_back(i);
        choose(0);
    }

    [[nodiscard]] std::vector<std::string> settings() const override {
        std::vector<std::string> names;
        for (const size_t i : usable_)
            names.emplace_back(lookups[i].name);
        return names;
    }
    void choose(size_t setting) override {
        if (rte_fib_select_lookup(fib_.get(), lookups[usable_.at(setting)].type) != 0)
            throw harness::Failure(
                fmt::format("rte_fib_select_lookup: {} is refused", lookups[usable_.at(setting)].name));
    }

    void look_up_batch(const Address4* from, uint64_t* to) const {
        rte_fib_lookup_bulk(fib_.get(), const_cast<uint32_t*>(from), to, batch_size);
    }
    [[nodiscard]] static uint32_t to_group(uint64_t next_hop) { return static_cast<uint32_t>(next_hop); }

    void apply(const Update& update) override {
        const uint32_t address = update.prefix.address.v4_host_order();
        if (update.group == 0) {
            rte_fib_delete(fib_.get(), address, update.prefix.length);
            return;
        }
        const int code = rte_fib_add(fib_.get(), address, update.prefix.length, update.group);
        if (code != 0)
            throw harness::Failure(
                fmt::format("rte_fib_add {}: {}", update.prefix.to_string(), std::strerror(-code)));
    }

    [[nodiscard]] std::vector<Part> size() const override {
        return {{"tbl24", (1 << 24) * double(next_hop_bytes_)},
                {"tbl8 in use", double(tbl8_) * 256 * next_hop_bytes_}};
    }

  private:
    struct Free {
        void operator()(rte_fib* fib) const { rte_fib_free(fib); }
    };

    unsigned next_hop_bytes_;
    size_t tbl8_;
    std::unique_ptr<rte_fib, Free> fib_;
    std::vector<size_t> usable_;
};

}  // namespace

PeerKind<Address4> rte_fib_kind(unsigned next_hop_bytes) {
    return {fmt::format("rte_fib {}B", next_hop_bytes),
            fmt::format("DPDK's rte_fib, DIR24_8, {}-byte next hops", next_hop_bytes),
            [next_hop_bytes](const Table& table) { return std::make_unique<RteFib>(table, next_hop_bytes); },
            next_hop_bytes == 4};
}

}  // namespace pktpit::bench::fib
