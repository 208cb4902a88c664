// SPDX-License-Identifier: BSD-3-Clause
/// A FIB image in anonymous memory, without ports and adjacencies: one group per next-hop id. Used by the
/// table commands and by `lookup --table`. One thread; nobody else reads the image.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/huge_memory.h"
#include "fib/image.h"
#include "router/cli/route_list.h"

namespace pktpit::router::cli {

class TableImage {
  public:
    /// An image for so many next-hop ids, filled by `fill`. As soon as that says that something did not fit,
    /// it is called again with an empty image of twice the size, up to the largest one there can be; then its
    /// error is returned.
    static Result<TableImage> fitting(size_t next_hops, const std::function<Result<void>(TableImage&)>& fill);

    TableImage(TableImage&&) noexcept;
    TableImage& operator=(TableImage&&) noexcept;
    ~TableImage();

    Result<void> add(std::span<const Route> routes);
    fib::FibImage& fib() { return *fib_; }
    [[nodiscard]] const fib::FibImage& fib() const { return *fib_; }
    [[nodiscard]] fib::GroupId group_of(uint32_t next_hop) const { return group_of_id_[next_hop]; }
    [[nodiscard]] uint32_t next_hop_of(fib::GroupId group) const { return id_of_group_[group]; }

  private:
    TableImage();
    Result<void> create(size_t next_hops, const fib::Capacity& capacity);

    HugeMemory memory_;
    std::optional<fib::FibImage> fib_;
    std::vector<fib::GroupId> group_of_id_;
    std::vector<uint32_t> id_of_group_;
};

/// What the image holds of each part: how many, and bytes where the image says so.
struct ImagePart {
    const char* name;
    uint64_t used;
    std::optional<uint64_t> bytes;
};
std::vector<ImagePart> parts_of(const fib::FibImage& image);

}  // namespace pktpit::router::cli
