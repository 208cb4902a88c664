// SPDX-License-Identifier: BSD-3-Clause
/// Kernel over rtnetlink: two sockets, one for events, one for requests and dumps, in the network namespace
/// of the thread that opened it. Used by the daemon's loop; one thread. Reads and changes links, addresses
/// and neighbours; never changes routes. Needs CAP_NET_ADMIN for its requests, and to force the size of its
/// receive buffer.
///
/// Resync: on ENOBUFS, poll() empties the event socket (what is left there is older than what was lost),
/// dumps, and replays the events that came during the dump before ResyncEnd. They are moved out of the socket
/// while the dump is read, so that a dump of a million routes does not overflow it again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "router/kernel/kernel.h"
#include "router/kernel/socket.h"

namespace pktpit::router {

struct NetlinkOptions {
    RouteFilter routes;  ///< not enabled: routes and nexthop objects are neither dumped nor followed
    /// Of the event socket, in bytes; the kernel doubles it. An event costs about 1 KiB of it.
    size_t receive_buffer = size_t{32} << 20;
    /// Bytes of events kept during a dump; more start the dump over.
    size_t replay_limit = size_t{256} << 20;
};

class NetlinkKernel : public Kernel {
  public:
    static Result<std::unique_ptr<NetlinkKernel>> open(NetlinkOptions options);
    ~NetlinkKernel() override;

    [[nodiscard]] int descriptor() const override { return epoll_; }
    Result<void> dump(const std::function<void(const KernelEvent&)>& deliver) override;
    Result<void> poll(const std::function<void(const KernelEvent&)>& deliver) override;

    Result<void> probe_neighbour(uint32_t ifindex, const IpAddress& address) override;
    Result<void> set_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac) override;
    Result<void> set_stale_neighbour(uint32_t ifindex, const IpAddress& address,
                                     const MacAddress& mac) override;
    Result<void> add_address(uint32_t ifindex, const InterfaceAddress& address) override;
    Result<void> remove_neighbour(uint32_t ifindex, const IpAddress& address) override;
    Result<void> remove_address(uint32_t ifindex, const InterfaceAddress& address) override;
    Result<void> set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) override;
    Result<void> add_vlan_link(const std::string& name, uint32_t parent, uint16_t vid,
                               uint16_t protocol) override;
    Result<void> remove_vlan_link(const std::string& name) override;

    /// Name and value: events, ignored, malformed, unsupported, overflows, resyncs, dumps_repeated.
    [[nodiscard]] std::vector<std::pair<std::string, uint64_t>> counters() const;

  private:
    using Deliver = std::function<void(const KernelEvent&)>;
    struct Counters {
        uint64_t events = 0;
        uint64_t ignored = 0;
        uint64_t malformed = 0;
        uint64_t unsupported = 0;
        uint64_t overflows = 0;
        uint64_t resyncs = 0;
        uint64_t dumps_repeated = 0;
    };

    explicit NetlinkKernel(NetlinkOptions options);
    Result<void> start();
    void hand_on(std::span<const std::byte> message, const Deliver& deliver);
    Result<void> dump_once(const Deliver& deliver);
    Result<void> dump_kind(const std::function<netlink::Request()>& request, const Deliver& deliver);
    Result<void> dump_routes(const Deliver& deliver);
    void discard_events();
    void keep_events();
    void replay_kept_events(const Deliver& deliver);
    void owe_resync(bool owed);
    Result<void> ask(netlink::Request& request, const std::string& what, int harmless = 0);
    Result<void> put_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac,
                               uint16_t state);
    Result<void> check_existing(uint32_t ifindex, const InterfaceAddress& address);

    NetlinkOptions options_;
    std::unique_ptr<netlink::Socket> events_;
    std::unique_ptr<netlink::Socket> requests_;
    int epoll_ = -1;
    int retry_timer_ = -1;  ///< makes descriptor() readable while a resync is owed
    bool resync_owed_ = false;
    bool lost_during_dump_ = false;
    std::vector<std::byte> kept_;
    Counters counters_;
};

}  // namespace pktpit::router
