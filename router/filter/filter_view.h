// SPDX-License-Identifier: BSD-3-Clause
/// Where readers find the filter image that is in force. One thread publishes it, any thread reads, within an
/// epoch of the dataplane's. Values alone.
#pragma once

#include <atomic>
#include <cstddef>

#include "bpf/filter_layout.h"

namespace pktpit::router {

/// A block (bpf/filter_layout.h) and its shape.
struct FilterView {
    const std::byte* block = nullptr;
    const pp_filter_shape* shape = nullptr;
};

/// Null: no interface has a filter.
using PublishedFilters = std::atomic<const FilterView*>;

}  // namespace pktpit::router
