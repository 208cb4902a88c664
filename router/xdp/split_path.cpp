#include "router/xdp/split_path.h"

#include <fcntl.h>

namespace pktpit::router {
namespace {

constexpr size_t punts_per_poll = 256;

}  // namespace

Result<std::unique_ptr<SplitPath>> SplitPath::open(const ImageView& image, fib::Epochs& epochs,
                                                   WorkerCounters& counters, int wakeup) {
    std::unique_ptr<SplitPath> self(new SplitPath);
    self->queues_.for_daemon_wakeup = Fd(fcntl(wakeup, F_DUPFD_CLOEXEC, 0));
    auto io = SocketIo::open(counters);
    if (!io) return tl::unexpected(io.error());
    self->io_ = std::move(*io);
    self->worker_ = std::make_unique<Worker>(*self->io_, image, epochs, counters, self->queues_,
                                             config::Polling::adaptive);
    self->worker_->resume();
    return self;
}

SplitPath::~SplitPath() = default;

Result<std::map<uint32_t, int>> SplitPath::add(uint16_t port, uint32_t ifindex, const std::string& device,
                                               bool egress_only) {
    const WorkerPause paused(*worker_);
    auto sockets = io_->add(port, ifindex, device, egress_only);
    if (!sockets || egress_only) return sockets;
    for (const auto& [queue, descriptor] : *sockets) {
        worker_->watch_interrupt(descriptor);
        descriptors_[port].push_back(descriptor);
    }
    return sockets;
}

void SplitPath::remove(uint16_t port) {
    const WorkerPause paused(*worker_);
    io_->remove(port);
    for (const int descriptor : descriptors_[port])
        worker_->unwatch_interrupt(descriptor);
    descriptors_.erase(port);
}

// The host's own frames never come this way: the port stage knows the host's addresses.
void SplitPath::poll(const Dataplane::PuntHandler& on_punt) {
    queues_.for_daemon.pop(punts_per_poll, on_punt);
}

}  // namespace pktpit::router
