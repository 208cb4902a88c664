/// Ports as a control loop sees them through AF_XDP (offload/packet_io.h): one UMEM of 4 KiB chunks shared by
/// all ports and queues, a socket for each receive queue. A chunk is a slot: header and payload lie in one
/// piece, and a frame leaves from where it came in. The worker's thread, but for open(), add() and remove(),
/// which the daemon calls while the worker is paused.
#pragma once

#include <xdp/xsk.h>

#include <array>
#include <map>
#include <memory>
#include <vector>

#include "bpf/abi.h"
#include "fib/result.h"
#include "offload/memory/cpu_mapping.h"
#include "offload/memory/slot_pool.h"
#include "router/loop/port_io.h"
#include "router/loop/worker_counters.h"

namespace pktpit::router {

class SocketIo : public PortIo {
  public:
    static Result<std::unique_ptr<SocketIo>> open(WorkerCounters& counters);
    ~SocketIo() override;

    /// Sockets for all receive queues of a device, their descriptors by queue; with `egress_only` one that
    /// just sends. Those of a device that had some before are taken again: the kernel lets go of a queue only
    /// when the UMEM goes. Error: no AF_XDP there.
    Result<std::map<uint32_t, int>> add(uint16_t port, uint32_t ifindex, const std::string& device,
                                        bool egress_only);
    void remove(uint16_t port);
    /// Whether a socket has its frames without copying.
    [[nodiscard]] bool zero_copy(uint16_t port) const;

    size_t receive(std::span<offload::HeaderSlice> slices) override;
    void submit(std::span<const offload::EgressDescriptor> descriptors) override;
    void release(std::span<const offload::Slot> slots) override;
    void complete() override;
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override;
    /// The daemon sends its frames by itself.
    bool send(uint16_t, std::span<const uint8_t>) override { return false; }
    void arm() override {}
    void disarm() override {}
    /// Counts what the kernel had to drop.
    void look() override;

  private:
    struct Socket {
        xsk_socket* handle = nullptr;
        xsk_ring_cons rx{}, completion{};
        xsk_ring_prod tx{}, fill{};
        uint16_t port = 0;  ///< 0: at rest
        uint32_t sending = 0;
        uint64_t dropped = 0;  ///< by the kernel, as told before
    };
    explicit SocketIo(WorkerCounters& counters);
    Result<Socket*> make(uint32_t ifindex, uint32_t queue, const std::string& device);
    void fill(Socket& socket);
    size_t receive_from(Socket& socket, std::span<offload::HeaderSlice> slices, uint64_t now);
    size_t transmit(Socket& socket, std::span<const offload::EgressDescriptor> frames);
    static void kick(Socket& socket);
    void drop(uint16_t port, pp_verdict verdict, offload::Slot slot, offload::SlotOwner owner);
    [[nodiscard]] uint8_t* at(uint64_t offset) const {
        return reinterpret_cast<uint8_t*>(memory_.bytes().data()) + offset;
    }
    [[nodiscard]] offload::Slot slot_of(uint64_t offset) const;

    WorkerCounters& counters_;
    offload::CpuMapping memory_;
    xsk_umem* umem_ = nullptr;
    xsk_ring_prod first_fill_{};
    xsk_ring_cons first_completion_{};
    offload::SlotPool pool_;
    std::map<std::pair<uint32_t, uint32_t>, std::unique_ptr<Socket>> sockets_;  ///< by ifindex and queue
    std::vector<Socket*> receiving_;
    std::vector<Socket*> sending_;                ///< one a port
    std::array<Socket*, PP_MAX_PORTS> egress_{};  ///< a port's first queue sends
    size_t first_ = 0;
};

}  // namespace pktpit::router
