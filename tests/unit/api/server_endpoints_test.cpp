// SPDX-License-Identifier: BSD-3-Clause
// What each endpoint asks of Control, and what it refuses before asking.
#include "tests/sanitized.h"
#include "tests/unit/api/server_fixture.h"

namespace pktpit::router::test {
namespace {

using nlohmann::json;

class EndpointsTest : public ServerTest {
  protected:
    void SetUp() override { start(); }
};

std::string first_where(const Reply& reply) {
    return reply.body.is_object() && reply.body.contains("errors") ? reply.body["errors"][0]["where"]
                                                                   : "<no errors>";
}

TEST_F(EndpointsTest, PlainGetsAskTheLoopThreadAndPassTheAnswerOn) {
    control.answer = {{"value", 18446744073709551615U}, {"text", "é"}};
    const std::pair<const char*, const char*> paths[] = {{"/v1/version", "version"},
                                                         {"/v1/ports", "ports"},
                                                         {"/v1/neighbours", "neighbours"},
                                                         {"/v1/counters", "counters"},
                                                         {"/v1/latency", "latency"},
                                                         {"/v1/workers", "workers"},
                                                         {"/v1/offload", "offload"},
                                                         {"/v1/offload/entries", "offload_entries"},
                                                         {"/v1/vrfs", "vrfs"},
                                                         {"/v1/config", "config"}};
    std::vector<std::string> expected;
    for (const auto& [path, call] : paths) {
        const Reply reply = get(path);
        EXPECT_EQ(reply.status, 200) << path;
        EXPECT_EQ(reply.body, control.answer) << path;
        EXPECT_NE(reply.head.find("application/json"), std::string::npos);
        expected.emplace_back(call);
    }
    EXPECT_EQ(control.calls, expected);
    for (const auto id : control.threads)
        EXPECT_EQ(id, loop.id());
}

TEST_F(EndpointsTest, RoutesQueryArrivesWhole) {
    const Reply reply =
        get("/v1/routes?family=6&source=kernel&within=2001%3Adb8%3A%3A%2F32&after=2001:db8:7::/48&limit=17");
    ASSERT_EQ(reply.status, 200) << reply.body;
    ASSERT_TRUE(control.query);
    EXPECT_EQ(control.query->family, Family::ipv6);
    EXPECT_EQ(control.query->source, "kernel");
    EXPECT_EQ(control.query->within, Prefix::parse("2001:db8::/32").value());
    EXPECT_EQ(control.query->after, Prefix::parse("2001:db8:7::/48").value());
    EXPECT_EQ(control.query->limit, 17U);
}

TEST_F(EndpointsTest, AVrfIsNamedByQueryOrBody) {
    for (const char* path :
         {"/v1/routes", "/v1/routes/summary", "/v1/route?to=192.0.2.1", "/v1/lookup?address=192.0.2.1"}) {
        const std::string asked =
            std::string(path) + (std::string_view(path).find('?') != std::string_view::npos ? "&" : "?");
        EXPECT_EQ(get(asked + "vrf=red").status, 200) << path;
        EXPECT_EQ(control.query->vrf, "red") << path;
        EXPECT_EQ(get(asked + "vrf=default").status, 200) << path;
        EXPECT_EQ(control.query->vrf, "") << path;
        EXPECT_EQ(get(asked + "vrf=").status, 400) << path;
        EXPECT_EQ(get(path).status, 200) << path;
        EXPECT_EQ(control.query->vrf, "") << path;
    }
    for (const char* path : {"/v1/routes?vrf=absent", "/v1/routes/all?vrf=absent",
                             "/v1/route?to=192.0.2.1&vrf=absent", "/v1/lookup?address=192.0.2.1&vrf=absent"})
        EXPECT_EQ(get(path).status, 404) << path;
    EXPECT_EQ(send_body("POST", "/v1/lookup", R"({"addresses": ["192.0.2.1"], "vrf": "red"})").status, 200);
    EXPECT_EQ(control.query->vrf, "red");
    EXPECT_EQ(control.addresses.size(), 1U);
    EXPECT_EQ(send_body("POST", "/v1/lookup", R"({"addresses": ["192.0.2.1"], "vrf": 7})").status, 400);
    EXPECT_EQ(send_body("POST", "/v1/lookup", R"({"addresses": ["192.0.2.1"], "vrf": "absent"})").status,
              404);
}

TEST_F(EndpointsTest, AllRoutesComeAsLinesInPieces) {
    control.answer = {{"total", 2}, {"routes", {{{"prefix", "10.0.0.0/8"}}, {{"prefix", "11.0.0.0/8"}}}}};
    const RawClient client(socket);
    client.send("GET /v1/routes/all?family=4&limit=70000 HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = client.receive_all();
    EXPECT_EQ(control.query->limit, 70'000U);
    EXPECT_EQ(control.query->family, Family::ipv4);
    EXPECT_NE(answer.find("Transfer-Encoding: chunked"), std::string::npos) << answer;
    EXPECT_NE(answer.find("{\"prefix\":\"10.0.0.0/8\"}\n"), std::string::npos) << answer;
    EXPECT_NE(answer.find("{\"end\":{\"next\":null,\"total\":2}}\n"), std::string::npos) << answer;
    EXPECT_TRUE(answer.ends_with("\r\n0\r\n\r\n")) << answer;
    EXPECT_EQ(get("/v1/routes/all?after=10.0.0.0/8").status, 400);
    EXPECT_EQ(get("/v1/routes/all?limit=0").status, 400);
}

TEST_F(EndpointsTest, ListingThatTheDaemonGivesUpHasNoEnd) {
    control.answer = {{"total", 2}, {"routes", {{{"prefix", "10.0.0.0/8"}}, {{"prefix", "11.0.0.0/8"}}}}};
    control.fail_after = 1;
    const RawClient client(socket);
    client.send("GET /v1/routes/all HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = client.receive_all();
    EXPECT_NE(answer.find("10.0.0.0/8"), std::string::npos) << answer;
    EXPECT_FALSE(answer.ends_with("\r\n0\r\n\r\n")) << answer;
}

TEST_F(EndpointsTest, RoutesQueryIsEmptyByDefault) {
    ASSERT_EQ(get("/v1/routes").status, 200);
    EXPECT_FALSE(control.query->family || control.query->source || control.query->within ||
                 control.query->after);
    EXPECT_EQ(control.query->limit, 1000U);
}

TEST_F(EndpointsTest, BadQueriesNameTheParameter) {
    const std::pair<const char*, const char*> cases[] = {
        {"/v1/ports?verbose=1", "?verbose"},
        {"/v1/routes?family=5", "?family"},
        {"/v1/routes?source=bgp", "?source"},
        {"/v1/routes?within=10.0.0.1/8", "?within"},
        {"/v1/routes?within=", "?within"},
        {"/v1/routes?after=banana", "?after"},
        {"/v1/routes?limit=0", "?limit"},
        {"/v1/routes?limit=50001", "?limit"},
        {"/v1/routes?limit=-1", "?limit"},
        {"/v1/routes?limit=1e3", "?limit"},
        {"/v1/routes?limit=99999999999999999999", "?limit"},
        {"/v1/routes?limit=1&limit=2", "?limit"},
        {"/v1/routes?colour=red", "?colour"},
        {"/v1/route", "?to"},
        {"/v1/route?to=192.0.2", "?to"},
        {"/v1/route?to=192.0.2.1/32", "?to"},
        {"/v1/route?to=192.0.2.1&to=192.0.2.2", "?to"},
        {"/v1/lookup", "?address"},
        {"/v1/lookup?address=10.0.0.1&address=x", "?address"},
        {"/v1/lookup?addr=10.0.0.1", "?addr"},
    };
    for (const auto& [target, where] : cases) {
        const Reply reply = get(target);
        EXPECT_EQ(reply.status, 400) << target;
        EXPECT_EQ(first_where(reply), where) << target;
    }
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(EndpointsTest, RouteAndLookupTakeAddressesInOrder) {
    ASSERT_EQ(get("/v1/route?to=2001:db8::1").status, 200);
    EXPECT_EQ(control.addresses.at(0).to_string(), "2001:db8::1");
    ASSERT_EQ(get("/v1/lookup?address=203.0.113.9&address=10.0.0.1&address=::1&address=9.0.0.1").status, 200);
    std::vector<std::string> asked;
    for (const auto& address : control.addresses)
        asked.push_back(address.to_string());
    EXPECT_EQ(asked, (std::vector<std::string>{"203.0.113.9", "10.0.0.1", "::1", "9.0.0.1"}));
}

TEST_F(EndpointsTest, LookupByPostTakesManyAddresses) {
    json addresses = json::array();
    for (uint32_t i = 0; i < 65'536; i++)
        addresses.push_back(IpAddress::v4(i).to_string());
    // 65,536 quoted addresses are about as large as a body may be.
    const Reply many = send_body("POST", "/v1/lookup", json{{"addresses", addresses}}.dump());
    ASSERT_EQ(many.status, 200) << many.head;
    ASSERT_EQ(control.addresses.size(), 65'536U);
    EXPECT_EQ(control.addresses[65'535], IpAddress::v4(65'535));

    addresses.push_back("10.0.0.1");
    EXPECT_EQ(send_body("POST", "/v1/lookup", json{{"addresses", addresses}}.dump()).status, 400);
    const Reply bad = send_body("POST", "/v1/lookup", R"({"addresses": ["10.0.0.1", 7]})");
    EXPECT_EQ(bad.status, 400);
    EXPECT_EQ(first_where(bad), "/addresses/1");
    EXPECT_EQ(send_body("POST", "/v1/lookup", R"({"address": "10.0.0.1"})").status, 400);
    EXPECT_EQ(control.calls.size(), 1U);
}

TEST_F(EndpointsTest, RouteChangesByMethod) {
    const std::string body =
        R"({"prefix": "10.0.0.0/8", "next_hops": [{"via": "192.0.2.7", "weight": 2}, {"interface": "eth1"}]})";
    EXPECT_EQ(send_body("POST", "/v1/routes", body).status, 200);
    EXPECT_EQ(send_body("PUT", "/v1/routes", body).status, 200);
    ASSERT_TRUE(control.route);
    EXPECT_EQ(control.route->prefix.to_string(), "10.0.0.0/8");
    ASSERT_EQ(control.route->next_hops.size(), 2U);
    EXPECT_EQ(control.route->next_hops[0].weight, 2);
    EXPECT_EQ(control.route->next_hops[1].interface, "eth1");
    EXPECT_EQ(send_body("DELETE", "/v1/routes", R"({"prefix": "10.0.0.0/8"})").status, 200);
    // A route as listed may be sent back to remove it.
    EXPECT_EQ(send_body("DELETE", "/v1/routes", R"({"prefix": "10.0.0.0/8", "source": "cli", "best": true})")
                  .status,
              200);
    EXPECT_EQ(control.calls, (std::vector<std::string>{"add", "replace", "remove", "remove"}));
}

TEST_F(EndpointsTest, ABatchOfRoutesIsOneChange) {
    const char* two = R"({"routes": [{"prefix": "10.0.0.0/8", "via": "192.0.2.7"},
                                     {"prefix": "11.0.0.0/8", "type": "blackhole"}]})";
    EXPECT_EQ(send_body("POST", "/v1/routes", two).status, 200);
    EXPECT_EQ(send_body("PUT", "/v1/routes", two).status, 200);
    EXPECT_EQ(
        send_body("DELETE", "/v1/routes", R"({"routes": [{"prefix": "10.0.0.0/8", "best": true}]})").status,
        200);
    EXPECT_EQ(control.calls, (std::vector<std::string>{"add_all", "replace_all", "remove_all"}));
    ASSERT_EQ(control.batch.size(), 1U);
    control.calls.clear();

    const Reply wrong =
        send_body("PUT", "/v1/routes", R"({"routes": [{"prefix": "10.0.0.0/8", "via": "192.0.2.7"},
                                                                      {"prefix": "11.0.0.0/8", "via": "banana"}]})");
    EXPECT_EQ(wrong.status, 400);
    EXPECT_EQ(first_where(wrong), "/routes/1/via");
    std::string many = R"({"routes": [{"prefix": "x"})";
    for (int i = 0; i < 30; i++)
        many += R"(, {"prefix": "x"})";
    EXPECT_LT(send_body("PUT", "/v1/routes", many + "]}").body["errors"].size(), 50U) << "the first of them";
    for (const char* shape :
         {R"({"routes": []})", R"({"routes": {}})", R"({"routes": [], "x": 1})", R"({"routes": 7})"})
        EXPECT_EQ(send_body("PUT", "/v1/routes", shape).status, 400) << shape;
    std::string too_many = R"({"routes": [0)";
    for (int i = 0; i < 100'000; i++)
        too_many += ",0";
    EXPECT_NE(send_body("PUT", "/v1/routes", too_many + "]}")
                  .body["errors"][0]["expected"]
                  .get<std::string>()
                  .find("100000"),
              std::string::npos);
    EXPECT_TRUE(control.calls.empty());

    std::string large = R"({"routes": [{"prefix": "0.0.0.0/32", "type": "blackhole"})";
    const unsigned routes = pktpit::test::rounds_of(60'000U);
    for (unsigned i = 1; i < routes; i++)
        large += R"(, {"prefix": "20.)" + std::to_string(i >> 8) + "." + std::to_string(i & 255) +
                 R"(.0/32", "type": "blackhole"})";
    large += std::string(1 << 20, ' ') + "]}";
    EXPECT_EQ(send_body("PUT", "/v1/routes", large).status, 200) << "of more than 1 MiB";
    EXPECT_EQ(control.batch.size(), routes);
}

TEST_F(EndpointsTest, RefusedRouteChangeIs409WithTheReason) {
    control.refuse = Error{"10.0.0.0/8", "there already", "", "replace it"};
    const Reply reply = send_body("POST", "/v1/routes", R"({"prefix": "10.0.0.0/8", "via": "192.0.2.7"})");
    EXPECT_EQ(reply.status, 409);
    EXPECT_EQ(reply.body, json::parse(R"({"errors": [{"where": "10.0.0.0/8", "message": "there already",
                                                      "expected": "", "hint": "replace it"}]})"));
}

TEST_F(EndpointsTest, ReloadTakesPathAndDryRun) {
    EXPECT_EQ(send_body("POST", "/v1/reload", "{}").status, 200);
    EXPECT_FALSE(control.ordered->path);
    EXPECT_FALSE(control.ordered->dry_run);
    EXPECT_EQ(send_body("POST", "/v1/reload", R"({"path": "/etc/x.json", "dry_run": true})").status, 200);
    EXPECT_EQ(control.ordered->path, "/etc/x.json");
    EXPECT_TRUE(control.ordered->dry_run);
    for (const char* bad : {R"({"path": "x.json"})", R"({"path": 7})", R"({"dry_run": "yes"})",
                            R"({"dryrun": true})", R"([])", R"("x")", R"({"path": "/a\u0000b"})"}) {
        EXPECT_EQ(send_body("POST", "/v1/reload", bad).status, 400) << bad;
    }
    EXPECT_EQ(control.calls.size(), 2U);
    control.refuse_reload = {{"/routes/3", "one", "", ""}, {"/routes/4", "two", "", ""}};
    const Reply reply = send_body("POST", "/v1/reload", "{}");
    EXPECT_EQ(reply.status, 422);
    EXPECT_EQ(reply.body["errors"].size(), 2U);
    control.reload_unchanged = false;
    EXPECT_EQ(send_body("POST", "/v1/reload", "{}").status, 500) << "something was changed";
    control.reload_unchanged = true;
    control.reload_why = ReloadRefusal::Why::busy;
    EXPECT_EQ(send_body("POST", "/v1/reload", "{}").status, 503);
    control.reload_why = ReloadRefusal::Why::forbidden;
    EXPECT_EQ(send_body("POST", "/v1/reload", "{}").status, 403);
}

TEST_F(EndpointsTest, UnknownPathsAndMethods) {
    EXPECT_EQ(get("/").status, 404);
    EXPECT_EQ(get("/v1/port").status, 404);
    EXPECT_EQ(get("/v1/ports/1").status, 404);
    EXPECT_FALSE(get("/v2/ports").body["errors"].empty());
    for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
        const Reply reply = send_body(method, "/v1/ports", "");
        EXPECT_EQ(reply.status, 405) << method;
        EXPECT_NE(reply.head.find("Allow: GET\r\n"), std::string::npos) << reply.head;
    }
    const Reply reply = send_body("PATCH", "/v1/routes", "{}");
    EXPECT_EQ(reply.status, 405);
    EXPECT_NE(reply.head.find("Allow: GET, POST, PUT, DELETE"), std::string::npos) << reply.head;
    EXPECT_EQ(get("/v1/reload").status, 405);
    EXPECT_TRUE(control.calls.empty());
}

TEST_F(EndpointsTest, ExceptionOutOfControlIs500) {
    control.explode = true;
    const Reply reply = get("/v1/ports");
    EXPECT_EQ(reply.status, 500);
    EXPECT_EQ(reply.body["errors"][0]["message"], "boom");
    control.explode = false;
    EXPECT_EQ(get("/v1/ports").status, 200);
}

TEST_F(EndpointsTest, NamesThatAreNotUtf8DoNotBreakTheAnswer) {
    control.answer = {{"name", "eth\xff"}};
    const Reply reply = get("/v1/ports");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body["name"], "eth\xef\xbf\xbd");
}

}  // namespace
}  // namespace pktpit::router::test
