// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/update_list.h"

#include <algorithm>

#include "fib/tables/update_reader.h"

namespace pktpit::router::cli {

Result<UpdateList> load_updates(const std::string& path, const fib::ReadOptions& options, NextHopIds& ids) {
    UpdateList list;
    auto summary = fib::read_updates(path, options, [&](const fib::Update& update, size_t) -> Result<void> {
        list.first = list.updates.empty() ? update.microseconds : std::min(list.first, update.microseconds);
        list.last = std::max(list.last, update.microseconds);
        list.updates.push_back(
            {update.prefix, update.withdraw ? RouteUpdate::withdrawn : ids.number_of(update.next_hop)});
        return {};
    });
    if (!summary) return tl::unexpected(summary.error());
    list.summary = std::move(*summary);
    return list;
}

}  // namespace pktpit::router::cli
