// SPDX-License-Identifier: BSD-3-Clause
// Datagrams of nobody in particular: to the daemon, whose groups stay what groups can be, and to a worker
// that waits for a sum, which only the result that belongs to it can bring. The port stage's own reading of
// frames is the verifier's to bound, and tests/differential's to hold to its refusals.
#include <cstdint>
#include <span>
#include <vector>

#include "allreduce/int32_message.h"
#include "allreduce/stream.h"
#include "router/aggregation/membership.h"
#include "router/aggregation/state_message.h"
#include "tests/fuzz/demand.h"

using namespace pktpit;

namespace {

using pktpit::fuzz::demand;

void to_the_daemon(std::span<const uint8_t> datagram, router::Membership& group, router::Heard now) {
    const auto message = router::read_worker_message(datagram);
    if (!message) return;
    demand(message->worker < PA_MAX_WORKERS);
    if (message->kind == PA_JOIN)
        group.join(message->worker, message->incarnation, now);
    else if (message->kind == PA_LEAVE)
        group.leave(message->worker);
    else
        group.alive(message->worker, now);
    group.look(now);
    demand((group.joined() & ~group.all()) == 0 && (!group.running() || group.joined() == group.all()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    router::Membership group(3, std::chrono::milliseconds(100), 1);
    const std::vector<int32_t> in(20, 7);
    std::vector<int32_t> out(20, -1);
    allreduce::Stream stream({.key = 0x0101010101010101,
                              .number = 1,
                              .worker = 1,
                              .workers = 2,
                              .slots = 2,
                              .elements = 8,
                              .type = PA_INT32});
    stream.add(std::make_unique<allreduce::Int32Message>(in, out, uint16_t{8}));
    std::vector<uint8_t> room(2048);
    allreduce::Time now{std::chrono::seconds(1)};
    // Each datagram: its length in a byte, then its bytes.
    std::span<const uint8_t> rest(data, size);
    for (unsigned step = 0; !rest.empty(); step++) {
        const size_t length = std::min<size_t>(rest[0], rest.size() - 1);
        const auto datagram = rest.subspan(1, length);
        rest = rest.subspan(1 + length);
        to_the_daemon(datagram, group, std::chrono::milliseconds(step * 10));
        while (const size_t sent = stream.next(now, room))
            demand(sent >= sizeof(pa_header) && sent % 8 == 0);
        const auto before = stream.counts().results;
        if (stream.receive(datagram, now)) demand(allreduce::read_header(datagram)->kind == PA_RESULT);
        demand(stream.counts().results <= before + 1 && stream.counts().results <= 3);
        now += std::chrono::microseconds(700);
    }
    return 0;
}
