// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/fpm_routes.h"

#include <linux/rtnetlink.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace pktpit::router {
namespace {

constexpr auto fpm_source = fib::RouteSource::fpm;
constexpr std::chrono::milliseconds turn{5};

/// Below it ids of next-hop groups are the kernel's.
constexpr uint64_t set_ids_begin = uint64_t{1} << 32;

}  // namespace

FpmRoutes::FpmRoutes(Routing& routing, DescriptorWatcher& watcher, EventLog& events)
    : routing_(routing),
      watcher_(watcher),
      events_(events),
      table_(*this, config::Fpm{}.table),
      updates_(table_),
      work_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!work_) throw std::system_error(errno, std::system_category(), "eventfd");
}

FpmRoutes::~FpmRoutes() {
    if (session_) watcher_.unwatch(session_->stream.descriptor());
    if (listener_) watcher_.unwatch(listener_.get());
    if (watching_work_) watcher_.unwatch(work_.get());
}

Result<void> FpmRoutes::configure(const config::Fpm& wanted, Transaction& transaction) {
    if (wanted == settings_) return {};
    const auto listener = std::make_shared<Fd>();
    const bool moves = wanted.address != settings_.address || wanted.port != settings_.port;
    if (wanted.enabled && (!settings_.enabled || moves)) {
        auto listening = fpm_listen(wanted.address, wanted.port);
        if (!listening) {
            Error error = listening.error();
            error.where = "/fpm/listen";
            error.message = wanted.listen() + ": " + error.message;
            return tl::unexpected(std::move(error));
        }
        *listener = std::move(*listening);
    }
    transaction.on_commit("FPM", [this, wanted, listener] { committed(wanted, std::move(*listener)); });
    return {};
}

void FpmRoutes::committed(const config::Fpm& wanted, Fd listener) {
    const config::Fpm before = std::exchange(settings_, wanted);
    if (!std::exchange(watching_work_, true)) watcher_.watch(work_.get(), [this] { work(); });
    if (listener_ && (listener || !wanted.enabled)) {
        watcher_.unwatch(listener_.get());
        listener_.reset();
    }
    if (listener) {
        listener_ = std::move(listener);
        watcher_.watch(listener_.get(), [this] { accept(); });
        spdlog::info("FPM: listening at {}", wanted.listen());
    }
    // Another table's routes are others; those of a connection that is allowed no more, or of none, go.
    const bool other_table = before.enabled && before.table != wanted.table;
    if (session_ && (!wanted.enabled || other_table || !fpm_may_connect(session_->address, wanted.from)))
        disconnect("the configuration has changed", false);
    table_.set_table(wanted.table);
    if (!wanted.enabled || other_table) {
        table_.begin_epoch();
        quiet_since_.reset();
        sweeping_ = true;
        wake();
    } else if (before.preference != wanted.preference && table_.routes() != 0) {
        table_.begin_repeat();
        repeating_ = true;
        wake();
    }
}

void FpmRoutes::accept() {
    auto peer = fpm_accept(listener_);
    if (!peer) return;
    const std::string name = peer->to_string();
    if (!fpm_may_connect(peer->address, settings_.from))
        return refuse_connection(name + " may not connect (/fpm/from)");
    if (session_)
        return refuse_connection(name + " wants to connect beside " + session_->name + ": one at a time");
    session_ = std::make_unique<Session>(std::move(*peer));
    counters_.connections++;
    table_.begin_epoch();
    sweeping_ = false;
    repeated_ = table_.repeated();
    quiet_since_.reset();
    if (table_.stale() != 0) quiet_since_ = Clock::now();
    spdlog::info("FPM: {} has connected; {} routes of before are stale until it repeats them", name,
                 table_.stale());
    events_.add(EventKind::fpm, name + " has connected");
    watcher_.watch(session_->stream.descriptor(), [this] { read(); });
}

// Whoever may reach the port can do so as often as he likes: the log is told every 10 s at most.
void FpmRoutes::refuse_connection(const std::string& why) {
    counters_.refused++;
    const auto now = Clock::now();
    if (refusal_told_ && now - *refusal_told_ < std::chrono::seconds(10)) return;
    refusal_told_ = now;
    events_.add(EventKind::fpm, "refused: " + why);
    spdlog::warn("FPM: {}; {} refused so far", why, counters_.refused);
}

void FpmRoutes::disconnect(const std::string& why, bool is_error) {
    const std::string line = session_->name + ": " + why;
    if (is_error) {
        counters_.errors++;
        last_error_ = line;
        spdlog::error("FPM: {}; the connection is closed, its {} routes stay until they are repeated", line,
                      table_.routes());
    } else {
        spdlog::warn("FPM: {}; its {} routes stay until they are repeated", line, table_.routes());
    }
    events_.add(EventKind::fpm, line + (is_error ? "; the connection is closed" : ""));
    watcher_.unwatch(session_->stream.descriptor());
    session_.reset();
    quiet_since_.reset();
}

void FpmRoutes::read() {
    const auto begin = Clock::now();
    const auto state = session_->stream.read([this](auto frame) { return updates_.handle(frame); },
                                             [begin] { return Clock::now() - begin < turn; });
    counters_.turns++;
    counters_.longest_turn = std::max<std::chrono::nanoseconds>(counters_.longest_turn, Clock::now() - begin);
    if (!state) return disconnect(state.error().to_string(), true);
    if (*state == FpmStream::State::closed) return disconnect("has ended the connection", false);
    if (session_->stream.holds_frames()) wake();
}

// What is left of the stream though the socket is empty, and what is swept, one after the other.
void FpmRoutes::work() {
    uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(work_.get(), &count, sizeof count);
    const bool holds_frames = session_ && session_->stream.holds_frames();
    read_next_ = holds_frames && (!read_next_ || !(sweeping_ || repeating_));
    if (read_next_)
        read();
    else
        mend();
    if (sweeping_ || repeating_ || (session_ && session_->stream.holds_frames())) wake();
}

void FpmRoutes::mend() {
    const auto begin = Clock::now();
    const auto go_on = [begin] { return Clock::now() - begin < turn; };
    if (repeating_) {
        repeating_ = !table_.repeat(go_on);
    } else if (sweeping_) {
        const size_t before = table_.routes();
        sweeping_ = !table_.sweep(go_on);
        counters_.swept += before - table_.routes();
        if (!sweeping_ && counters_.swept != 0)
            spdlog::info("FPM: stale routes are gone ({} so far), {} are left", counters_.swept,
                         table_.routes());
    }
}

void FpmRoutes::wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(work_.get(), &one, sizeof one);
}

void FpmRoutes::tick(Clock::time_point now) {
    if (!quiet_since_) return;
    if (std::exchange(repeated_, table_.repeated()) != table_.repeated()) quiet_since_ = now;
    if (table_.stale() != 0 && now - *quiet_since_ < std::chrono::seconds(settings_.stale_hold_s)) return;
    quiet_since_.reset();
    if (table_.stale() == 0)
        spdlog::info("FPM: all routes of before have been repeated or withdrawn");
    else
        spdlog::info("FPM: {} routes of before were not repeated and go", table_.stale());
    sweeping_ = true;
    wake();
}

// Where a body's routes lead: to the kernel, if some of it encapsulates, or all of it leaves by devices that
// are none of the router's.
NextHopSetSpec FpmRoutes::spec_of(FpmBodyId body) const {
    const KernelRoute route = table_.resolve(body);
    NextHopSetSpec spec;
    spec.resilient = set_ids_begin + body;
    spec.mtu = route.mtu;  // whatever becomes of it: both say which set it is
    switch (route.type) {
        case RTN_BLACKHOLE:
            spec.kind = PP_ADJ_BLACKHOLE;
            return spec;
        case RTN_UNREACHABLE:
            spec.kind = PP_ADJ_UNREACHABLE;
            return spec;
        case RTN_PROHIBIT:
            spec.kind = PP_ADJ_PROHIBIT;
            return spec;
        default:
            break;
    }
    for (const auto& hop : route.next_hops) {
        if (hop.ifindex == 0 && hop.gateway)
            spec.next_hops.push_back({hop.gateway, 0, hop.weight});
        else if (const L3Interface* interface = routing_.interfaces().by_ifindex(hop.ifindex))
            spec.next_hops.push_back({hop.gateway, interface->id, hop.weight});
    }
    if (route.unsupported || (spec.next_hops.empty() && !route.next_hops.empty())) {
        spec.kind = PP_ADJ_KERNEL;
        spec.next_hops.clear();
    }
    return spec;
}

void FpmRoutes::body_made(FpmBodyId body) {
    const auto set = routing_.acquire_next_hops(spec_of(body));
    if (!set) return refuse("next hops", set.error());
    sets_.emplace(body, *set);
}

// The set changes in place, for all of its routes at once. One for which there was no room before is given
// its routes when they are repeated.
void FpmRoutes::body_changed(FpmBodyId body) {
    const auto known = sets_.find(body);
    if (known == sets_.end()) return;
    const auto set = routing_.acquire_next_hops(spec_of(body));
    if (!set) return refuse("next hops", set.error());
    routing_.release_next_hops(*set);
}

void FpmRoutes::body_gone(FpmBodyId body) {
    const auto known = sets_.find(body);
    if (known == sets_.end()) return;
    routing_.release_next_hops(known->second);
    sets_.erase(known);
}

void FpmRoutes::route_set(const Prefix& prefix, FpmBodyId body, uint32_t metric) {
    const auto set = sets_.find(body);
    if (set == sets_.end()) return (void)routing_.erase_route(prefix, fpm_source);
    if (auto done = routing_.set_route({prefix, fpm_source, settings_.preference, metric, set->second});
        !done)
        refuse("route " + prefix.to_string(), done.error());
}

void FpmRoutes::route_removed(const Prefix& prefix) {
    (void)routing_.erase_route(prefix, fpm_source);
}

// Once of each reason.
void FpmRoutes::route_is_kernels(const Prefix& prefix, const char* why) {
    not_followed_++;
    if (!told_.insert(why).second) return;
    spdlog::warn(
        "FPM: route {} {}. Packets of such routes are handed to Linux, which needs the route and its "
        "forwarding switched on",
        prefix.to_string(), why);
}

// A full FIB refuses a whole table: one line in a thousand tells enough.
void FpmRoutes::refuse(const std::string& what, const Error& error) {
    if (refused_routes_++ % 1000 == 0)
        spdlog::error("FPM: {}: not taken over ({} so far): {}", what, refused_routes_, error.to_string());
}

void FpmRoutes::refresh() {
    for (const FpmBodyId body : table_.bodies())
        body_changed(body);
}

nlohmann::json FpmRoutes::show() const {
    using nlohmann::json;
    const auto& counts = updates_.counters();
    const std::chrono::duration<double> connected =
        session_ ? Clock::now() - session_->since : Clock::duration{};
    const std::chrono::duration<double, std::milli> longest = counters_.longest_turn;
    return {{"listen", settings_.enabled ? json(settings_.listen()) : json()},
            {"peer", session_ ? json(session_->name) : json()},
            {"connected_s", session_ ? json(connected.count()) : json()},
            {"routes4", table_.routes(Family::ipv4)},
            {"routes6", table_.routes(Family::ipv6)},
            {"stale", table_.stale()},
            {"sweeping", sweeping_},
            {"next_hops", table_.next_hops()},
            {"next_hop_sets", sets_.size()},
            {"last_error", last_error_.empty() ? json() : json(last_error_)},
            {"counters",
             {{"connections", counters_.connections},
              {"refused_connections", counters_.refused},
              {"errors", counters_.errors},
              {"messages", counts.messages},
              {"route_messages", counts.routes},
              {"next_hop_messages", counts.next_hops},
              {"ignored", counts.ignored + table_.ignored()},
              {"malformed", counts.malformed},
              {"unsupported", counts.unsupported + not_followed_},
              {"refused_routes", refused_routes_},
              {"swept", counters_.swept},
              {"turns", counters_.turns},
              {"longest_turn_ms", longest.count()}}}};
}

}  // namespace pktpit::router
