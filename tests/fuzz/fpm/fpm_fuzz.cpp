// SPDX-License-Identifier: BSD-3-Clause
// A stream of FPM frames, cut where its first byte says, into the table. Must hold: no read outside of a
// frame (AddressSanitizer watches each in an allocation of its own), every call of the listener makes sense,
// and it knows exactly what the table holds. After an error the rest is another connection's.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "../../unit/fpm/mirror.h"
#include "router/fpm/fpm_framer.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using namespace pktpit::router;

void check_against(const FpmTable& table, const FpmMirror& mirror) {
    demand(table.routes() == mirror.routes.size());
    demand(table.bodies().size() == mirror.bodies.size());
    demand(table.stale() <= table.routes());
    for (const auto& [prefix, route] : mirror.routes) {
        demand(table.protocol_of(prefix).has_value());
        (void)table.resolve(route.first);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const size_t piece = size_t{data[0]} * 4 + 1;
    FpmMirror mirror;
    FpmTable table(mirror, 254);
    FpmUpdates updates(table);
    auto framer = std::make_unique<FpmFramer>();
    const auto handle = [&](std::span<const std::byte> frame) {
        const auto exact = std::make_unique<std::byte[]>(frame.size());
        std::memcpy(exact.get(), frame.data(), frame.size());
        return updates.handle({exact.get(), frame.size()});
    };
    for (size_t at = 1; at < size;) {
        const auto room = framer->room();
        const size_t count = std::min({piece, size - at, room.size()});
        std::memcpy(room.data(), data + at, count);
        framer->filled(count);
        at += count;
        while (true) {
            const auto frame = framer->frame();
            const bool good = frame && (frame->empty() || handle(*frame));
            if (!good) {
                framer = std::make_unique<FpmFramer>();
                table.begin_epoch();
                break;
            }
            if (frame->empty()) break;
        }
        check_against(table, mirror);
    }
    demand(table.sweep([] { return true; }));
    demand(table.stale() == 0);
    check_against(table, mirror);
    return 0;
}
