// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/table_image.h"

#include <algorithm>

namespace pktpit::router::cli {
namespace {

/// As far as the places in an image's entries reach (fib/layout.h).
constexpr uint32_t most_node_bytes = 256U << 20;

}  // namespace

TableImage::TableImage() = default;
TableImage::TableImage(TableImage&&) noexcept = default;
TableImage& TableImage::operator=(TableImage&&) noexcept = default;
TableImage::~TableImage() = default;

Result<void> TableImage::create(size_t next_hops, const fib::Capacity& capacity) {
    const auto geometry = fib::plan_geometry(capacity);
    auto memory = HugeMemory::map(geometry.image_bytes);
    if (!memory) return tl::unexpected(memory.error());
    memory_ = std::move(*memory);
    // Nobody reads while this writes.
    fib_.emplace(memory_.bytes(), geometry, [] {});
    for (uint32_t id = 0; id < next_hops; id++) {
        const auto group = fib_->add_group({});
        if (!group) return tl::unexpected(group.error());
        group_of_id_.push_back(*group);
        if (id_of_group_.size() <= *group) id_of_group_.resize(*group + 1, 0);
        id_of_group_[*group] = id;
    }
    return {};
}

Result<TableImage> TableImage::fitting(size_t next_hops,
                                       const std::function<Result<void>(TableImage&)>& fill) {
    fib::Capacity capacity;
    capacity.ports = 1;
    capacity.vlans = 1;
    capacity.buckets = 1;
    capacity.adjacencies = 1;
    capacity.groups = static_cast<uint32_t>(next_hops + 2);
    // The defaults hold the Internet's table; what does not fit gets twice as much until it does.
    for (;;) {
        TableImage image;
        if (auto good = image.create(next_hops, capacity); !good) return tl::unexpected(good.error());
        auto filled = fill(image);
        if (filled) return image;
        if (capacity.node_bytes >= most_node_bytes) {
            filled.error().message = "the table does not fit: " + filled.error().message;
            return tl::unexpected(filled.error());
        }
        capacity.node_bytes *= 2;
    }
}

Result<void> TableImage::add(std::span<const Route> routes) {
    for (const Route& route : routes) {
        if (auto good = fib_->set(route.prefix, group_of_id_[route.next_hop]); !good) return good;
    }
    return {};
}

std::vector<ImagePart> parts_of(const fib::FibImage& image) {
    const auto usage = image.usage();
    return {{"IPv4 prefixes", usage.prefixes4, {}}, {"IPv6 prefixes", usage.prefixes6, {}},
            {"IPv4 nodes", {}, usage.node_bytes4},  {"IPv6 nodes", {}, usage.node_bytes6},
            {"groups", usage.groups, {}},           {"buckets", usage.buckets, {}},
            {"adjacencies", usage.adjacencies, {}}, {"VLANs", usage.vlans, {}}};
}

}  // namespace pktpit::router::cli
