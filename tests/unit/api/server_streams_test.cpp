// SPDX-License-Identifier: BSD-3-Clause
// Answers that go on until one side has enough.
#include <gtest/gtest.h>

#include <future>

#include "tests/unit/api/server_fixture.h"

namespace pktpit::router::test {
namespace {

class StreamTest : public ServerTest {
  protected:
    void SetUp() override { start(); }
    /// Whether so many streams have been asked for.
    bool are_observed(size_t count) {
        return pktpit::test::until([&] {
            std::promise<size_t> seen;
            loop.post([&] { seen.set_value(control.calls.size()); });
            return seen.get_future().get() == count;
        });
    }
    static constexpr const char* request = "GET /v1/trace?count=3&port=p1 HTTP/1.1\r\nHost: x\r\n\r\n";
};

TEST_F(StreamTest, PiecesComeAsTheyAreMadeAndTheEndEndsTheAnswer) {
    const RawClient client(socket);
    client.send(request);
    auto all = std::async(std::launch::async, [&] { return client.receive_all(); });
    EXPECT_TRUE(control.stream->push("first\n"));
    EXPECT_TRUE(control.stream->push("second\n"));
    control.stream->end("last\n");
    const std::string answer = all.get();
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
    EXPECT_NE(answer.find("first\n"), std::string::npos);
    EXPECT_NE(answer.find("last\n\r\n0\r\n\r\n"), std::string::npos) << answer;
    ASSERT_TRUE(control.observed);
    EXPECT_TRUE(control.observed->trace);
    EXPECT_EQ(control.observed->count, 3u);
    EXPECT_EQ(control.observed->port, "p1");
}

TEST_F(StreamTest, AClientThatClosesItsSideIsToldTheRest) {
    const RawClient client(socket);
    client.send("GET /v1/capture HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_FALSE(control.stream->is_ended_by_client());
    client.finish_sending();
    ASSERT_TRUE(pktpit::test::until([&] { return control.stream->is_ended_by_client(); }));
    control.stream->end("the end");
    EXPECT_NE(client.receive_all().find("the end"), std::string::npos);
}

TEST_F(StreamTest, AClientThatGoesAwayIsNoticedWhetherOrNotThereIsSomethingToSay) {
    size_t streams = 0;
    for (const bool busy : {false, true}) {
        control.stream = std::make_shared<ObservationStream>();
        {
            const RawClient client(socket);
            client.send(request);
            ASSERT_TRUE(are_observed(++streams));
        }
        EXPECT_TRUE(pktpit::test::until([&] {
            if (busy) (void)control.stream->push(std::string(100'000, 'x'));
            return control.stream->is_ended_by_client();
        })) << busy;
    }
}

TEST_F(StreamTest, AClientThatPausesIsWaitedForHoweverLong) {
    server.reset();
    ApiServer::Limits hasty = endless;
    hasty.write_progress = 1ms;
    start(hasty);
    const std::string much(4 << 20, 'x');
    control.answer = {{"routes", {much, much}}, {"total", 2}};
    for (const bool routes : {false, true}) {
        SCOPED_TRACE(routes ? "all routes" : "a trace");
        const RawClient client(socket);
        client.send(routes ? "GET /v1/routes/all HTTP/1.1\r\nHost: x\r\n\r\n" : request);
        EXPECT_TRUE(routes || control.stream->push(much));
        // As much has come as the kernel holds for it, and it takes nothing.
        ASSERT_TRUE(pktpit::test::until([&] { return client.unread() > 100'000; }));
        if (!routes) {
            EXPECT_FALSE(control.stream->is_ended_by_client());
            control.stream->end("last\n");
        }
        const std::string answer = client.receive_all();
        EXPECT_GT(answer.size(), much.size());
        EXPECT_TRUE(answer.ends_with("\r\n0\r\n\r\n")) << answer.substr(answer.size() - 40);
    }
}

TEST_F(StreamTest, AStopEndsStreamsSoon) {
    const RawClient client(socket);
    client.send(request);
    ASSERT_TRUE(are_observed(1));
    server->stop();
    EXPECT_TRUE(client.receive_all().starts_with("HTTP/1.1 200"));
}

TEST_F(StreamTest, WhatCannotBeObservedIsRefused) {
    EXPECT_EQ(get("/v1/trace?filter=ip%20and").status, 400);
    EXPECT_EQ(get("/v1/capture?point=sideways").status, 400);
    EXPECT_FALSE(control.observed);
    control.refuse = Error{"?port", "no port \"p9\"", "", ""};
    const Reply refused = get("/v1/trace?port=p9");
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(refused.body["errors"][0]["where"], "?port");
    EXPECT_EQ(send_body("POST", "/v1/trace", "{}").status, 405);
}

}  // namespace
}  // namespace pktpit::router::test
