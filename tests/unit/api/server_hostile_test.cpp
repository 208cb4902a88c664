// SPDX-License-Identifier: BSD-3-Clause
// Requests that are broken, huge or never end: a clear refusal, bounded time, and the next client is served.
#include <algorithm>
#include <mutex>
#include <thread>

#include "tests/unit/api/server_fixture.h"

namespace pktpit::router::test {
namespace {

class HostileTest : public ServerTest {
  protected:
    void SetUp() override { start(); }
};

TEST_F(HostileTest, BrokenJsonIs400) {
    std::string deep(10'000, '[');
    for (const std::string& body : {std::string(), std::string("{"), std::string("{\"prefix\": }"),
                                    std::string("nul"), std::string("\xff\xfe"), std::string("{}x"),
                                    std::string("{\"a\": \"\xc3\"}"), deep, std::string(3, '\0')}) {
        const Reply reply = send_body("POST", "/v1/routes", body);
        EXPECT_EQ(reply.status, 400) << body.substr(0, 20);
        ASSERT_TRUE(reply.body.is_object()) << body.substr(0, 20);
        EXPECT_FALSE(reply.body["errors"].empty());
    }
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(HostileTest, TooLargeBodyIs413) {
    const Reply reply = send_body("POST", "/v1/routes", std::string((7 << 20) + 1, ' '));
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.body["errors"][0]["message"], "body too large");
    // The largest allowed arrives: broken JSON it is.
    EXPECT_EQ(send_body("POST", "/v1/routes", std::string(7 << 20, ' ')).status, 400);
    const Reply other = send_body("POST", "/v1/lookup", std::string((1 << 20) + 1, ' '));
    EXPECT_EQ(other.status, 413) << "only routes come in such batches";
    EXPECT_EQ(other.body["errors"][0]["message"], "body too large");
    EXPECT_EQ(send_body("POST", "/v1/lookup", std::string(1 << 20, ' ')).status, 400);
}

TEST_F(HostileTest, TooLargeChunkedBodyIs413) {
    std::string request = "POST /v1/routes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (int i = 0; i < 115; i++)
        request += "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
    request += "0\r\n\r\n";
    EXPECT_EQ(exchange(request).status, 413);
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(HostileTest, EndlessChunkedBodyIsCutOff) {
    const RawClient client(socket);
    ASSERT_TRUE(client.send("POST /v1/routes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"));
    const std::string chunk = "10000\r\n" + std::string(0x10000, ' ') + "\r\n";
    int sent = 0;
    while (sent < 1000 && client.send(chunk))
        sent++;
    EXPECT_LT(sent, 200);  // 8 MiB are 128 chunks, and the socket's buffer holds a few more
    EXPECT_EQ(get("/v1/ports").status, 200);
}

TEST_F(HostileTest, EndlessHeadersAreCutOff) {
    const RawClient client(socket);
    ASSERT_TRUE(client.send("GET /v1/ports HTTP/1.1\r\n"));
    std::string headers;
    for (int i = 0; i < 1000; i++)
        headers += "X-" + std::to_string(i) + ": y\r\n";
    size_t sent = 0;
    while (sent < (64U << 20) && client.send(headers))
        sent += headers.size();
    EXPECT_LT(sent, 16U << 20);
    EXPECT_EQ(get("/v1/ports").status, 200);
    EXPECT_EQ(control.calls.size(), 1U);
}

TEST_F(HostileTest, CompressedBodyIsNotUnpacked) {
    const std::string gzip(
        "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3\x02\x00\x00\x00", 22);
    EXPECT_EQ(
        exchange("POST /v1/reload HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 22\r\n\r\n" + gzip)
            .status,
        400);
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(HostileTest, CurlsDefaultContentTypeIsTakenAsJson) {
    const std::string body = R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7", "metric": 5})";
    EXPECT_EQ(
        exchange("POST /v1/routes HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                 "Content-Length: " +
                 std::to_string(body.size()) + "\r\n\r\n" + body)
            .status,
        200);
    EXPECT_EQ(control.route->metric, 5U);
}

TEST_F(HostileTest, PostWithoutLengthDoesNotWaitForTheClientToHangUp) {
    EXPECT_EQ(exchange("POST /v1/reload HTTP/1.1\r\nHost: x\r\n\r\n").status, 400);
}

TEST_F(HostileTest, GarbageIsAnsweredOrDropped) {
    for (const std::string& bytes :
         {std::string("\r\n\r\n"), std::string("BREW /v1/ports HTTP/1.1\r\n\r\n"), std::string("GET\r\n\r\n"),
          std::string("GET /v1/ports HTTP/9.9\r\n\r\n"), std::string(64, '\0'),
          std::string("\x16\x03\x01\x02\x00\x01", 6),
          "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n",
          std::string("GET /v1/ports HTTP/1.1\r\nContent-Length: banana\r\n\r\n"),
          std::string("POST /v1/routes HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n{}"),
          std::string(
              "POST /v1/routes HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n")}) {
        const RawClient client(socket);
        client.send(bytes);
        client.finish_sending();
        const std::string answer = client.receive_all();
        EXPECT_EQ(answer.find("<timed out>"), std::string::npos) << bytes.substr(0, 40);
    }
    EXPECT_EQ(get("/v1/ports").status, 200);
}

TEST_F(ServerTest, ClientsThatSayNothingDoNotKeepOthersOut) {
    start({.request_time = 100ms, .connections_per_user = 64});
    std::vector<std::unique_ptr<RawClient>> idle;
    for (int i = 0; i < 80; i++) {
        idle.push_back(std::make_unique<RawClient>(socket));
        ASSERT_TRUE(idle.back()->connected());
    }
    // Behind 80 clients of 100 ms, 64 of them at once; slower than that on a busy machine it is one itself.
    EXPECT_TRUE(pktpit::test::until([&] { return get("/v1/ports").status == 200; }));
}

TEST_F(HostileTest, clients_who_are_slow_or_silent_cost_nobody_elses_time) {
    std::vector<std::unique_ptr<RawClient>> slow;
    for (int i = 0; i < 24; i++) {
        slow.push_back(std::make_unique<RawClient>(socket));
        if (i % 2) slow.back()->send("POST /v1/routes HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
    }
    EXPECT_EQ(get("/v1/ports").status, 200);
}

TEST_F(ServerTest, a_client_who_says_nothing_is_sent_away) {
    start({.request_time = 24h, .idle_time = 100ms});
    const RawClient silent(socket);
    EXPECT_EQ(silent.receive_all(), "");
}

TEST_F(ServerTest, one_user_has_so_many_connections_and_is_told_of_the_next) {
    start({.request_time = 24h, .idle_time = 24h, .connections_per_user = 2});
    std::vector<std::unique_ptr<RawClient>> held;
    for (int i = 0; i < 2; i++)
        held.push_back(std::make_unique<RawClient>(socket));
    const Reply refused = get("/v1/ports");
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(refused.body["errors"][0]["message"], "this user has too many connections");
    held.clear();
    EXPECT_TRUE(pktpit::test::until([&] { return get("/v1/ports").status == 200; }));
}

TEST_F(ServerTest, changes_are_told_to_the_audit_log_in_one_line_each) {
    std::mutex mutex;
    std::vector<std::pair<std::string, int>> told;
    server.emplace(control, executor(), ApiServer::Limits{},
                   [&](const Peer& by, const std::string& what, int status) {
                       EXPECT_EQ(by.uid, ::getuid());
                       EXPECT_EQ(by.pid, ::getpid());
                       const std::lock_guard lock(mutex);
                       told.emplace_back(what, status);
                   });
    ASSERT_TRUE(server->listen(socket));
    (void)get("/v1/ports");
    (void)send_body("PUT", "/v1/routes", R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7"})");
    (void)send_body("PUT", "/v1/routes", "{\"prefix\": \"10.0.0.0/8\\n\u00e9\"}");
    (void)send_body("POST", "/v1/reload", "{}");
    (void)send_body("POST", "/v1/routes", "no JSON");
    server->stop();
    ASSERT_EQ(told.size(), 3U);
    EXPECT_EQ(told[0].first, R"(PUT /v1/routes {"prefix":"10.0.0.0/8","via":"192.0.2.7"})");
    EXPECT_EQ(told[0].second, 200);
    EXPECT_EQ(told[2].first, "POST /v1/reload {}");
    for (const auto& [what, status] : told)
        EXPECT_TRUE(std::ranges::all_of(what, [](char c) { return c >= ' ' && c <= '~'; })) << what;
}

TEST_F(HostileTest, ManyClientsAtOnce) {
    constexpr int clients = 16;
    constexpr int requests = 50;
    std::atomic<int> good = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < clients; i++) {
        threads.emplace_back([&, i] {
            for (int n = 0; n < requests; n++) {
                const Reply reply =
                    (i + n) % 2
                        ? get("/v1/ports")
                        : send_body("PUT", "/v1/routes", R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7"})");
                if (reply.status == 200 && reply.body == nlohmann::json{{"fake", true}}) good++;
            }
        });
    }
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(good, clients * requests);
    EXPECT_EQ(control.calls.size(), static_cast<size_t>(clients * requests));
    for (const auto id : control.threads)
        ASSERT_EQ(id, loop.id());
}

TEST_F(HostileTest, nobody_gets_a_part_of_an_answer) {
    for (const std::string range : {"bytes=0-3", "bytes=2-", "bytes=-1,0-0", "bytes=999-"}) {
        const Reply reply = exchange("GET /v1/ports HTTP/1.1\r\nHost: x\r\nRange: " + range + "\r\n\r\n");
        EXPECT_EQ(reply.status, 200) << range;
        EXPECT_EQ(reply.body, control.answer) << range;
        EXPECT_EQ(reply.head.find("Content-Range"), std::string::npos) << range;
    }
}

}  // namespace
}  // namespace pktpit::router::test
