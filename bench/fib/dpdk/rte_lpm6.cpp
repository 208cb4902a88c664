// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_lpm6.h>

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
constexpr uint32_t most_next_hop = (1 << 21) - 1;  ///< an entry keeps 21 bits for it

class RteLpm6 final : public BatchPeer<RteLpm6, Address6, uint32_t> {
  public:
    explicit RteLpm6(const Table& table) : tbl8_(count_tbl8(table)) {
        static std::atomic<unsigned> number{0};
        rte_lpm6_config config{};
        config.max_rules = static_cast<uint32_t>(table.routes.size() + 1);
        config.number_tbl8s = static_cast<uint32_t>(tbl8_ + spare_tbl8);
        lpm_.reset(rte_lpm6_create(fmt::format("lpm6_{}", number++).c_str(), -1, &config));
        if (!lpm_)
            throw harness::Failure(fmt::format("rte_lpm6_create with {} rules, {} tbl8: {}", config.max_rules,
                                               config.number_tbl8s, rte_strerror(rte_errno)));
        for (const Route& route : table.routes) {
            if (route.group > most_next_hop)
                throw harness::Failure(
                    fmt::format("rte_lpm6 has no next hop {}: its next hops have 21 bits", route.group));
            const int code =
                rte_lpm6_add(lpm_.get(), route.prefix.address.bytes.data(), route.prefix.length, route.group);
            if (code != 0)
                throw harness::Failure(
                    fmt::format("rte_lpm6_add {}: {}", route.prefix.to_string(), std::strerror(-code)));
        }
    }

    [[nodiscard]] std::vector<std::string> settings() const override { return {"bulk"}; }
    void choose(size_t) override {}

    void look_up_batch(const Address6* from, uint32_t* to) const {
        auto* addresses = reinterpret_cast<uint8_t(*)[RTE_LPM6_IPV6_ADDR_SIZE]>(const_cast<Address6*>(from));
        rte_lpm6_lookup_bulk_func(lpm_.get(), addresses, reinterpret_cast<int32_t*>(to), batch_size);
    }
    /// -1: no route.
    [[nodiscard]] static uint32_t to_group(uint32_t next_hop) {
        return static_cast<int32_t>(next_hop) < 0 ? 0 : next_hop;
    }

    void apply(const Update&) override { throw harness::Failure("rte_lpm6 takes no updates here"); }

    [[nodiscard]] std::vector<Part> size() const override {
        return {{"tbl24", (1 << 24) * 4.0}, {"tbl8 in use", double(tbl8_) * 256 * 4}};
    }

  private:
    struct Free {
        void operator()(rte_lpm6* lpm) const { rte_lpm6_free(lpm); }
    };

    size_t tbl8_;
    std::unique_ptr<rte_lpm6, Free> lpm_;
};

}  // namespace

PeerKind<Address6> rte_lpm6_kind() {
    return {"rte_lpm6", "DPDK's rte_lpm6, loaded by rte_lpm6_add",
            [](const Table& table) { return std::make_unique<RteLpm6>(table); }};
}

}  // namespace pktpit::bench::fib
