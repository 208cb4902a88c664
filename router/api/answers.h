// SPDX-License-Identifier: BSD-3-Clause
/// What the daemon's HTTP servers have in common, each of which registers the paths that it has: a question
/// is checked, asked of the daemon on its loop thread, and answered as JSON, errors too. Internal to
/// router/api.
///
/// Handlers run on the connections' threads; whoever derives from it closes `http` before its own members go.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "router/api/control.h"
#include "router/api/http_server.h"
#include "router/api/loop_call.h"
#include "router/api/query.h"
#include "router/api/route_json.h"

namespace pktpit::router {

struct Answer {
    int status = 200;
    nlohmann::json body;
    std::string text{};  ///< what is text already, instead of `body`
    const char* type = "application/json";
};

Answer refusal(int status, const config::Errors& errors);
Answer refusal(int status, const Error& error);
void write(httplib::Response& response, const Answer& answer);

class Answers {
  public:
    using Request = httplib::Request;
    using Response = httplib::Response;
    using json = nlohmann::json;
    using Handler = std::function<Answer(const Request&)>;

    /// `control` must live until `http` is closed.
    Answers(Control& daemon, LoopCall::Executor executor, std::chrono::milliseconds patience,
            const HttpLimits& limits);
    virtual ~Answers() = default;
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;

    /// Of a request for the path, in bytes.
    [[nodiscard]] virtual size_t largest_body(const std::string& /*path*/) const { return 0; }

    static Answer bug(const Request& request, const std::exception& error);
    /// Registers a handler whose every way out is JSON.
    void add(const std::string& method, const std::string& path, Handler handler);
    /// Runs `call` on the loop thread and answers with what it returns.
    Answer ask(const std::function<Answer()>& call);
    /// GET of something that takes no parameters.
    void add_plain(const std::string& path, json (Control::*get)());

    /// GET of something with a checked query.
    template <class Value>
    void add_query(const std::string& path, Result<Value> (*parse)(const QueryParameters&),
                   json (Control::*get)(const Value&)) {
        add("GET", path, [this, parse, get](const Request& request) {
            const auto query = parse(request.params);
            if (!query) return refusal(400, query.error());
            return ask([&] { return Answer{200, (control.*get)(*query)}; });
        });
    }
    /// The same of something that may not be there.
    template <class Value>
    void add_query(const std::string& path, Result<Value> (*parse)(const QueryParameters&),
                   Result<json> (Control::*get)(const Value&)) {
        add("GET", path, [this, parse, get](const Request& request) {
            const auto query = parse(request.params);
            if (!query) return refusal(400, query.error());
            return ask([&] { return found((control.*get)(*query)); });
        });
    }
    static Answer found(Result<json> answer) {
        return answer ? Answer{200, std::move(*answer)} : refusal(404, answer.error());
    }

    using BeginLong = Control::Begun (Control::*)(const RouteQuery&);
    using BeginLongWhole = std::unique_ptr<LongAnswer> (Control::*)();
    /// The first piece; and each that follows. One client's at a time, since the loop makes all that wait for
    /// it in one go.
    Answer begin_long(std::unique_ptr<LongAnswer>& answer, LongAnswer::Piece& piece,
                      const std::function<Control::Begun()>& begin);
    Answer next_of(LongAnswer& answer, LongAnswer::Piece& piece);
    /// All of it at once.
    Answer whole_of(const std::function<Control::Begun()>& begin);
    void add_whole(const std::string& path, BeginLongWhole begin);
    void add_whole(const std::string& path, Result<RouteQuery> (*parse)(const QueryParameters&),
                   BeginLong begin);

    /// `/metrics`, in Prometheus' text format. Whoever asks often gets what was read a moment ago.
    void add_metrics();

    /// `/v1/verdicts`: each with what it means.
    void add_verdicts();

    std::mutex long_answers;
    Control& control;
    LoopCall loop;
    std::map<std::string, std::string> methods;  // by path, for Allow

  private:
    void explain(const Request& request, Response& response) const;
    Answer metrics();

    std::mutex metrics_mutex_;
    std::string metrics_text_;
    std::chrono::steady_clock::time_point metrics_time_{};

  public:
    HttpServer http;  // last: its threads use everything above
};

}  // namespace pktpit::router
