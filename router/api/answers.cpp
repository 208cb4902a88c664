// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/answers.h"

#include "bpf/verdict.h"

namespace pktpit::router {

using nlohmann::json;

Answer refusal(int status, const config::Errors& errors) {
    return {status, errors_to_json(errors)};
}

Answer refusal(int status, const Error& error) {
    return refusal(status, config::Errors{error});
}

void write(httplib::Response& response, const Answer& answer) {
    response.status = answer.status;
    if (!answer.text.empty()) return response.set_content(answer.text + "\n", answer.type);
    // Names from outside (interfaces, paths) need not be UTF-8; an answer with a replacement beats none.
    response.set_content(answer.body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n",
                         answer.type);
}

Answers::Answers(Control& daemon, LoopCall::Executor executor, std::chrono::milliseconds patience,
                 const HttpLimits& limits)
    : control(daemon), loop(std::move(executor), patience), http(limits) {
    http.set_error_handler(
        [this](const Request& request, Response& response) { explain(request, response); });
}

Answer Answers::bug(const Request& request, const std::exception& error) {
    return refusal(500, Error{request.path, error.what(), "", "this is a bug in the daemon"});
}

void Answers::add(const std::string& method, const std::string& path, Handler handler) {
    methods[path].append(methods[path].empty() ? "" : ", ").append(method);
    auto wrapped = [handler = std::move(handler)](const Request& request, Response& response) {
        try {
            write(response, handler(request));
        } catch (const std::exception& error) {
            write(response, bug(request, error));
        }
    };
    if (method == "GET") http.Get(path, wrapped);
    if (method == "POST") http.Post(path, wrapped);
    if (method == "PUT") http.Put(path, wrapped);
    if (method == "DELETE") http.Delete(path, wrapped);
}

Answer Answers::ask(const std::function<Answer()>& call) {
    Answer answer;
    switch (loop.run([&] { answer = call(); })) {
        case LoopCall::Outcome::done:
            return answer;
        case LoopCall::Outcome::busy:
            return refusal(503, Error{"", "the daemon was too busy to start on this request", "",
                                      "nothing was changed; try again"});
        case LoopCall::Outcome::stopping:
            break;
    }
    return refusal(503, Error{"", "the daemon is stopping", "", "nothing was changed"});
}

void Answers::add_plain(const std::string& path, json (Control::*get)()) {
    add("GET", path, [this, get](const Request& request) {
        if (const auto query = parse_empty_query(request.params); !query) return refusal(400, query.error());
        return ask([&] { return Answer{200, (control.*get)()}; });
    });
}

Answer Answers::next_of(LongAnswer& answer, LongAnswer::Piece& piece) {
    const std::lock_guard turn(long_answers);
    return ask([&] {
        piece = answer.next();
        return Answer{};
    });
}

Answer Answers::begin_long(std::unique_ptr<LongAnswer>& answer, LongAnswer::Piece& piece,
                           const std::function<Control::Begun()>& begin) {
    const std::lock_guard turn(long_answers);
    return ask([&] {
        auto begun = begin();
        if (!begun) return refusal(404, begun.error());
        answer = std::move(*begun);
        piece = answer->next();
        return Answer{};
    });
}

Answer Answers::whole_of(const std::function<Control::Begun()>& begin) {
    std::unique_ptr<LongAnswer> long_answer;
    LongAnswer::Piece piece;
    Answer answer = begin_long(long_answer, piece, begin);
    std::string text = std::move(piece.text);
    while (answer.status == 200 && !piece.last) {
        answer = next_of(*long_answer, piece);
        text += piece.text;
    }
    if (answer.status == 200) answer.text = std::move(text);
    return answer;
}

void Answers::add_whole(const std::string& path, BeginLongWhole begin) {
    add("GET", path, [this, begin](const Request& request) {
        if (const auto query = parse_empty_query(request.params); !query) return refusal(400, query.error());
        return whole_of([&]() -> Control::Begun { return (control.*begin)(); });
    });
}

void Answers::add_whole(const std::string& path, Result<RouteQuery> (*parse)(const QueryParameters&),
                        BeginLong begin) {
    add("GET", path, [this, parse, begin](const Request& request) {
        const auto query = parse(request.params);
        if (!query) return refusal(400, query.error());
        return whole_of([&] { return (control.*begin)(*query); });
    });
}

/// Gives cpp-httplib's own refusals a body like every other error's.
void Answers::explain(const Request& request, Response& response) const {
    if (!response.body.empty()) return;
    Error error{request.path.substr(0, 200), "HTTP " + std::to_string(response.status), "", ""};
    if (response.status == 404) {
        const auto known = methods.find(request.path);
        if (known != methods.end()) {
            response.status = 405;
            response.set_header("Allow", known->second);
            error.message = request.method + " is not for this path";
            error.expected = known->second;
        } else {
            error.message = "no such path";
            error.hint = "docs/api.md lists them";
        }
    } else if (response.status == 413) {
        error.message = "body too large";
        error.expected = "at most " + std::to_string(largest_body(request.path)) + " bytes";
    } else if (response.status == 400) {
        error.message = "not a well-formed HTTP request";
    }
    write(response, refusal(response.status, error));
}

void Answers::add_verdicts() {
    constexpr const char* actions[] = {"forward", "host", "punt", "drop", "taken"};
    static_assert(std::size(actions) == PP_ACTION_TAKEN + 1);
    json verdicts = json::array();
#define PP_VERDICT_JSON(name, action, text, meaning) \
    verdicts.push_back({{"name", text}, {"action", actions[PP_ACTION_##action]}, {"meaning", meaning}});
    PP_VERDICTS(PP_VERDICT_JSON)
#undef PP_VERDICT_JSON
    verdicts.erase(size_t{PP_NONE});  // it is never counted
    add("GET", "/v1/verdicts", [verdicts](const Request& request) {
        if (const auto query = parse_empty_query(request.params); !query) return refusal(400, query.error());
        return Answer{200, {{"verdicts", verdicts}}};
    });
}

void Answers::add_metrics() {
    add("GET", "/metrics", [this](const Request& request) {
        if (const auto query = parse_empty_query(request.params); !query) return refusal(400, query.error());
        return metrics();
    });
}

// However many ask, the loop reads its counters a few times a second, and one thread writes them down.
Answer Answers::metrics() {
    constexpr std::chrono::milliseconds fresh{250};
    const std::lock_guard turn(metrics_mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (metrics_text_.empty() || now - metrics_time_ > fresh) {
        std::unique_ptr<MetricsReading> reading;
        Answer answer = ask([&] {
            reading = control.metrics();
            return Answer{};
        });
        if (!reading) return answer;
        metrics_text_ = reading->text();
        metrics_time_ = now;
    }
    return {200, {}, metrics_text_, "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace pktpit::router
