// SPDX-License-Identifier: BSD-3-Clause
#include "router/fpm/fpm_updates.h"

#include <utility>
#include <variant>

#include "router/fpm/fpm_framer.h"
#include "router/kernel/parse.h"

namespace pktpit::router {

Result<void> FpmUpdates::handle(std::span<const std::byte> frame) {
    auto read = for_each_fpm_message(frame, [this](auto message) { handle_message(message); });
    remove_pending();
    return read;
}

void FpmUpdates::handle_message(std::span<const std::byte> message) {
    counters_.messages++;
    auto parsed = parse(message);
    if (!parsed) {
        counters_.ignored += parsed.error() == Skip::not_ours;
        counters_.malformed += parsed.error() == Skip::malformed;
        counters_.unsupported += parsed.error() == Skip::unsupported;
        return;
    }
    if (auto* route = std::get_if<RouteEvent>(&*parsed)) return handle_route(std::move(*route));
    remove_pending();
    if (const auto* next_hop = std::get_if<NextHopEvent>(&*parsed)) {
        counters_.next_hops++;
        receiver_.next_hop(*next_hop);
    } else {
        counters_.ignored++;
    }
}

void FpmUpdates::handle_route(RouteEvent event) {
    counters_.routes++;
    const bool replaces = pending_ && pending_->prefix == event.prefix && pending_->table == event.table;
    if (replaces)
        pending_.reset();
    else
        remove_pending();
    if (event.removed)
        pending_ = std::move(event);
    else
        receiver_.route(event);
}

void FpmUpdates::remove_pending() {
    if (pending_) receiver_.route(*std::exchange(pending_, std::nullopt));
}

}  // namespace pktpit::router
