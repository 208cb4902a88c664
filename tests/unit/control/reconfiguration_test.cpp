// SPDX-License-Identifier: BSD-3-Clause
// Random reloads with failures: at the n-th call to the kernel, the dataplane, a switch, or for zebra's
// socket, for every n, as a refusal and as an exception; and with a second one on the way back. What was
// refused has left nothing behind, or says what.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/sanitized.h"
#include "tests/unit/control/fake_loop.h"
#include "tests/unit/control/fake_slow_path.h"
#include "tests/unit/control/fake_zebra.h"
#include "tests/unit/control/random_configuration.h"
#include "tests/unit/control/snapshot.h"

namespace pktpit::router {
namespace {

using fake::difference;
using fake::Faults;
using fake::Snapshot;

class SlowPathLimits : public fake::SlowPathNothing {
  public:
    void set_limits(const config::Icmp& icmp, uint32_t queue, uint32_t) override {
        limits = std::to_string(icmp.rate) + " a second, queue " + std::to_string(queue);
    }
    std::string limits;
};

/// A host with a daemon's control plane: the same for the same seed, until something fails.
class World {
  public:
    /// `refused`: so many configurations of the seed are passed over.
    explicit World(uint32_t seed, unsigned refused = 0)
        : random_(seed, seed % 3 == 0), host(faults), dataplane(host, faults, seed % 3 == 0) {
        if (seed % 3 != 0)
            for (const char* name : {"eth0", "eth1", "eth2", "eth3"})
                host.add_device(name);
        dataplane.generic_devices = {"eth3"};
        const uint32_t management = host.add_device("mgmt");
        host.set_address(management, InterfaceAddress::parse("192.0.2.1/24").value(), false);
        for (first = random_.next(); refused > 0; refused--)
            first = random_.next();
        second = random_.next();
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    ~World() {
        control.reset();
        std::filesystem::remove(path_);
    }

    tl::expected<config::Errors, Refusal> start() {
        control = ControlPlane::make({kernel,
                                      dataplane,
                                      host,
                                      slow_path,
                                      watcher,
                                      [this](const RouteFilter& filter) -> Result<std::unique_ptr<Kernel>> {
                                          if (auto allowed = faults.call("open kernel"); !allowed)
                                              return tl::unexpected(allowed.error());
                                          return std::make_unique<fake::HostKernel>(host, filter);
                                      },
                                      path_,
                                      {},
                                      {},
                                      0,
                                      &routes,
                                      [this](const IpAddress&, uint16_t port) { return zebra.listen(port); }})
                      .value();
        if (auto read = control->read_kernel(); !read) return tl::unexpected(Refusal{{read.error()}, {}});
        return control->apply(first, true);
    }
    /// What has happened before the reload: routes by hand, neighbours learned, packets counted.
    void live() {
        settle();
        std::vector<ZebraRoute> told;
        for (uint32_t i = random_.below(4); i > 0; i--)
            (void)control->change_cli_routes(CliRoutes::Edit::replace, std::vector{random_.route(first)});
        for (auto& [ifindex, device] : host.devices) {
            // What goes with a device that is made anew is nobody's to put back.
            if (device.link.kind == "vlan" || (dataplane.own_devices() && device.link.name != "mgmt"))
                continue;
            for (const auto& [address, event] : std::map(device.addresses)) {
                if (!address.address.is_v4() || random_.one_in(3)) continue;
                IpAddress learned = address.address;
                learned.bytes[3] = static_cast<uint8_t>(10 + random_.below(3));
                if (const auto known = device.neighbours.find(learned);
                    known == device.neighbours.end() || known->second.state != NeighbourState::permanent)
                    host.put_neighbour(ifindex, learned, {{2, 0, 0, 8, 0, 1}}, NeighbourState::reachable);
            }
            // One whose device loses its last IPv4 address goes with it, and nobody can put it back.
            const auto own = std::ranges::find_if(
                device.addresses, [](const auto& entry) { return entry.first.address.is_v4(); });
            if (own == device.addresses.end()) continue;
            RouteEvent route;
            route.prefix = fake::RandomConfiguration::prefix("30." + std::to_string(ifindex % 8) + ".0.0/16");
            route.table = random_.one_in(3) ? 100 : 254;
            route.protocol = RTPROT_STATIC;
            route.type = RTN_UNICAST;
            route.next_hops = {{ifindex, own->first.address, 1, false}};
            route.next_hops[0].gateway->bytes[3] = 10;
            host.routes.push_back(route);
            host.tell(route);
            // Of tables that VRFs may have.
            route.prefix = fake::RandomConfiguration::prefix("31." + std::to_string(ifindex % 8) + ".0.0/16");
            route.table = 200 + ifindex % 2 * 10 + ifindex / 2 % 2;
            host.routes.push_back(route);
            host.tell(route);
            told.push_back(
                {fake::RandomConfiguration::prefix("40." + std::to_string(ifindex % 8) + ".0.0/16"),
                 first.fpm.table, ifindex, *route.next_hops[0].gateway});
            told.push_back(told.back());
            told.back().table = route.table;
        }
        settle();
        if (first.fpm.enabled) connect_zebra(told);
        for (const auto& [name, port] : control->ports().names())
            dataplane.packets[port] = 1000 + port;
        auto& store = static_cast<fake::FaultyCounters&>(dataplane.route_counters());
        for (const auto& [route, counter] : control->route_counters().all())
            store.counts[counter] = {counter, 0};
    }
    /// The kernel's events, to their end.
    void settle() {
        faults.disarm();
        for (int turn = 0; turn < 3; turn++) {
            ASSERT_TRUE(control->follow_kernel());
            watcher.settle();
        }
    }
    /// When the first five seconds have passed, in which installed routes are mended.
    Snapshot snapshot() {
        for (int ticks = 0; ticks < 50; ticks++)
            control->tick();
        watcher.settle();
        Snapshot lines = snapshot_of(host);
        lines.merge(snapshot_of(*control, dataplane));
        lines.insert("slow path " + slow_path.limits);
        lines.insert("watched " + std::to_string(watcher.size()));
        std::ostringstream kept;
        kept << std::ifstream(path_).rdbuf();
        lines.insert("routes by hand " + kept.str());
        return lines;
    }

  private:
    struct ZebraRoute {
        Prefix prefix;
        uint32_t table = 0;
        uint32_t ifindex = 0;
        IpAddress gateway;
    };
    void connect_zebra(const std::vector<ZebraRoute>& told) {
        ASSERT_TRUE(zebra.connect());
        settle();
        const auto fpm = [this] { return control->fpm_routes().show(); };
        if (fpm()["peer"].is_null()) return;  // it may not connect
        for (const auto& route : told)
            ASSERT_TRUE(zebra.send_route(route.prefix, route.table, route.ifindex, route.gateway));
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (fpm()["counters"]["route_messages"] != told.size()) {
            ASSERT_LT(std::chrono::steady_clock::now(), end);
            watcher.settle();
        }
    }

    fake::RandomConfiguration random_;
    static inline unsigned worlds = 0;
    std::string path_ = testing::TempDir() + "reconfiguration_" + std::to_string(getpid()) + "_" +
                        std::to_string(worlds++) + ".json";

  public:
    Faults faults;
    fake::Host host;
    fake::HostKernel kernel{host, RouteFilter{.of_devices = true}};
    fake::HostRoutes routes{host};
    fake::Zebra zebra{faults};
    fake::MemoryDataplane dataplane;
    SlowPathLimits slow_path;
    fake::Loop watcher;
    std::unique_ptr<ControlPlane> control;
    config::Config first, second;
};

/// Addresses that the configuration asks for and the host does not have.
std::string lost_addresses(World& world) {
    std::string lost;
    for (const auto& [name, port] : world.control->ports().all()) {
        const auto* device = world.host.device(name);
        for (const auto& address : port.config.addresses)
            if (device && !device->addresses.contains(address))
                lost += name + " " + address.to_string() + "\n";
    }
    return lost;
}

std::string words_of(const config::Errors& errors) {
    std::string words;
    for (const auto& error : errors)
        words += "  " + error.to_string() + "\n";
    return words;
}

class Reconfiguration : public testing::TestWithParam<uint32_t> {
  protected:
    static void SetUpTestSuite() { spdlog::set_level(spdlog::level::off); }
    static void TearDownTestSuite() { spdlog::set_level(spdlog::level::info); }

    /// Running, and about to be reloaded, from the seed's first configuration that is not refused by itself.
    std::unique_ptr<World> running(uint32_t seed) {
        auto world = std::make_unique<World>(seed, refused_);
        for (; !world->start(); world = std::make_unique<World>(seed, refused_))
            if (++refused_ == 100) throw std::logic_error("all configurations are refused");
        world->live();
        return world;
    }
    static std::string title(uint32_t seed, const std::vector<std::string>& hits, Faults::Kind kind) {
        std::string text =
            "seed " + std::to_string(seed) + ", " + (kind == Faults::Kind::error ? "refused:" : "exception:");
        for (const auto& hit : hits)
            text += " [" + hit + "]";
        return text;
    }

  private:
    unsigned refused_ = 0;
};

TEST_P(Reconfiguration, a_reload_that_fails_anywhere_leaves_everything_as_it_was) {
    const uint32_t seed = GetParam();
    auto world = running(seed);
    const Snapshot before = world->snapshot();
    const bool works = world->control->apply(world->second, false).has_value();
    world->settle();
    const Snapshot after = world->snapshot();
    EXPECT_EQ(lost_addresses(*world), "") << "seed " << seed;
    if (!works) {
        EXPECT_EQ(difference(before, after), "") << "seed " << seed << ", refused by itself";
    }

    for (const auto kind : {Faults::Kind::error, Faults::Kind::exception}) {
        world = running(seed);
        for (size_t n = 1;; n++) {
            world->faults.arm({n}, kind);
            const auto done = world->control->apply(world->second, false);
            const auto hits = world->faults.hits();
            world->settle();
            const std::string what = title(seed, hits, kind);
            if (!done) {
                const bool on_the_way_back = !works || hits == std::vector<std::string>{"forget counter"};
                if (on_the_way_back && !done.error().left.empty()) {
                    world = running(seed);
                    continue;
                }
                ASSERT_EQ(words_of(done.error().left), "") << what << ": the way back was free";
                ASSERT_EQ(difference(before, world->snapshot()), "") << what << "\n"
                                                                     << words_of(done.error().errors);
            } else {
                // What stands in the kernel's tables is mended, whatever has been said of it.
                if (done->empty() || hits.empty() || hits.front().starts_with("install ") ||
                    hits.front().starts_with("what goes before ")) {
                    ASSERT_EQ(difference(after, world->snapshot()), "") << what << "\n" << words_of(*done);
                }
                world = running(seed);
            }
            if (hits.empty()) {
                ASSERT_GT(n, 10U) << "seed " << seed << " has called hardly anything";
                break;
            }
        }
    }
}

TEST_P(Reconfiguration, what_a_failure_on_the_way_back_has_left_is_said) {
    const uint32_t seed = GetParam();
    auto world = running(seed);
    const Snapshot before = world->snapshot();
    std::mt19937 random(seed);
    for (size_t n = 1;; n++) {
        const auto kind = random() % 2 == 0 ? Faults::Kind::error : Faults::Kind::exception;
        world->faults.arm({n, n + 1 + random() % 12}, kind);
        const auto done = world->control->apply(world->second, false);
        const auto hits = world->faults.hits();
        world->settle();
        if (!done && done.error().left.empty()) {
            ASSERT_EQ(difference(before, world->snapshot()), "") << title(seed, hits, kind);
        }
        if (done || !done.error().left.empty()) world = running(seed);
        if (hits.empty()) break;
    }
}

TEST_P(Reconfiguration, a_start_that_fails_anywhere_leaves_the_host_as_it_was) {
    const uint32_t seed = GetParam();
    bool works = true;
    for (const auto kind : {Faults::Kind::error, Faults::Kind::exception})
        for (size_t n = 0;; n++) {
            if (n == 1) continue;  // that reads the kernel
            World world(seed);
            const Snapshot before = snapshot_of(world.host);
            world.faults.arm({n}, kind);
            const auto done = world.start();
            const auto hits = world.faults.hits();
            world.faults.disarm();
            if (!done) {
                if (n == 0) works = false;
                // Refused by itself, and then on the way back.
                if (!works && !done.error().left.empty()) continue;
                EXPECT_EQ(words_of(done.error().left), "");
                world.control.reset();
                ASSERT_EQ(difference(before, snapshot_of(world.host)), "") << title(seed, hits, kind);
                EXPECT_EQ(difference({}, snapshot_of(world.dataplane)), "") << title(seed, hits, kind);
            }
            if (n > 0 && hits.empty()) break;
        }
}

// More by PKTPIT_SEEDS=N.
uint32_t seeds() {
    const char* wanted = std::getenv("PKTPIT_SEEDS");
    return wanted ? static_cast<uint32_t>(std::stoul(wanted)) : pktpit::test::rounds_of(32U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Reconfiguration, testing::Range(1U, 1U + seeds()));

}  // namespace
}  // namespace pktpit::router
