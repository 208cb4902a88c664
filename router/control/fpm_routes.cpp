// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/fpm_routes.h"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace pktpit::router {
namespace {

constexpr std::chrono::milliseconds turn{5};

}  // namespace

FpmRoutes::FpmRoutes(Routing& routing, DescriptorWatcher& watcher, EventLog& events, ListenForZebra listen)
    : routing_(routing),
      watcher_(watcher),
      events_(events),
      listen_(std::move(listen)),
      updates_(*this),
      work_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!work_) throw std::system_error(errno, std::system_category(), "eventfd");
}

FpmRoutes::~FpmRoutes() {
    if (session_) watcher_.unwatch(session_->stream.descriptor());
    if (listener_) watcher_.unwatch(listener_.get());
    if (watching_work_) watcher_.unwatch(work_.get());
}

Result<void> FpmRoutes::configure(const config::Fpm& wanted, const config::Vrfs& vrfs,
                                  Transaction& transaction) {
    if (wanted == settings_ && vrfs == configured_vrfs_ && !vrfs_.empty()) return {};
    const auto listener = std::make_shared<Fd>();
    const bool moves = wanted.address != settings_.address || wanted.port != settings_.port;
    if (wanted.enabled && (!settings_.enabled || moves)) {
        auto listening = listen_(wanted.address, wanted.port);
        if (!listening) {
            Error error = listening.error();
            error.where = "/fpm/listen";
            error.message = wanted.listen() + ": " + error.message;
            return tl::unexpected(std::move(error));
        }
        *listener = std::move(*listening);
    }
    transaction.on_commit("FPM",
                          [this, wanted, vrfs, listener] { committed(wanted, vrfs, std::move(*listener)); });
    return {};
}

// Those of VRFs that go leave the RIB with them. True: zebra has to say again what it has said, since some of
// it was nobody's.
bool FpmRoutes::set_vrfs(const config::Vrfs& vrfs) {
    configured_vrfs_ = vrfs;
    std::erase_if(vrfs_, [&](const auto& vrf) { return !vrf.first.empty() && !vrfs.contains(vrf.first); });
    std::map<std::string, uint32_t> tables{{"", settings_.table}};
    for (const auto& [name, vrf] : vrfs)
        tables.emplace(name, vrf.table);
    bool others = false;
    by_table_.clear();
    for (const auto& [name, kernel_table] : tables) {
        auto& vrf = vrfs_[name];
        const bool moved = !vrf || vrf->table().kernel_table() != kernel_table;
        if (!vrf)
            vrf = std::make_unique<FpmVrfRoutes>(
                routing_, shortfalls_, routing_.vrf_by_name(name).value_or(default_vrf), kernel_table);
        vrf->table().set_table(kernel_table);
        vrf->set_preference(settings_.preference);
        by_table_.emplace(kernel_table, vrf.get());
        others = others || moved;
    }
    return others;
}

void FpmRoutes::committed(const config::Fpm& wanted, const config::Vrfs& vrfs, Fd listener) {
    const config::Fpm before = std::exchange(settings_, wanted);
    const bool other_tables = set_vrfs(vrfs);
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
    const bool moved = before.enabled && before.table != wanted.table;
    if (session_ && (!wanted.enabled || other_tables || !fpm_may_connect(session_->address, wanted.from)))
        disconnect("the configuration has changed", false);
    if (!wanted.enabled || moved) {
        begin_epoch();
        quiet_since_.reset();
        sweeping_ = true;
        wake();
    } else if (before.preference != wanted.preference && routes() != 0) {
        for (const auto& [name, vrf] : vrfs_)
            vrf->table().begin_repeat();
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
    begin_epoch();
    sweeping_ = false;
    repeated_ = repeated();
    quiet_since_.reset();
    if (stale() != 0) quiet_since_ = Clock::now();
    spdlog::info("FPM: {} has connected; {} routes of before are stale until it repeats them", name, stale());
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
                      routes());
    } else {
        spdlog::warn("FPM: {}; its {} routes stay until they are repeated", line, routes());
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
        repeating_ = !each([&](FpmTable& table) { return table.repeat(go_on); });
    } else if (sweeping_) {
        const size_t before = routes();
        sweeping_ = !each([&](FpmTable& table) { return table.sweep(go_on); });
        counters_.swept += before - routes();
        if (!sweeping_ && counters_.swept != 0)
            spdlog::info("FPM: stale routes are gone ({} so far), {} are left", counters_.swept, routes());
    }
}

void FpmRoutes::wake() {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(work_.get(), &one, sizeof one);
}

void FpmRoutes::tick(Clock::time_point now) {
    if (!quiet_since_) return;
    if (std::exchange(repeated_, repeated()) != repeated()) quiet_since_ = now;
    if (stale() != 0 && now - *quiet_since_ < std::chrono::seconds(settings_.stale_hold_s)) return;
    quiet_since_.reset();
    if (stale() == 0)
        spdlog::info("FPM: all routes of before have been repeated or withdrawn");
    else
        spdlog::info("FPM: {} routes of before were not repeated and go", stale());
    sweeping_ = true;
    wake();
}

void FpmRoutes::refresh() {
    for (const auto& [name, vrf] : vrfs_)
        vrf->refresh();
}

void FpmRoutes::route(const RouteEvent& event) {
    const auto vrf = by_table_.find(event.table);
    if (vrf == by_table_.end())
        ignored_++;
    else
        vrf->second->table().route(event);
}

// zebra's numbers of next hops are the same for all of its VRFs, and which of them will use one is not known.
void FpmRoutes::next_hop(const NextHopEvent& event) {
    for (const auto& [name, vrf] : vrfs_)
        vrf->table().next_hop(event);
}

size_t FpmRoutes::sum(size_t (FpmTable::*count)() const) const {
    size_t all = 0;
    for (const auto& [name, vrf] : vrfs_)
        all += (vrf->table().*count)();
    return all;
}

bool FpmRoutes::each(const std::function<bool(FpmTable& table)>& done) {
    return std::ranges::all_of(vrfs_, [&](const auto& vrf) { return done(vrf.second->table()); });
}

size_t FpmRoutes::routes(Family family) const {
    size_t all = 0;
    for (const auto& [name, vrf] : vrfs_)
        all += vrf->table().routes(family);
    return all;
}

size_t FpmRoutes::next_hop_sets() const {
    size_t all = 0;
    for (const auto& [name, vrf] : vrfs_)
        all += vrf->next_hop_sets();
    return all;
}

void FpmRoutes::begin_epoch() {
    for (const auto& [name, vrf] : vrfs_)
        vrf->table().begin_epoch();
}

uint64_t FpmRoutes::repeated() const {
    uint64_t all = 0;
    for (const auto& [name, vrf] : vrfs_)
        all += vrf->table().repeated();
    return all;
}

std::optional<uint8_t> FpmRoutes::protocol_of(const Prefix& prefix, const std::string& vrf) const {
    const auto found = vrfs_.find(vrf);
    return found == vrfs_.end() ? std::nullopt : found->second->table().protocol_of(prefix);
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
            {"routes4", routes(Family::ipv4)},
            {"routes6", routes(Family::ipv6)},
            {"stale", stale()},
            {"sweeping", sweeping_},
            {"next_hops", vrfs_.empty() ? 0 : vrfs_.begin()->second->table().next_hops()},
            {"next_hop_sets", next_hop_sets()},
            {"last_error", last_error_.empty() ? json() : json(last_error_)},
            {"counters",
             {{"connections", counters_.connections},
              {"refused_connections", counters_.refused},
              {"errors", counters_.errors},
              {"messages", counts.messages},
              {"route_messages", counts.routes},
              {"next_hop_messages", counts.next_hops},
              {"ignored", counts.ignored + ignored_ + sum(&FpmTable::ignored)},
              {"malformed", counts.malformed},
              {"unsupported", counts.unsupported + shortfalls_.left_to_kernel()},
              {"refused_routes", shortfalls_.refused()},
              {"swept", counters_.swept},
              {"turns", counters_.turns},
              {"longest_turn_ms", longest.count()}}}};
}

}  // namespace pktpit::router
