// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <ostream>

#include "fib/reader.h"
#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/naive_table.h"
#include "router/cli/route_list.h"
#include "router/cli/summary_text.h"
#include "router/cli/table.h"
#include "router/cli/table_image.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Stats {
    fib::ReadSummary source;
    size_t duplicates = 0;
    size_t next_hops = 0;
    std::array<std::array<size_t, 129>, 2> lengths{};
    std::array<size_t, 2> routes{};
    double read_seconds = 0, build_seconds = 0;
    size_t image_bytes = 0;
    std::vector<ImagePart> parts;
    std::string digest;
    CheckResult lookups;
    fib::CpuVariant variant{};
    size_t batch_wrong = 0;
    double batch_seconds = 0;  ///< of as many batch lookups as there are routes
};

/// Each route's first address, as packets and as people see it: the quick test that nothing was lost.
CheckResult check_quickly(const TableImage& image, const std::vector<Route>& routes) {
    CheckResult result;
    for (const Route& route : routes) {
        result.prefixes++;
        result.addresses++;
        const auto match = image.fib().match(route.prefix.address);
        const bool found = image.fib().find(route.prefix) == image.group_of(route.next_hop) && match &&
                           match->first.length >= route.prefix.length &&
                           match->first.contains(route.prefix.address) &&
                           image.fib().lookup(route.prefix.address) == match->second;
        if (!found && result.wrong++ == 0)
            result.first =
                route.prefix.address.to_string() + " is not found as " + route.prefix.to_string() + " says";
    }
    return result;
}

/// All routes' first addresses in one batch, as a dataplane looks them up, against one by one.
void look_up_in_batches(const TableImage& image, const std::vector<Route>& routes, Stats& stats) {
    const fib::FibReader reader(image.fib().memory(), stats.variant);
    std::vector<uint32_t> addresses4;
    std::vector<fib::Ip6Bytes> addresses6;
    for (const Route& route : routes) {
        if (route.prefix.address.is_v4())
            addresses4.push_back(route.prefix.address.v4_host_order());
        else
            addresses6.push_back(route.prefix.address.bytes);
    }
    const auto run = [&](const auto& addresses) {
        std::vector<fib::GroupId> groups(addresses.size());
        const auto start = Clock::now();
        reader.lookup_batch(addresses, groups);
        stats.batch_seconds += seconds_since(start);
        for (size_t i = 0; i < addresses.size(); i++)
            stats.batch_wrong += reader.lookup(addresses[i]) != groups[i];
    };
    run(addresses4);
    run(addresses6);
}

Result<Stats> collect(const std::string& path, const fib::ReadOptions& options, bool check,
                      fib::CpuVariant variant) {
    Stats stats;
    NextHopIds ids;
    auto start = Clock::now();
    auto list = load_routes(path, options, ids);
    if (!list) return tl::unexpected(list.error());
    stats.read_seconds = seconds_since(start);
    stats.source = std::move(list->summary);

    // Built from the file's order, duplicates included: what a router does that loads it.
    const auto image = TableImage::fitting(ids.size(), [&](TableImage& empty) {
        start = Clock::now();
        return empty.add(list->routes);
    });
    if (!image) return tl::unexpected(image.error());
    stats.build_seconds = seconds_since(start);
    stats.image_bytes = image->fib().memory().size();
    stats.parts = parts_of(image->fib());

    auto& routes = list->routes;
    stats.duplicates = routes.size();
    sort_routes(routes);
    stats.duplicates -= routes.size();
    std::vector<bool> used(ids.size());
    for (const Route& route : routes) {
        const size_t family = route.prefix.address.is_v4() ? 0 : 1;
        stats.lengths[family][route.prefix.length]++;
        stats.routes[family]++;
        stats.next_hops += !used[route.next_hop];
        used[route.next_hop] = true;
    }
    stats.digest = digest_of(routes, ids);
    if (check) {
        NaiveTable naive;
        for (const Route& route : routes)
            naive.set(route.prefix, route.next_hop);
        stats.lookups = compare(*image, naive);
    } else {
        stats.lookups = check_quickly(*image, routes);
    }
    stats.variant = variant;
    look_up_in_batches(*image, routes, stats);
    return stats;
}

json as_json(const std::string& path, const Stats& stats) {
    json lengths = json::array();
    for (size_t length = 0; length <= 128; length++) {
        if (stats.lengths[0][length] + stats.lengths[1][length] == 0) continue;
        lengths.push_back(
            {{"length", length}, {"ipv4", stats.lengths[0][length]}, {"ipv6", stats.lengths[1][length]}});
    }
    json parts = json::array();
    for (const ImagePart& part : stats.parts)
        parts.push_back(
            {{"name", part.name}, {"used", part.used}, {"bytes", part.bytes ? json(*part.bytes) : json()}});
    json answer = source_json(path, stats.source);
    answer["routes"] = {{"ipv4", stats.routes[0]}, {"ipv6", stats.routes[1]}};
    answer["duplicates"] = stats.duplicates;
    answer["next_hops"] = stats.next_hops;
    answer["lengths"] = std::move(lengths);
    answer["seconds"] = {{"read", stats.read_seconds}, {"build", stats.build_seconds}};
    answer["image"] = {{"reserved_bytes", stats.image_bytes}, {"parts", std::move(parts)}};
    answer["lookups"] = {{"addresses", stats.lookups.addresses}, {"wrong", stats.lookups.wrong}};
    answer["batch_lookups"] = {{"cpu", fib::to_string(stats.variant)},
                               {"addresses", stats.routes[0] + stats.routes[1]},
                               {"wrong", stats.batch_wrong},
                               {"seconds", stats.batch_seconds}};
    answer["digest"] = stats.digest;
    return answer;
}

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.3f s", seconds);
    return text;
}

std::string batch_text(const Stats& stats) {
    const auto addresses = stats.routes[0] + stats.routes[1];
    char rate[48] = "";
    if (stats.batch_seconds > 0)
        std::snprintf(rate, sizeof(rate), ", %.0f million a second",
                      static_cast<double>(addresses) / stats.batch_seconds / 1e6);
    return std::to_string(addresses) + " addresses (" + std::string(fib::to_string(stats.variant)) + "), " +
           std::to_string(stats.batch_wrong) + " wrong" + rate;
}

void print(const Session& session, const std::string& path, const Stats& stats) {
    Facts facts = {{"file", path},
                   {"form", source_text(stats.source)},
                   {"IPv4 routes", std::to_string(stats.routes[0])},
                   {"IPv6 routes", std::to_string(stats.routes[1])},
                   {"duplicates", std::to_string(stats.duplicates)},
                   {"next hops", std::to_string(stats.next_hops)}};
    if (!stats.source.peers.empty()) facts.emplace_back("peers", std::to_string(stats.source.peers.size()));
    if (const auto skipped = skipped_text(stats.source); !skipped.empty())
        facts.emplace_back("passed over", skipped);
    facts.insert(facts.end(), {{"time to read", seconds_text(stats.read_seconds)},
                               {"time to build", seconds_text(stats.build_seconds)},
                               {"lookups", std::to_string(stats.lookups.addresses) + " addresses, " +
                                               std::to_string(stats.lookups.wrong) + " wrong"},
                               {"batch lookups", batch_text(stats)},
                               {"digest", stats.digest},
                               {"image", std::to_string(stats.image_bytes) + " bytes reserved"}});
    print_facts(session, facts);

    Table parts({{"PART"}, {"USED", Align::right}, {"BYTES", Align::right}});
    for (const ImagePart& part : stats.parts)
        parts.add_row({part.name, std::to_string(part.used), part.bytes ? std::to_string(*part.bytes) : "-"});
    Table lengths({{"LENGTH", Align::right}, {"IPV4", Align::right}, {"IPV6", Align::right}});
    for (size_t length = 0; length <= 128; length++) {
        if (stats.lengths[0][length] + stats.lengths[1][length] == 0) continue;
        lengths.add_row({"/" + std::to_string(length), std::to_string(stats.lengths[0][length]),
                         std::to_string(stats.lengths[1][length])});
    }
    session.terminal.out << '\n'
                         << parts.render(session.terminal) << '\n'
                         << lengths.render(session.terminal);
}

}  // namespace

int table_stats(const Session& session, const std::string& path, const StatsOptions& options) {
    const auto variant = fib::parse_cpu_variant(options.cpu);
    if (!variant) return print_failure(session, variant.error(), exit_wrong);
    const auto stats = collect(path, options.reading, options.check, *variant);
    if (!stats) return print_failure(session, stats.error(), exit_wrong);
    if (session.json)
        print_json(session, as_json(path, *stats));
    else
        print(session, path, *stats);
    if (!stats->lookups.good())
        session.terminal.print_error(
            {path, stats->lookups.first, "", "the FIB image is wrong: please report it"});
    if (stats->batch_wrong > 0)
        session.terminal.print_error({path, std::to_string(stats->batch_wrong) + " wrong batch lookups", "",
                                      "the batch lookup is wrong: please report it"});
    return stats->lookups.good() && stats->batch_wrong == 0 ? exit_ok : exit_wrong;
}

}  // namespace pktpit::router::cli
