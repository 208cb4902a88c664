// SPDX-License-Identifier: BSD-3-Clause
// A busy or stopping daemon: requests end, nothing that was given up on happens later, stop() never hangs.
#include <future>

#include "tests/unit/api/server_fixture.h"

namespace pktpit::router::test {
namespace {

TEST_F(ServerTest, BusyLoopIs503AndTheChangeNeverHappens) {
    start({.patience = 100ms});
    loop.pause(true);
    const Reply reply = send_body("PUT", "/v1/routes", R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7"})");
    EXPECT_EQ(reply.status, 503);
    loop.pause(false);
    // Queued behind the one given up on; on a busy machine given up on itself, without a call.
    EXPECT_TRUE(pktpit::test::until([&] { return get("/v1/ports").status == 200; }));
    EXPECT_EQ(control.calls, std::vector<std::string>{"ports"});
}

TEST_F(ServerTest, StopWhileRequestsWait) {
    start();
    loop.pause(true);
    std::vector<std::future<Reply>> pending;
    for (int i = 0; i < 3; i++)
        pending.push_back(std::async(std::launch::async, [&] { return get("/v1/ports"); }));
    ASSERT_TRUE(loop.wait_for_queued(3));
    server->stop();
    for (auto& reply : pending) {
        const Reply got = reply.get();
        EXPECT_EQ(got.status, 503);
        EXPECT_EQ(got.body["errors"][0]["message"], "the daemon is stopping");
    }
    server.reset();
    loop.finish();  // runs the closures that the loop still held
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(ServerTest, StopOnTheLoopThreadWhileRequestsWait) {
    start();
    loop.pause(true);
    auto stopped = std::make_shared<std::promise<void>>();
    loop.post([this, stopped] {
        server->stop();
        stopped->set_value();
    });
    auto reply = std::async(std::launch::async, [&] { return get("/v1/ports"); });
    ASSERT_TRUE(loop.wait_for_queued(2));
    loop.pause(false);
    ASSERT_EQ(stopped->get_future().wait_for(pktpit::test::patience), std::future_status::ready);
    EXPECT_EQ(reply.get().status, 503);
    loop.finish();
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(ServerTest, StopWaitsForACallThatRuns) {
    std::promise<void> entered, leave;
    std::atomic<bool> called = false;
    control.at_call = [&] {
        called = true;
        entered.set_value();
        leave.get_future().wait();
    };
    start({.patience = 50ms});
    // Asked again where a busy loop has not begun in time.
    auto reply = std::async(std::launch::async, [&] {
        for (;;)
            if (const Reply got = get("/v1/version"); called) return got;
    });
    entered.get_future().wait();
    auto stopped = std::async(std::launch::async, [&] { server->stop(); });
    EXPECT_EQ(stopped.wait_for(200ms),
              std::future_status::timeout);  // and patience has run out, which is no matter
    leave.set_value();
    ASSERT_EQ(stopped.wait_for(pktpit::test::patience), std::future_status::ready);
    const Reply got = reply.get();
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, control.answer);
}

TEST_F(ServerTest, StopDoesNotWaitForHalfARequest) {
    start();
    const RawClient silent(socket);
    const RawClient half(socket);
    half.send("POST /v1/routes HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
    EXPECT_EQ(get("/v1/ports").status, 200);
    server->stop();
}

TEST_F(ServerTest, StopDoesNotWaitForAClientThatDoesNotRead) {
    start();
    constexpr size_t large = 2 << 20;  // no socket's buffer holds so much
    control.answer = {{"large", std::string(large, 'x')}};
    const RawClient client(socket);
    client.send("GET /v1/ports HTTP/1.1\r\n\r\n");
    EXPECT_EQ(get("/v1/ports").status, 200);
    server->stop();
    EXPECT_LT(client.receive_all().size(), large) << "it was cut off";
}

TEST_F(ServerTest, StopTwiceAndWithoutListening) {
    ApiServer idle(control, executor());
    idle.stop();
    start();
    server->stop();
    server->stop();
    EXPECT_FALSE(RawClient(socket).connected());
}

TEST_F(ServerTest, StartAndStopManyTimes) {
    for (int i = 0; i < 50; i++) {
        start();
        std::thread client([&] { (void)RawClient(socket).send("GET /v1/ports HTTP/1.1\r\n\r\n"); });
        server->stop();
        client.join();
        server.reset();
        ASSERT_FALSE(std::filesystem::exists(socket));
    }
}

}  // namespace
}  // namespace pktpit::router::test
