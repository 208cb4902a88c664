// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as the pcap file of a modelled wire, by way of libpcap: refused with a reason, or its frames come
// in by a modelled port, at whatever times it says that they were captured, and are forwarded. Must hold: no
// frame is longer than the room that it was read into, each is counted once, and virtual time comes to an
// end.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/fd.h"
#include "router/loop/control_loop.h"
#include "router/model/packet_io.h"
#include "router/model/wire.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/forward/router_image.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using namespace pktpit::router;

class InputFile {
  public:
    InputFile(const uint8_t* data, size_t size) : file_(memfd_create("wire", MFD_CLOEXEC)) {
        demand(::write(file_.get(), data, size) == static_cast<ssize_t>(size), "main memory takes the file");
    }
    [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

  private:
    Fd file_;
};

std::unique_ptr<Wire> open_wire(const InputFile& file) {
    config::Wire settings;
    settings.read = file.path();
    settings.write = "/dev/null";
    auto wire = open_file_wire("p1", settings, config::Config(), "/interfaces/p1/wire");
    if (wire) return std::move(*wire);
    demand(!wire.error().message.empty() && !wire.error().expected.empty(), "a refusal has a reason");
    return nullptr;
}

struct Frames {
    uint64_t count = 0;
    uint64_t first = UINT64_MAX, last = 0;  ///< when they were captured, ns
};

/// None comes behind the end.
Frames frames_of(const InputFile& file) {
    const auto wire = open_wire(file);
    if (!wire) return {};
    static std::array<std::byte, 256> room;
    Frames frames;
    for (auto frame = wire->receive(room); frame.length != 0; frame = wire->receive(room)) {
        frames.count++;
        frames.first = std::min(frames.first, frame.at.value_or(0));
        frames.last = std::max(frames.last, frame.at.value_or(0));
    }
    demand(wire->receive(room).length == 0, "the end of a file is its end");
    return frames;
}

/// A router on two modelled NICs, whose first port takes what is in the file.
class Router {
  public:
    /// Its time begins with the capture's first frame.
    explicit Router(uint64_t first_capture)
        : first_capture_(first_capture), io_(topology(), profile(), model::Transfer::write, counters_) {}
    /// Virtual time ends after 213 days, so that a router is of use for what was captured soon after its
    /// begin.
    [[nodiscard]] bool takes(const Frames& frames) const {
        return frames.last < first_capture_ || frames.last - first_capture_ < 1'000'000'000;
    }
    void run(Wire& wire) {
        io_.add(0, 1, wire);  // which comes in at once, once the router plays
        if (!io_.playing()) io_.play();
        while (loop_.turn() != 0)
            for_daemon_.pop(SIZE_MAX, [](const pp_punt& head, std::span<uint8_t> frame) {
                demand(head.port == 1 && frame.size() == head.frame_length, "what is punted is whole");
            });
        io_.remove(1);
    }
    [[nodiscard]] uint64_t counted() const {
        uint64_t sum = 0;
        for (const uint64_t count : counters_.port(1).verdict)
            sum += count;
        return sum;
    }

  private:
    static const model::Topology& topology() {
        static const model::Topology two_nics = *model::Topology::open("two-nics");
        return two_nics;
    }
    static const model::Profile& profile() {
        static const model::Profile generic = *model::Profile::open("generic");
        return generic;
    }

    uint64_t first_capture_;
    WorkerCounters counters_;
    ModelPacketIo io_;
    fib::Epochs epochs_;
    fib::EpochReader reader_{epochs_};
    FrameQueue for_daemon_{1 << 20};
    ControlLoop loop_{io_, fuzz::router_image(), reader_, counters_, for_daemon_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const InputFile file(data, size);
    const Frames frames = frames_of(file);
    const auto wire = open_wire(file);
    if (!wire || frames.count == 0) return 0;
    static std::unique_ptr<Router> router;
    if (!router || !router->takes(frames)) router = std::make_unique<Router>(frames.first);
    const uint64_t before = router->counted();
    router->run(*wire);
    demand(router->counted() - before == frames.count, "each frame has one verdict");
    // What came in far apart has taken it there.
    if (!router->takes({frames.count, frames.first, frames.last})) router.reset();
    return 0;
}
