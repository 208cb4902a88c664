// SPDX-License-Identifier: BSD-3-Clause
/// Split ports on real devices, without a daemon: a network namespace of its own, three veth pairs (p1–e1
/// with four queues, p2–e2 with two, p3–e3 with one), on p1 to p3 an XDP program that puts every frame into
/// the queue's socket, and a SplitPath over the test router's image. Needs root.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "router/xdp/split_path.h"
#include "tests/unit/forward/test_router.h"
#include "tests/unit/forward/vectors.h"
#include "tests/until.h"

namespace pktpit::router::test {

/// Sends frames from outside of a port, over and over, from flows of its own.
class Sender {
  public:
    Sender(const std::string& device, const Ethernet& ethernet, const char* destination, uint16_t flows);
    ~Sender();
    Sender(Sender&& other) noexcept;

    /// Returns how many the device took.
    size_t send(size_t frames);

  private:
    int socket_ = -1;
    std::vector<Buffer> frames_;
    size_t next_ = 0;
};

class SplitRig : public testing::Test {
  protected:
    static constexpr uint16_t ports = 3;

    void SetUp() override;
    void TearDown() override;
    void open(unsigned workers, config::Polling polling = config::Polling::adaptive);

    static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }
    /// The pair, and the program on it.
    void plug(uint16_t port);
    static void unplug(uint16_t port);
    /// Sockets of the port, and the program told.
    void add(uint16_t port, bool egress_only = false);
    void remove(uint16_t port);

    /// From port 1 to port 2; from port 2 to port 3; from port 3 to port 2; from port 1 to a neighbour that
    /// is not known, so to the daemon.
    static Sender to_port2() { return {"e1", arriving, "10.1.0.9", 64}; }
    static Sender to_port3() { return {"e2", {.to = port2, .from = peer}, "10.2.0.9", 64}; }
    static Sender from_port3() {
        return {"e3", {.to = port3, .from = peer, .tags = {{0x8100, tci100}}}, "10.1.0.9", 64};
    }
    static Sender to_daemon() { return {"e1", arriving, "10.6.0.9", 64}; }

    template <class Condition>
    static bool until(const Condition& condition) {
        return pktpit::test::until(condition);
    }
    /// Frames for the daemon that have come so far.
    uint64_t poll();
    [[nodiscard]] uint64_t counted(uint16_t port, pp_verdict verdict) const {
        return counters->port(port).verdict[verdict];
    }
    /// As the port stages of a port do it, when they take over for the time of this number.
    void stand_in(uint16_t port, uint32_t number) {
        for (uint32_t queue = 0; queue < PP_PORT_QUEUES; queue++)
            __atomic_store_n(&order->sockets[port * PP_PORT_QUEUES + queue].void_to, number,
                             __ATOMIC_SEQ_CST);
    }
    /// Of each queue that the port has.
    [[nodiscard]] bool settled(uint16_t port, uint32_t number) const;
    [[nodiscard]] std::string where_slots_are();
    /// No worker has lost a slot.
    void expect_no_slot_lost();
    /// After a while nothing is on its way any more, and no slot is lost.
    void expect_rest();
    /// Nothing is on its way, and what was in rings of closed sockets has come back.
    [[nodiscard]] bool all_at_rest();

    fib::Epochs epochs;
    pp_fib_geometry geometry = fib::plan_geometry(small_capacity());
    std::unique_ptr<std::byte, decltype(&std::free)> memory{
        static_cast<std::byte*>(std::aligned_alloc(64, geometry.image_bytes)), &std::free};
    fib::FibImage image{{memory.get(), geometry.image_bytes}, geometry, fib::Reclamation(epochs)};
    Fd wakeup;
    std::unique_ptr<WorkerCounterSet> counters;
    std::unique_ptr<pp_order> order = std::make_unique<pp_order>();
    std::unique_ptr<SplitPath> path;
    uint64_t punted = 0;

  private:
    std::array<Fd, ports + 1> sockets_;  ///< XSKMAP of each port
};

}  // namespace pktpit::router::test
