// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/tcp_server.h"

#include <algorithm>
#include <utility>

#include "base/socket_address.h"
#include "router/api/answers.h"
#include "router/api/host_header.h"
#include "router/api/web_files.h"

namespace pktpit::router {
namespace {

constexpr int tcp_backlog = 32;
constexpr std::chrono::milliseconds tcp_patience{5'000};

/// Less than the API's: nobody has to be let in here for the router to be run.
HttpLimits tcp_limits_of(const config::TcpService& settings) {
    HttpLimits limits;
    limits.connection.request_bytes = size_t{16} << 10;
    limits.connection.idle_time = std::chrono::milliseconds(2'000);
    limits.connection.request_time = std::chrono::milliseconds(4'000);
    limits.connection.write_progress = std::chrono::milliseconds(4'000);
    limits.connections = 32;
    limits.kept_for_root = 0;
    limits.connections_per_peer = 16;
    limits.connections_a_second = 50;
    limits.may_connect = [from = settings.from](const Peer& peer) {
        if (!peer.address) return false;
        if (from.empty()) return peer.address->is_loopback();
        return std::ranges::any_of(from, [&](const Prefix& one) { return one.contains(*peer.address); });
    };
    return limits;
}

httplib::Headers with_policy(const char* content_security_policy) {
    return {{"Content-Security-Policy", content_security_policy},
            {"X-Content-Type-Options", "nosniff"},
            {"X-Frame-Options", "DENY"},
            {"Referrer-Policy", "no-referrer"},
            {"Cross-Origin-Resource-Policy", "same-origin"},
            {"Cross-Origin-Opener-Policy", "same-origin"},
            {"Cache-Control", "no-store"}};
}

}  // namespace

struct TcpServer::State : Answers {
    State(Kind kind, config::TcpService wanted, std::shared_ptr<Fd> socket, Control& daemon,
          Executor executor)
        : Answers(daemon, std::move(executor), tcp_patience, tcp_limits_of(wanted)),
          settings(std::move(wanted)),
          listener(std::move(socket)),
          where(kind == Kind::metrics ? "/metrics" : "/web") {
        http.set_payload_max_length(0);
        http.set_default_headers(with_policy("default-src 'none'; frame-ancestors 'none'"));
        http.set_pre_routing_handler(
            [this](const Request& request, Response& response) { return look(request, response); });
        if (kind == Kind::metrics)
            add_metrics();
        else
            add_page();
    }
    ~State() override {  // its threads use what is here
        loop.stop();
        http.close();
    }

    /// The page, and of the API what it asks: nothing that lasts, nothing large, nothing that changes.
    void add_page() {
        // Everything that the page has is its own: nothing inline, and nobody else's.
        http.set_default_headers(with_policy(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for "
            "'script'"));
        for (const WebFile& file : web_files())
            add("GET", file.path, [&file](const Request&) {
                return Answer{200, {}, std::string(file.text), file.type};
            });
        add_plain("/v1/version", &Control::version);
        add_plain("/v1/ports", &Control::ports);
        add_plain("/v1/counters", &Control::counters);
        add_plain("/v1/offload", &Control::offload);
        add_plain("/v1/memory", &Control::memory);
        add_plain("/v1/vrfs", &Control::vrfs);
        add_query("/v1/events", &parse_events_query, &Control::events);
        add_query("/v1/route", &parse_route_to_query, &Control::route_to);
        add_whole("/v1/routes", &parse_page_query, &Control::routes);
        add_verdicts();
    }

    /// What a browser asks of the routes is a page of them.
    static Result<RouteQuery> parse_page_query(const QueryParameters& parameters) {
        constexpr size_t most = 200;
        auto query = parse_route_query(parameters);
        if (query && query->limit > most)
            return fail("?limit", "too many", "at most " + std::to_string(most));
        return query;
    }

    httplib::Server::HandlerResponse look(const Request& request, Response& response) const {
        using Next = httplib::Server::HandlerResponse;
        if (request.method != "GET") {
            response.set_header("Allow", "GET");
            write(response, refusal(405, Error{"", "only GET is for this port", "GET",
                                               "changes are made by the API's socket"}));
            return Next::Handled;
        }
        if (is_for_us(request.get_header_value("Host"), settings.hosts)) return Next::Unhandled;
        write(response,
              refusal(421, Error{"Host", "this is not the machine that was asked for",
                                 "an address, localhost, or a name of " + where + "/hosts",
                                 "add the name by which you reach this machine to " + where + "/hosts"}));
        return Next::Handled;
    }

    const config::TcpService settings;
    const std::shared_ptr<Fd> listener;
    const std::string where;
};

Result<std::unique_ptr<TcpServer>> TcpServer::open(Kind kind, const config::TcpService& settings,
                                                   Control& control, Executor executor,
                                                   const TcpServer* before) {
    std::shared_ptr<Fd> listener;
    if (before && before->settings().listen() == settings.listen()) {
        listener = before->state_->listener;
    } else {
        auto opened = listen_tcp(settings.address, settings.port, tcp_backlog);
        if (!opened) {
            Error error = opened.error();
            error.message = error.where + ": " + error.message;
            error.where = kind == Kind::metrics ? "/metrics/listen" : "/web/listen";
            return tl::unexpected(std::move(error));
        }
        listener = std::make_shared<Fd>(std::move(*opened));
    }
    return std::unique_ptr<TcpServer>(new TcpServer(
        std::make_unique<State>(kind, settings, std::move(listener), control, std::move(executor))));
}

TcpServer::TcpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}

TcpServer::~TcpServer() {
    stop();
}

void TcpServer::start() {
    state_->http.start(state_->listener->get());
}

void TcpServer::stop() {
    state_->loop.stop();
    state_->http.close();
}

const config::TcpService& TcpServer::settings() const {
    return state_->settings;
}

}  // namespace pktpit::router
