// SPDX-License-Identifier: BSD-3-Clause
// bench_routing: how many routes a second go through RIB and FIB image on one core, and how long after a link
// has failed the last packet finds its new way: with a backup, with a second best route, with a covering one.
// Processor time of this thread; each figure is the worst and the best of several rounds, each on a table and
// an image of its own.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "fib/tables/table_generator.h"
#include "router/routing/routing.h"

namespace pktpit::bench::routing {
namespace {

using pktpit::fib::RouteSource;
using router::NextHopSpec;

constexpr router::InterfaceId lan = 1, wan = 2;

double now() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

IpAddress ip(const char* text) {
    return IpAddress::parse(text).value();
}

/// A router of two links, with an image that holds the Internet's table twice over.
class Router {
  public:
    Router() {
        for (const router::InterfaceId id : {lan, wan}) {
            (void)routing.add_interface(id == lan ? "lan" : "wan", id, {}, 0x8100).value();
            set_link(id, true);
        }
        routing.add_address(lan, InterfaceAddress::parse("192.0.2.1/24").value(), {});
        routing.add_address(wan, InterfaceAddress::parse("198.51.100.1/24").value(), {});
        for (const auto& [on, address] :
             {std::pair{lan, "192.0.2.7"}, {lan, "192.0.2.8"}, {wan, "198.51.100.9"}})
            routing.set_neighbour(on, ip(address),
                                  {MacAddress{{2, 1, 0, 0, 0, 7}}, router::NeighbourState::reachable, false});
    }
    void set_link(router::InterfaceId id, bool up) {
        routing.set_link(id, {id + 10U, up, MacAddress{{2, 0, 0, 0, 0, static_cast<uint8_t>(id)}}, 1500});
    }
    pktpit::fib::NextHopSetId set_of(const std::vector<NextHopSpec>& hops) {
        return routing.acquire_next_hops({PP_ADJ_FORWARD, hops}).value();
    }
    void add_all(const std::vector<pktpit::fib::TableEntry>& table, pktpit::fib::NextHopSetId set,
                 RouteSource source = RouteSource::kernel) {
        for (const auto& entry : table)
            must(routing.set_route({entry.prefix, source, 20, 0, set}).has_value());
    }
    static void must(bool good) {
        if (good) return;
        fmt::print(stderr, "bench_routing: a route was refused: the image is too small\n");
        std::exit(1);
    }

  private:
    struct Free {
        void operator()(std::byte* block) const { ::operator delete[](block, std::align_val_t{4096}); }
    };
    static pktpit::fib::Capacity capacity() {
        pktpit::fib::Capacity wanted;
        pktpit::fib::set_table_memory(wanted, 128);
        return wanted;
    }
    pp_fib_geometry geometry_ = pktpit::fib::plan_geometry(capacity());
    std::unique_ptr<std::byte[], Free> memory_{
        static_cast<std::byte*>(::operator new[](geometry_.image_bytes, std::align_val_t{4096}))};
    pktpit::fib::FibImage image_{{memory_.get(), geometry_.image_bytes}, geometry_, [] {}};

  public:
    router::Routing routing{image_, [](router::InterfaceId, const IpAddress&) {},
                            [](const Error& error) { fmt::print(stderr, "{}\n", error.to_string()); }};
};

/// Figures of one kind, over the rounds.
class Figures {
  public:
    void add(const std::string& what, double value) {
        if (!values_.contains(what)) order_.push_back(what);
        values_[what].push_back(value);
    }
    void print(const char* unit, double scale) const {
        for (const auto& what : order_) {
            const auto [least, most] = std::ranges::minmax(values_.at(what));
            fmt::print("{:<58} {:>10.3f} to {:>10.3f} {}\n", what, least * scale, most * scale, unit);
        }
    }

  private:
    std::map<std::string, std::vector<double>> values_;
    std::vector<std::string> order_;
};

double seconds_of(const std::function<void()>& work) {
    const double begin = now();
    work();
    return now() - begin;
}

void measure_rates(const std::vector<pktpit::fib::TableEntry>& table, Figures& rates) {
    Router router;
    router.routing.leave_work([] {});  // as in the daemon
    const auto first = router.set_of({{ip("192.0.2.7"), lan, 1}});
    const auto second = router.set_of({{ip("192.0.2.8"), lan, 1}});
    const auto count = static_cast<double>(table.size());
    rates.add("routes added", count / seconds_of([&] { router.add_all(table, first); }));
    rates.add("routes replaced by others with another next hop",
              count / seconds_of([&] { router.add_all(table, second); }));
    rates.add("of prefixes inside others, what stands in for them, afterwards",
              count / seconds_of([&] {
                  router.routing.tick({});
                  router.routing.tick({});
                  while (!router.routing.settle(1000)) {
                  }
              }));
    rates.add(
        "routes withdrawn",
        count / seconds_of([&] {
            for (const auto& entry : table)
                Router::must(router.routing.erase_route(entry.prefix, RouteSource::kernel).value_or(false));
        }));
}

/// Until groups are right, and until all prefixes are, in pieces of 1,000: the longest of these.
void measure_failure(const std::vector<pktpit::fib::TableEntry>& table, const std::string& with,
                     Router& router, Figures& times) {
    router.routing.leave_work([] {});
    const std::string kind = fmt::format("{} prefixes, {}: ", table.size(), with);
    for (int i = 0; i < 2; i++)  // routes have come to rest
        router.routing.tick({});
    while (!router.routing.settle(1000)) {
    }
    times.add(kind + "groups", seconds_of([&] { router.set_link(lan, false); }));
    double all = 0, longest = 0;
    for (bool done = false; !done;) {
        const double took = seconds_of([&] { done = router.routing.settle(1000); });
        all += took;
        longest = std::max(longest, took);
    }
    times.add(kind + "prefixes", all);
    times.add(kind + "longest piece", longest);
}

void measure_failures(const std::vector<pktpit::fib::TableEntry>& table, Figures& times) {
    {
        Router router;
        router.add_all(table, router.set_of({{ip("192.0.2.7"), lan, 1}, {ip("198.51.100.9"), wan, 1}}));
        measure_failure(table, "ECMP", router, times);
    }
    {
        Router router;
        router.add_all(table, router.set_of({{ip("192.0.2.7"), lan, 1}, {ip("198.51.100.9"), wan, 1, true}}));
        measure_failure(table, "backup", router, times);
    }
    {
        Router router;
        router.add_all(table, router.set_of({{ip("192.0.2.7"), lan, 1}}), RouteSource::config);
        router.add_all(table, router.set_of({{ip("198.51.100.9"), wan, 1}}), RouteSource::kernel);
        measure_failure(table, "second best", router, times);
    }
    {
        Router router;
        const auto covering = router.set_of({{ip("198.51.100.9"), wan, 1}});
        Router::must(
            router.routing
                .set_route({Prefix::parse("0.0.0.0/0").value(), RouteSource::kernel, 20, 0, covering})
                .has_value());
        router.add_all(table, router.set_of({{ip("192.0.2.7"), lan, 1}}));
        measure_failure(table, "covering route", router, times);
    }
}

}  // namespace
}  // namespace pktpit::bench::routing

int main(int count, char** arguments) {
    using namespace pktpit::bench::routing;
    CLI::App app("Routes through RIB and FIB image on one core.", "bench_routing");
    size_t prefixes = pktpit::fib::internet_table_size(pktpit::Family::ipv4);
    int rounds = 5;
    app.add_option("--prefixes", prefixes, "IPv4 prefixes of a generated table")->capture_default_str();
    app.add_option("--rounds", rounds, "rounds, of which the worst and the best are shown")
        ->capture_default_str();
    CLI11_PARSE(app, count, arguments);
    const auto table = pktpit::fib::generate_table(pktpit::Family::ipv4, prefixes, 2544);
    const std::vector<pktpit::fib::TableEntry> one(table.begin(), table.begin() + 1);
    Figures rates, times;
    for (int round = 0; round < rounds; round++) {
        measure_rates(table, rates);
        measure_failures(one, times);
        measure_failures(table, times);
    }
    rates.print("million/s", 1e-6);
    times.print("ms", 1e3);
    return 0;
}
