// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <cmath>
#include <ostream>

#include "fib/tables/unix_time.h"
#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/replay.h"
#include "router/cli/summary_text.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

struct Answer {
    UpdateList updates;
    Replay replay;
    std::string digest;
    double per_second = 0;
    uint32_t p50 = 0, p99 = 0, p999 = 0, most = 0;  ///< nanoseconds
    std::optional<CheckResult> check;
    bool ends_alike = true;  ///< the digest is the naive table's
};

Result<Answer> run_replay(const ReplayOptions& options) {
    NextHopIds ids;
    std::vector<Route> table;
    fib::ReadOptions of_updates = options.reading;
    if (!options.table.empty()) {
        // A table in text says nothing about peers, and may still be that of the peer asked for.
        fib::ReadOptions reading = options.reading;
        reading.peer_where_known = true;
        auto list = load_routes(options.table, reading, ids);
        if (!list) return tl::unexpected(list.error());
        table = std::move(list->routes);
        // Updates do not number their peers, the table does: it has said whom the number means.
        const auto& peers = list->summary.peers;
        const auto index = reading.peer ? reading.peer->index() : std::nullopt;
        if (index && *index < peers.size()) of_updates.peer = fib::PeerSelector::of(peers[*index].address);
    }
    auto updates = load_updates(options.updates, of_updates, ids);
    if (!updates) return tl::unexpected(updates.error());
    auto replayed = replay(table, updates->updates, ids.size());
    if (!replayed) {
        if (replayed.error().where.empty()) replayed.error().where = options.updates;
        return tl::unexpected(replayed.error());
    }
    Answer answer{std::move(*updates), std::move(*replayed), {}, 0, 0, 0, 0, 0, {}, true};
    answer.digest = digest_of(answer.replay.routes, ids);
    if (answer.replay.change_seconds > 0)
        answer.per_second =
            static_cast<double>(answer.replay.counts.changes()) / answer.replay.change_seconds;
    Latencies& latencies = answer.replay.latencies;
    answer.p50 = latencies.per_mille(500);
    answer.p99 = latencies.per_mille(990);
    answer.p999 = latencies.per_mille(999);
    answer.most = latencies.max();
    if (options.check) {
        const NaiveTable naive = replay_naively(table, answer.updates.updates);
        answer.check = compare(answer.replay.image, naive);
        answer.ends_alike = digest_of(naive.sorted(), ids) == answer.digest;
    }
    return answer;
}

json as_json(const std::string& path, const Answer& answer) {
    const ReplayCounts& counts = answer.replay.counts;
    json result = source_json(path, answer.updates.summary);
    result["updates"] = answer.updates.updates.size();
    result["time"] = {{"first", static_cast<double>(answer.updates.first) / 1e6},
                      {"last", static_cast<double>(answer.updates.last) / 1e6}};
    result["announcements"] = {
        {"added", counts.added}, {"replaced", counts.replaced}, {"unchanged", counts.unchanged}};
    result["withdrawals"] = {{"removed", counts.withdrawn}, {"absent", counts.absent}};
    result["changes"] = {{"count", counts.changes()},
                         {"seconds", answer.replay.change_seconds},
                         {"per_second", std::llround(answer.per_second)}};
    result["latency_ns"] = {
        {"p50", answer.p50}, {"p99", answer.p99}, {"p99.9", answer.p999}, {"max", answer.most}};
    const auto& fib = answer.replay.image.fib();
    result["routes"] = {{"ipv4", fib.prefix_count(Family::ipv4)}, {"ipv6", fib.prefix_count(Family::ipv6)}};
    result["digest"] = answer.digest;
    if (answer.check)
        result["check"] = {{"prefixes", answer.check->prefixes},
                           {"addresses", answer.check->addresses},
                           {"wrong", answer.check->wrong + !answer.ends_alike}};
    return result;
}

std::string microseconds_text(uint32_t nanoseconds) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f µs", nanoseconds / 1000.0);
    return text;
}

void print(const Session& session, const std::string& path, const Answer& answer) {
    const ReplayCounts& counts = answer.replay.counts;
    const auto& fib = answer.replay.image.fib();
    Facts facts = {
        {"updates", path},
        {"form", source_text(answer.updates.summary)},
        {"time",
         fib::unix_time_text(answer.updates.first) + " to " + fib::unix_time_text(answer.updates.last)},
        {"announced", std::to_string(counts.added) + " new, " + std::to_string(counts.replaced) +
                          " with another next hop, " + std::to_string(counts.unchanged) + " unchanged"},
        {"withdrawn", std::to_string(counts.withdrawn) + ", and " + std::to_string(counts.absent) +
                          " that were not there"}};
    if (const auto skipped = skipped_text(answer.updates.summary); !skipped.empty())
        facts.emplace_back("passed over", skipped);
    facts.insert(facts.end(),
                 {{"changes", std::to_string(counts.changes()) + " of the image, " +
                                  format_count(static_cast<uint64_t>(answer.per_second)) + " a second"},
                  {"latency", "p50 " + microseconds_text(answer.p50) + ", p99 " +
                                  microseconds_text(answer.p99) + ", p99.9 " +
                                  microseconds_text(answer.p999) + ", max " + microseconds_text(answer.most)},
                  {"routes", std::to_string(fib.prefix_count(Family::ipv4)) + " IPv4, " +
                                 std::to_string(fib.prefix_count(Family::ipv6)) + " IPv6"},
                  {"digest", answer.digest}});
    if (answer.check)
        facts.emplace_back("check", std::to_string(answer.check->prefixes) + " prefixes and " +
                                        std::to_string(answer.check->addresses) + " addresses compared, " +
                                        std::to_string(answer.check->wrong) + " wrong");
    print_facts(session, facts);
}

}  // namespace

int replay_updates(const Session& session, const ReplayOptions& options) {
    const auto answer = run_replay(options);
    if (!answer) return print_failure(session, answer.error(), exit_wrong);
    if (session.json)
        print_json(session, as_json(options.updates, *answer));
    else
        print(session, options.updates, *answer);
    if (!answer->check || (answer->check->good() && answer->ends_alike)) return exit_ok;
    session.terminal.print_error(
        {options.updates,
         answer->check->good() ? "the image ends in another table than the updates" : answer->check->first,
         "", "the FIB image is wrong: please report it"});
    return exit_wrong;
}

}  // namespace pktpit::router::cli
