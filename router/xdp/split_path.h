/// The way of split ports' packets on the `xdp` dataplane: sockets, worker, and what they count. Made when
/// the first port is split; the daemon's thread.
#pragma once

#include <map>
#include <memory>

#include "router/dataplane/dataplane.h"
#include "router/loop/worker.h"
#include "router/xdp/socket_io.h"

namespace pktpit::router {

class SplitPath {
  public:
    /// `epochs` outlives this. Errors: no AF_XDP, no memory.
    static Result<std::unique_ptr<SplitPath>> open(const ImageView& image, fib::Epochs& epochs,
                                                   WorkerCounters& counters, int wakeup);
    ~SplitPath();

    /// Sockets by queue, to be put where the port stage finds them. An inline port has one, too, to send what
    /// came in by split ports.
    Result<std::map<uint32_t, int>> add(uint16_t port, uint32_t ifindex, const std::string& device,
                                        bool egress_only);
    void remove(uint16_t port);
    /// Frames for the slow path.
    void poll(const Dataplane::PuntHandler& on_punt);

  private:
    SplitPath() = default;
    Worker::Queues queues_;
    std::unique_ptr<SocketIo> io_;
    std::unique_ptr<Worker> worker_;
    std::map<uint16_t, std::vector<int>> descriptors_;
};

}  // namespace pktpit::router
