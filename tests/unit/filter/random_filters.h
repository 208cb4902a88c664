// SPDX-License-Identifier: BSD-3-Clause
/// Random filters, random packets that often meet their rules, and the naive answer: one rule after the
/// other. Everything follows from the engine.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "bpf/filter_lookup.h"
#include "config/config.h"
#include "router/filter/filter_memory.h"

namespace pktpit::test {

using Engine = std::mt19937_64;

/// A packet as filters see it.
struct FilteredPacket {
    IpAddress source, destination;
    uint8_t protocol = 0;
    bool fragment = false;   ///< not the first one
    bool cut_short = false;  ///< it shows nothing of its transport header
    uint16_t source_port = 0, destination_port = 0;
    uint8_t tcp_flags = 0;
    uint8_t icmp_type = 0;
    [[nodiscard]] pp_filter_key key() const;
};

/// Does the rule take the packet? Field by field, as docs/filters.md says.
bool takes(const config::FilterRule& rule, const FilteredPacket& packet);
/// The first rule that takes it; the number of rules where none does.
size_t first_of(const config::Filter& filter, const FilteredPacket& packet);

/// Of about `variety` different prefixes and ports: few, so that rules overlap, or many.
config::Filter random_filter(Engine& engine, size_t rules, uint32_t variety);
FilteredPacket random_packet(Engine& engine, const config::Filter& filter);

/// A configuration whose eth1, eth2, … have these filters, in and out.
config::Config config_with(const std::vector<config::Filter>& filters);

/// Filters in a block on the heap.
class HeapFilters {
  public:
    /// One binding a filter: interface i + 1, on port i + 1.
    explicit HeapFilters(const config::Config& config);
    /// Another set, in the same block: it must fit.
    void change(const config::Config& config);

    [[nodiscard]] const router::PublishedFilters& published() const { return published_; }
    [[nodiscard]] const router::FilterSet& set() const { return set_; }
    [[nodiscard]] const pp_filter_shape& shape() const { return shape_; }
    [[nodiscard]] std::span<std::byte> block() const { return {memory_.get(), bytes_}; }
    /// pp_filter_rule of a packet at an interface.
    [[nodiscard]] uint32_t rule_of(uint16_t interface, bool out, const FilteredPacket& packet) const;

  private:
    struct Free {
        void operator()(std::byte* memory) const;
    };
    router::FilterSet set_;
    pp_filter_shape shape_{};
    size_t bytes_ = 0;
    std::unique_ptr<std::byte, Free> memory_;
    router::FilterView view_;
    router::PublishedFilters published_{nullptr};
};

/// The set of such a configuration, its interfaces numbered from 1, counters from 1.
router::FilterSet filter_set_of(const config::Config& config);

}  // namespace pktpit::test
