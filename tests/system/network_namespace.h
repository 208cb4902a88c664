// SPDX-License-Identifier: BSD-3-Clause
/// A fixture whose every test runs in a network namespace of its own, with two veth pairs (v0–v1, w0–w1) that
/// are up, v0 10.0.0.1/24 and 2001:db8:a::1/64, w0 10.1.0.1/24 and 2001:db8:b::1/64; and a NetlinkKernel that
/// feeds a KernelState. Needs root. The namespace dies with the process's next one.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "router/kernel/kernel_state.h"
#include "router/kernel/netlink.h"
#include "tests/unit/kernel/recorder.h"
#include "tests/until.h"

namespace pktpit::router {

/// Commands of ip's, one a line, in a file for `ip -batch`.
class Batch {
  public:
    explicit Batch(const std::string& commands) { std::ofstream(path_) << commands; }
    ~Batch() { std::remove(path_.c_str()); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    /// Which runs them all, or, with -force, all that are not refused.
    [[nodiscard]] std::string command(const std::string& options = "") const {
        return "ip " + options + " -batch " + path_;
    }

  private:
    std::string path_ = ::testing::TempDir() + "pktpit-batch-" + std::to_string(getpid());
};

class NetworkNamespace : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(unshare(CLONE_NEWNET), 0) << "needs root";
        run("ip link set lo up");
        for (const std::string& device : {std::string("v"), std::string("w")}) {
            run("ip link add " + device + "0 type veth peer name " + device + "1");
            run("ip link set " + device + "0 up");
            run("ip link set " + device + "1 up");
        }
        run("ip addr add 10.0.0.1/24 dev v0");
        run("ip addr add 10.1.0.1/24 dev w0");
        run("ip addr add 2001:db8:a::1/64 dev v0 nodad");
        run("ip addr add 2001:db8:b::1/64 dev w0 nodad");
    }

    static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

    static NetlinkOptions with_routes(size_t receive_buffer = NetlinkOptions{}.receive_buffer) {
        NetlinkOptions options;
        options.routes.enabled = true;
        options.receive_buffer = receive_buffer;
        return options;
    }

    void start(const NetlinkOptions& options = with_routes()) {
        auto opened = NetlinkKernel::open(options);
        ASSERT_TRUE(opened) << opened.error().to_string();
        kernel = std::move(*opened);
        recorder = {};
        state = std::make_unique<KernelState>(options.routes, recorder);
        auto dumped = kernel->dump([this](const KernelEvent& event) { state->consume(event); });
        ASSERT_TRUE(dumped) << dumped.error().to_string();
        EXPECT_EQ(recorder.resyncs, 1U);
    }

    /// Follows events until the condition holds.
    [[nodiscard]] bool wait_until(const std::function<bool()>& condition) {
        const auto deadline = std::chrono::steady_clock::now() + pktpit::test::patience;
        while (true) {
            const auto followed = follow(*kernel, *state);
            EXPECT_TRUE(followed) << followed.error().to_string();
            if (condition()) return true;
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                deadline - std::chrono::steady_clock::now());
            if (left.count() <= 0) return false;
            pollfd readable{kernel->descriptor(), POLLIN, 0};
            ::poll(&readable, 1, static_cast<int>(left.count()));
        }
    }

    /// Follows every event that has been sent until now: a marker link is made, and its event waited for.
    void catch_up() {
        static unsigned count = 0;
        const std::string marker = "mark" + std::to_string(count++);
        run("ip link add " + marker + " type veth peer name " + marker + "p");
        ASSERT_TRUE(wait_until([&] { return state->link(marker) != nullptr; }));
        run("ip link del " + marker);
        ASSERT_TRUE(wait_until([&] { return state->link(marker) == nullptr; }));
    }

    /// What the kernel has now, read by a dump into fresh tables.
    static std::map<Prefix, KernelRoute> kernel_routes() {
        const NetlinkOptions options = with_routes();
        auto fresh = NetlinkKernel::open(options);
        KernelListener nobody;
        KernelState tables(options.routes, nobody);
        const auto dumped = (*fresh)->dump([&](const KernelEvent& event) { tables.consume(event); });
        EXPECT_TRUE(dumped);
        return routes_in(tables.routes());
    }

    /// Compares what is followed with the kernel, to its end.
    ComparisonResult compare() {
        const size_t before = recorder.comparisons.size();
        kernel->compare();
        const auto deadline = std::chrono::steady_clock::now() + pktpit::test::patience;
        while (recorder.comparisons.size() == before && std::chrono::steady_clock::now() < deadline) {
            pollfd readable{kernel->descriptor(), POLLIN, 0};
            ::poll(&readable, 1, 1000);
            Turn turn = Turn::whole();
            const auto followed = follow(*kernel, *state, turn);
            EXPECT_TRUE(followed) << followed.error().to_string();
        }
        EXPECT_EQ(recorder.comparisons.size(), before + 1);
        return recorder.comparisons.empty() ? ComparisonResult{} : recorder.comparisons.back();
    }

    /// State, listener and kernel agree about every route.
    void expect_in_step() {
        catch_up();
        const auto truth = kernel_routes();
        EXPECT_EQ(routes_in(state->routes()), truth);
        EXPECT_EQ(recorder.routes, truth);
    }

    /// Runs a command, after which they still do.
    void run_in_step(const std::string& command) {
        run(command);
        SCOPED_TRACE(command);
        expect_in_step();
    }

    uint32_t ifindex(const std::string& name) {
        const LinkEvent* link = state->link(name);
        EXPECT_NE(link, nullptr) << name;
        return link ? link->ifindex : 0;
    }
    static Prefix prefix(const char* text) { return *Prefix::parse(text); }
    static IpAddress address(const char* text) { return *IpAddress::parse(text); }

    std::unique_ptr<NetlinkKernel> kernel;
    std::unique_ptr<KernelState> state;
    Recorder recorder;
};

}  // namespace pktpit::router
