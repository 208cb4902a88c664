// SPDX-License-Identifier: BSD-3-Clause
/// Kernel over rtnetlink: sockets for events, for requests and for dumps, in the network namespace of the
/// thread that opened it. Used by the daemon's loop; one thread. Reads and changes links, addresses and
/// neighbours; never changes routes. Needs CAP_NET_ADMIN for its requests, and to force the size of its
/// receive buffer.
///
/// Events are moved out of the socket at once and handled from a queue: the socket's is small, and the kernel
/// drops what does not fit. On ENOBUFS both are emptied (what is left there is older than what was lost) and
/// everything is dumped. Events that come during the dump wait in the queue until it has been read: they say
/// what has changed since.
///
/// work() rests for some milliseconds when it has handled what there was: whoever changes a full table sends
/// routes one by one, and to be woken for each costs several times what it takes to handle one. The first
/// one after a silence is handled at once.
///
/// Routes of tables that rules lead to are read when all else has been, and again when a rule has changed: by
/// a dump of its own, of which no more is read than anybody keeps.
///
/// A comparison (compare()) reads nexthop objects and routes by a dump beside the events, a datagram every 5
/// ms, each when all events have been handled: 800,000 routes took 9 s, and an eighth of a core meanwhile.
///
/// A dump that changes come in between of (NLM_F_DUMP_INTR) is repeated a few times, for routes on top of
/// what was delivered. If it never goes undisturbed, as while a daemon replaces a full table, what it has
/// said counts, what it has not said does not (ResyncEnd::complete), and another one is made when a while has
/// passed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "router/kernel/comparison_dump.h"
#include "router/kernel/kernel.h"
#include "router/kernel/message_queue.h"
#include "router/kernel/socket.h"

namespace pktpit::router {

struct NetlinkOptions {
    RouteFilter routes;  ///< not enabled: routes and nexthop objects are neither dumped nor followed
    /// Of the event socket, in bytes; the kernel doubles it. An event costs about 1 KiB of it.
    size_t receive_buffer = size_t{32} << 20;
    /// Bytes of events that may wait to be handled; with more everything is dumped instead.
    size_t queue_limit = size_t{256} << 20;
    bool neighbours = true;  ///< dumped and followed
};

class NetlinkKernel : public Kernel {
  public:
    static Result<std::unique_ptr<NetlinkKernel>> open(NetlinkOptions options);
    ~NetlinkKernel() override;

    [[nodiscard]] int descriptor() const override { return epoll_; }
    Result<void> dump(const Deliver& deliver) override;
    Result<void> poll(const Deliver& deliver) override;
    void begin_dump() override;
    Result<bool> work(const Deliver& deliver, Turn& turn) override;
    [[nodiscard]] KernelCounters counters() const override;
    void compare() override;

    Result<void> probe_neighbour(uint32_t ifindex, const IpAddress& address) override;
    Result<void> set_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac) override;
    Result<void> set_stale_neighbour(uint32_t ifindex, const IpAddress& address,
                                     const MacAddress& mac) override;
    Result<void> add_address(uint32_t ifindex, const InterfaceAddress& address) override;
    Result<std::vector<InterfaceAddress>> addresses(uint32_t ifindex) override;
    Result<void> remove_neighbour(uint32_t ifindex, const IpAddress& address) override;
    Result<void> remove_address(uint32_t ifindex, const InterfaceAddress& address) override;
    Result<void> set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) override;
    Result<uint32_t> add_vlan_link(const VlanPlace& place, const std::string& alias) override;
    Result<void> remove_vlan_link(uint32_t ifindex) override;

  private:
    enum class Phase : uint8_t { follow, discard, dump };
    struct DumpKind {
        std::function<netlink::Request()> request;
        unsigned attempts;
        bool may_be_partial = false;  ///< after so many attempts; else the dump fails
        uint8_t deletions_matter =
            0;  ///< of routes of this family: they disturb, and the kernel does not say
    };

    explicit NetlinkKernel(NetlinkOptions options);
    Result<void> start();
    void hand_on(std::span<const std::byte> message, const Deliver& deliver);
    void hand_on_ruled(const RouteEvent& route, const Deliver& deliver);
    [[nodiscard]] bool is_ruled(uint32_t table) const {
        return std::binary_search(ruled_.begin(), ruled_.end(), table);
    }
    Result<void> step(const Deliver& deliver);
    Result<void> take_events();
    Result<void> discard_events();
    void look_for_disturbance(std::span<const std::byte> datagram);
    void lose();
    [[nodiscard]] std::vector<DumpKind> kinds() const;
    Result<void> start_dump(const Deliver& deliver);
    Result<void> read_dump(const Deliver& deliver);
    Result<void> next_kind(bool disturbed, const Deliver& deliver);
    Result<void> give_up(Error error, const Deliver& deliver);
    Result<void> begin_ruled();
    Result<void> next_of_ruled(bool disturbed, const Deliver& deliver);
    [[nodiscard]] bool ruled_are_due() const {
        return ruled_owed_ && phase_ == Phase::follow && queue_.empty();
    }
    void owe_resync(std::chrono::milliseconds after);
    [[nodiscard]] bool resync_is_due();
    void begin_rest();
    void end_rest();
    Result<bool> work_on(const Deliver& deliver, Turn& turn);
    Result<void> work_on_comparison(const Deliver& deliver);
    Result<void> ask(netlink::Request& request, const std::string& what, int harmless = 0);
    Result<uint32_t> index_of(const std::string& name);
    Result<void> put_neighbour(uint32_t ifindex, const IpAddress& address, const MacAddress& mac,
                               uint16_t state);
    Result<void> check_existing(uint32_t ifindex, const InterfaceAddress& address);

    NetlinkOptions options_;
    std::unique_ptr<netlink::Socket> events_;
    std::unique_ptr<netlink::Socket> requests_;
    /// A probe looks and asks, between which nobody sets or removes a neighbour.
    std::mutex neighbours_;
    std::unique_ptr<netlink::Socket> probes_;  ///< used with neighbours_ held
    std::unique_ptr<netlink::Socket> dumps_;   ///< made anew for each: an abandoned dump cannot be taken back
    int epoll_ = -1;
    int timer_ = -1;  ///< makes descriptor() readable when work() has something to do beside events
    int rest_ = -1;   ///< a timer: events are looked at again when it says so
    bool resting_ = false;
    std::unique_ptr<ComparisonDump> comparison_;  ///< under way
    bool comparison_asked_ = false;
    int pace_ = -1;  ///< a timer: the comparison goes on when it says so
    netlink::MessageQueue queue_;
    Phase phase_ = Phase::follow;
    std::vector<DumpKind> kinds_;  ///< of the dump, those yet to be read
    size_t kind_ = 0;
    unsigned attempt_ = 0;    ///< at this kind
    bool disturbed_ = false;  ///< by an event
    bool complete_ = true;    ///< the dump, so far
    // Of tables that rules lead to.
    std::vector<uint32_t> ruled_;            ///< in order
    bool ruled_owed_ = false;                ///< they are to be read
    bool reading_ruled_ = false;             ///< the dump under way is of them
    size_t ruled_told_ = 0;                  ///< routes, by that
    bool owed_ = false;                      ///< another resync, when the timer says so
    bool drained_ = false;                   ///< there were no more events when they were taken last
    unsigned lost_in_a_row_ = 0;             ///< dumps during which events were lost
    std::chrono::milliseconds patience_{0};  ///< until the next resync that is owed
    KernelCounters counters_;
};

}  // namespace pktpit::router
