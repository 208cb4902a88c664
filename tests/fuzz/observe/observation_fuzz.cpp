// SPDX-License-Identifier: BSD-3-Clause
// Records of observed packets come from a kernel ring that other programs could write to, and frames from the
// wire; what a capture's client reads comes from a socket.
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>

#include "router/cli/capture_tally.h"
#include "router/observe/headers.h"
#include "router/observe/observation.h"
#include "router/observe/pcapng.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace pktpit::router;
    const std::span<const uint8_t> bytes(data, size);
    (void)headers_of(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    (void)destination_of(bytes);
    cli::CaptureTally tally;
    tally.take({reinterpret_cast<const char*>(data), size});

    const auto seen = parse_observation(bytes);
    if (!seen) return 0;
    for (const size_t most : {size_t{1}, size_t{128}, size_t{65535}}) {
        const auto ingress = seen->ingress(most);
        if (ingress.size() > most || ingress.size() > seen->frame_length) std::abort();
        (void)headers_of(ingress);
        cli::CaptureTally written;
        const std::string block = pcapng::enhanced_packet(
            {0, seen->start, seen->frame_length, ingress, pcapng::Direction::inbound, "fuzz"});
        written.take(block);
        if (written.packets() != 1 || !written.is_whole()) std::abort();
    }
    return 0;
}
