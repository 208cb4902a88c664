// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/server.h"

#include <nlohmann/json.hpp>

#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "router/api/answers.h"
#include "router/api/query.h"
#include "router/api/route_json.h"
#include "router/api/unix_listener.h"

namespace pktpit::router {
namespace {

using httplib::Request;
using httplib::Response;
using nlohmann::json;

constexpr size_t max_body = size_t{1} << 20;
/// A batch of routes; beside it a request has its head (ConnectionLimits::request_bytes).
constexpr size_t max_batch_body = size_t{7} << 20;
constexpr size_t most_errors = 20;
constexpr uint64_t longest_confirm = 86'400;  // seconds

tl::expected<json, Answer> parse_body(const Request& request) {
    const bool may_be_batch = request.path == "/v1/routes";
    const size_t most = may_be_batch ? max_batch_body : max_body;
    if (request.body.size() > most) {
        return tl::unexpected(
            refusal(413, Error{"", "body too large", "at most " + std::to_string(most) + " bytes",
                               may_be_batch ? "send the routes in several requests" : ""}));
    }
    // Nesting is bounded before parsing: nlohmann's parser does not recurse, but its destructor and dump()
    // do.
    size_t depth = 0;
    size_t deepest = 0;
    for (const char c : request.body) {
        if (c == '{' || c == '[') deepest = std::max(deepest, ++depth);
        if ((c == '}' || c == ']') && depth > 0) depth--;
    }
    if (deepest > 64) {
        return tl::unexpected(refusal(400, Error{"", "JSON nested deeper than 64", "a flat object", ""}));
    }
    if (const size_t nul = request.body.find('\0'); nul != std::string::npos)
        return tl::unexpected(refusal(
            400, Error{"byte " + std::to_string(nul + 1), "broken JSON: a NUL byte", "a JSON object", ""}));
    try {
        return json::parse(request.body);
    } catch (const json::parse_error& error) {
        return tl::unexpected(
            refusal(400, Error{"byte " + std::to_string(error.byte),
                               std::string("broken JSON: ") + error.what(), "a JSON object", ""}));
    }
}

/// What an observation has yielded since the last call. False: the client does not take it.
bool pass_on(ObservationStream& stream, httplib::DataSink& sink) {
    constexpr std::chrono::milliseconds patience{100};  // and then the client is looked at again
    if (HttpServer::is_ended_by_client()) stream.end_by_client();
    const auto bytes = stream.take(patience);
    if (!bytes) {
        sink.done();
        return true;
    }
    return bytes->empty() || sink.write(bytes->data(), bytes->size());
}

tl::expected<ReloadOrder, config::Errors> parse_reload(const json& body, bool rollback) {
    if (!body.is_object()) return tl::unexpected(config::Errors{{"", "not an object", "an object", ""}});
    ReloadOrder request;
    if (rollback) request.back = 1;
    config::Errors errors;
    for (const auto& [name, value] : body.items()) {
        if (name == "path" && !rollback) {
            if (value.is_string() && value.get_ref<const std::string&>().starts_with('/') &&
                value.get_ref<const std::string&>().find('\0') == std::string::npos) {
                request.path = value.get<std::string>();
            } else if (!value.is_null()) {
                errors.push_back({"/path", "not an absolute path", "a path that starts with /", ""});
            }
        } else if (name == "dry_run") {
            if (value.is_boolean()) {
                request.dry_run = value.get<bool>();
            } else {
                errors.push_back({"/dry_run", "not a boolean", "true or false", ""});
            }
        } else if (name == "confirm") {
            if (value.is_number_unsigned() && value.get<uint64_t>() >= 1 &&
                value.get<uint64_t>() <= longest_confirm) {
                request.confirm_s = value.get<uint32_t>();
            } else if (!value.is_null()) {
                errors.push_back(
                    {"/confirm", "not a number of seconds", "1 to " + std::to_string(longest_confirm), ""});
            }
        } else if (name == "back" && rollback) {
            if (value.is_number_unsigned() && value.get<uint64_t>() <= 1000) {
                request.back = value.get<size_t>();
            } else {
                errors.push_back(
                    {"/back", "not a number of configurations", "1: the one before the running one", ""});
            }
        } else {
            errors.push_back({"", "unknown member \"" + name.substr(0, 60) + "\"",
                              rollback ? "back, dry_run or confirm" : "path, dry_run or confirm", ""});
        }
    }
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    return request;
}

int status_of(const ReloadRefusal& refusal) {
    if (!refusal.unchanged) return 500;
    switch (refusal.why) {
        case ReloadRefusal::Why::forbidden:
            return 403;
        case ReloadRefusal::Why::busy:
            return 503;
        case ReloadRefusal::Why::wrong:
            break;
    }
    return 422;
}

/// A request in one line of printable ASCII, whatever its client has put into it.
std::string in_one_line(const std::string& request, const json& body) {
    constexpr size_t enough = 400;
    std::string text = request + " " + body.dump(-1, ' ', true, json::error_handler_t::replace);
    if (text.size() > enough) text.replace(enough, text.npos, "...");
    return text;
}

tl::expected<AddressQuery, config::Errors> parse_addresses(const json& body) {
    const bool with_vrf = body.is_object() && body.contains("vrf") && body["vrf"].is_string();
    const bool shape = body.is_object() && body.size() == (with_vrf ? 2 : 1) && body.contains("addresses") &&
                       body["addresses"].is_array() && body["addresses"].size() <= max_addresses_in_body;
    if (!shape) {
        return tl::unexpected(
            config::Errors{{"", "not a list of addresses",
                            "{\"addresses\": [up to " + std::to_string(max_addresses_in_body) +
                                " strings]}, and perhaps \"vrf\": a name",
                            ""}});
    }
    AddressQuery query;
    if (with_vrf) {
        auto vrf = vrf_of(body["vrf"].get<std::string>(), "/vrf");
        if (!vrf) return tl::unexpected(config::Errors{vrf.error()});
        query.vrf = std::move(*vrf);
    }
    std::vector<IpAddress>& addresses = query.addresses;
    for (const json& item : body["addresses"]) {
        const auto address = item.is_string() ? IpAddress::parse(item.get_ref<const std::string&>())
                                              : Result<IpAddress>(fail("", "not a string"));
        if (!address) {
            return tl::unexpected(config::Errors{{"/addresses/" + std::to_string(addresses.size()),
                                                  address.error().message, "an IPv4 or IPv6 address", ""}});
        }
        addresses.push_back(*address);
    }
    return query;
}

}  // namespace

struct ApiServer::State : Answers {
    State(Control& daemon, Executor executor, const Limits& limits, Audit tell)
        : Answers(daemon, std::move(executor), limits.patience, limits_of(limits)),
          audit(tell ? std::move(tell) : [](const Peer&, const std::string&, int) {}) {
        add_reading();
        add_metrics();
        add_verdicts();
        add_changing();
        add_streams();
        http.set_payload_max_length(max_batch_body);
    }
    ~State() override {  // its threads use what is here
        loop.stop();
        http.close();
    }

    static HttpLimits limits_of(const Limits& limits) {
        HttpLimits http;
        http.connection = {.idle_time = limits.idle_time,
                           .request_time = limits.request_time,
                           .write_progress = limits.write_progress};
        http.connections_per_peer = limits.connections_per_user;
        return http;
    }

    [[nodiscard]] size_t largest_body(const std::string& path) const override {
        return path == "/v1/routes" ? max_batch_body : max_body;
    }

    /// Its pieces go out as they come, and the next is made when the client has taken the last one.
    void add_all_routes(const std::string& path) {
        methods[path] = "GET";
        struct Sending {
            std::unique_ptr<LongAnswer> answer;
            LongAnswer::Piece piece;
        };
        http.Get(path, [this](const Request& request, Response& response) {
            const auto query = parse_all_routes_query(request.params);
            if (!query) return write(response, refusal(400, query.error()));
            const auto sending = std::make_shared<Sending>();
            try {
                const Answer begun =
                    begin_long(sending->answer, sending->piece, [&] { return control.all_routes(*query); });
                if (begun.status != 200) return write(response, begun);
            } catch (const std::exception& error) {
                return write(response, bug(request, error));
            }
            HttpServer::let_client_pause();
            response.set_chunked_content_provider(
                "application/x-ndjson", [this, sending](size_t, httplib::DataSink& sink) {
                    // The client sees an answer that breaks off.
                    if (HttpServer::is_ended_by_client()) return false;
                    const std::string text = std::exchange(sending->piece.text, {});
                    if (!text.empty() && !sink.write(text.data(), text.size())) return false;
                    if (sending->piece.last) {
                        sink.done();
                        return true;
                    }
                    try {
                        return next_of(*sending->answer, sending->piece).status == 200;
                    } catch (const std::exception&) {  // the status has gone out already
                        return false;
                    }
                });
        });
    }

    void add_reading() {
        add_plain("/v1/version", &Control::version);
        add_plain("/v1/ports", &Control::ports);
        add_plain("/v1/neighbours", &Control::neighbours);
        add_plain("/v1/drift", &Control::drift);
        add_plain("/v1/memory", &Control::memory);
        add_plain("/v1/routes/ignored", &Control::ignored_routes);
        add_query("/v1/events", &parse_events_query, &Control::events);
        add_plain("/v1/fpm", &Control::fpm);
        add_plain("/v1/aggregation", &Control::aggregation);
        add_plain("/v1/counters", &Control::counters);
        add_plain("/v1/latency", &Control::latency);
        add_plain("/v1/workers", &Control::workers);
        add_plain("/v1/offload", &Control::offload);
        add_plain("/v1/offload/entries", &Control::offload_entries);
        add_plain("/v1/config", &Control::running_config);
        add_whole("/v1/routes", &parse_route_query, &Control::routes);
        add_whole("/v1/routes/summary", &parse_summary_query, &Control::routes_summary);
        add_plain("/v1/vrfs", &Control::vrfs);
        add_plain("/v1/filters", &Control::filters);
        add_whole("/v1/next-hop-groups", &Control::next_hop_groups);
        add_all_routes("/v1/routes/all");
        add_query("/v1/route", &parse_route_to_query, &Control::route_to);
        add_query("/v1/lookup", &parse_lookup_query, &Control::lookup);
    }

    /// Answers that go on until one side has enough.
    void add_streams() {
        add_stream("/v1/trace", true, "application/x-ndjson");
        add_stream("/v1/capture", false, "application/x-pcapng");
    }

    // What others' packets hold is worth a line in the audit log, too.
    void add_stream(const std::string& path, bool trace, const char* type) {
        methods[path] = "GET";
        http.Get(path, [this, path, trace, type](const Request& request, Response& response) {
            const auto wanted = parse_observation_request(trace, request.params);
            if (!wanted) return write(response, refusal(400, wanted.error()));
            std::shared_ptr<ObservationStream> stream;
            const Answer answer = ask([&] {
                auto begun = control.observe(*wanted);
                if (!begun) return refusal(409, begun.error());
                stream = std::move(*begun);
                return Answer{};
            });
            audit(HttpServer::peer(), "GET " + path, answer.status);
            if (!stream) return write(response, answer);
            HttpServer::let_client_pause();
            response.set_chunked_content_provider(
                type, [stream](size_t, httplib::DataSink& sink) { return pass_on(*stream, sink); },
                [stream](bool) { stream->end_by_client(); });
        });
    }

    void add_body(const std::string& method, const std::string& path,
                  std::function<Answer(const json&)> with_body) {
        add(method, path, [this, with_body = std::move(with_body)](const Request& request) {
            if (const auto query = parse_empty_query(request.params); !query)
                return refusal(400, query.error());
            // What parsing takes is some ten times the text: large ones are parsed one after the other.
            std::unique_lock<std::mutex> turn(large_bodies, std::defer_lock);
            if (request.body.size() > max_body) turn.lock();
            const auto body = parse_body(request);
            return body ? with_body(*body) : body.error();
        });
    }

    /// A change. Asked for is told, whatever becomes of it; what is no JSON asks for nothing.
    void add_audited(const std::string& method, const std::string& path,
                     std::function<Answer(const json&)> with_body) {
        add_body(method, path, [this, method, path, with_body = std::move(with_body)](const json& body) {
            const std::string what = in_one_line(method + " " + path, body);
            try {
                Answer answer = with_body(body);
                audit(HttpServer::peer(), what, answer.status);
                return answer;
            } catch (...) {
                audit(HttpServer::peer(), what, 500);
                throw;
            }
        });
    }

    void add_changing() {
        add_body("POST", "/v1/lookup", [this](const json& body) {
            const auto addresses = parse_addresses(body);
            if (!addresses) return refusal(400, addresses.error());
            return ask([&] { return found(control.lookup(*addresses)); });
        });
        add_change("POST", RouteEdit::add);
        add_change("PUT", RouteEdit::replace);
        add_change("DELETE", RouteEdit::remove);
        add_audited("POST", "/v1/reload", [this](const json& body) { return reload(body, false); });
        add_audited("POST", "/v1/rollback", [this](const json& body) { return reload(body, true); });
        add_audited("POST", "/v1/confirm", [this](const json& body) {
            if (!body.is_object() || !body.empty())
                return refusal(400, Error{"", "not an empty object", "{}", ""});
            auto done = control.confirm();
            return done ? Answer{200, std::move(*done)} : refusal(409, done.error());
        });
        for (const bool difference : {false, true})
            add("GET", difference ? "/v1/configs/diff" : "/v1/configs",
                [this, difference](const Request& request) {
                    const auto back = parse_back_query(request.params);
                    if (!back) return refusal(400, back.error());
                    if (difference && !*back)
                        return refusal(400, Error{"?back", "is missing", "how many configurations ago", ""});
                    return found(control.configs({*back, difference}));
                });
    }

    Answer reload(const json& body, bool rollback) {
        auto order = parse_reload(body, rollback);
        if (!order) return refusal(400, order.error());
        order->by = HttpServer::peer();
        auto done = control.reload(*order);
        if (done) return {200, std::move(*done)};
        const ReloadRefusal& refused = done.error();
        Answer answer = refusal(status_of(refused), refused.errors);
        for (size_t i = 0; i < refused.lines.size() && i < refused.errors.size(); i++)
            if (refused.lines[i] != 0) answer.body["errors"][i]["line"] = refused.lines[i];
        return answer;
    }

    void add_change(const std::string& method, RouteEdit change) {
        add_audited(method, "/v1/routes", [this, change](const json& body) {
            if (body.is_object() && body.contains("routes")) return change_batch(change, body);
            const auto route = parse_change(change, body);
            if (!route) return refusal(400, route.error());
            return ask([&] {
                auto done = control.change_route(change, *route);
                return done ? Answer{200, std::move(*done)} : refusal(409, done.error());
            });
        });
    }

    /// Only prefix and VRF count for a removal, so that a route as listed may be sent back to remove it.
    static tl::expected<config::StaticRoute, config::Errors> parse_change(RouteEdit change,
                                                                          const json& body) {
        if (change == RouteEdit::remove && body.is_object() && body.contains("prefix"))
            return parse_route({{"prefix", body["prefix"]},
                                {"type", "blackhole"},
                                {"vrf", body.contains("vrf") ? body["vrf"] : json("default")}});
        return parse_route(body);
    }

    Answer change_batch(RouteEdit change, const json& body) {
        const json& list = body["routes"];
        if (body.size() != 1 || !list.is_array() || list.empty() || list.size() > max_routes_in_body)
            return refusal(400, Error{"", "not a batch of routes",
                                      R"({"routes": [1 to )" + std::to_string(max_routes_in_body) +
                                          " routes]} and nothing else",
                                      ""});
        std::vector<config::StaticRoute> routes;
        routes.reserve(list.size());
        config::Errors errors;
        for (size_t i = 0; i < list.size() && errors.size() < most_errors; i++) {
            auto route = parse_change(change, list[i]);
            if (route) {
                routes.push_back(std::move(*route));
                continue;
            }
            for (auto& error : route.error()) {
                error.where = "/routes/" + std::to_string(i) + error.where;
                errors.push_back(std::move(error));
            }
        }
        if (!errors.empty()) return refusal(400, errors);
        return ask([&] {
            auto done = control.change_routes(change, routes);
            return done ? Answer{200, std::move(*done)} : refusal(409, done.error());
        });
    }

    std::mutex large_bodies;
    const Audit audit;
    std::optional<UnixListener> listener;
};

ApiServer::ApiServer(Control& control, Executor executor, const Limits& limits, Audit audit)
    : state_(std::make_unique<State>(control, std::move(executor), limits, std::move(audit))) {}

ApiServer::ApiServer(Control& control, Executor executor)
    : ApiServer(control, std::move(executor), Limits()) {}

ApiServer::~ApiServer() {
    stop();
}

Result<void> ApiServer::listen(const std::string& socket_path, std::optional<gid_t> group) {
    auto listener = UnixListener::open(socket_path, group);
    if (!listener) return tl::unexpected(listener.error());
    state_->listener.emplace(std::move(*listener));
    state_->http.start(state_->listener->descriptor());
    return {};
}

void ApiServer::stop() {
    state_->loop.stop();
    state_->http.close();
    state_->listener.reset();
}

}  // namespace pktpit::router
