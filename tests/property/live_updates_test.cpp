// SPDX-License-Identifier: BSD-3-Clause
// The real tables under ten million updates while threads look up in batches, in every variant: an address
// whose routes do not change is never answered wrong; one whose routes do is answered by an old or a new one.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "fib/reader.h"
#include "tests/property/internet_table.h"
#include "tests/property/lpm_oracle.h"
#include "tests/sanitized.h"

namespace pktpit::fib {
namespace {

using test::LpmOracle;

const size_t updates = pktpit::test::few_rounds() ? 100'000 : 10'000'000;
constexpr size_t thinning = pktpit::test::sanitized ? 4 : 1;  ///< one route in so many

constexpr size_t batch = 64;
constexpr uint32_t group_count = 4000;  ///< ids of one byte and of two
/// Pairs of routes that only ever change together.
constexpr uint32_t twins = 16;

/// What may happen to a route: nothing, another group, or everything.
enum class Fate : uint8_t { stays, is_replaced, comes_and_goes };

struct Route {
    Prefix prefix;
    Fate fate;
    std::array<GroupId, 2> groups;  ///< where it stays, the first alone
    bool present = true;
};

Fate fate_of(size_t index) {
    return index % 4 == 0 ? Fate::comes_and_goes : index % 4 == 1 ? Fate::is_replaced : Fate::stays;
}

struct Probe {
    static constexpr size_t most = 24;
    std::array<GroupId, most> allowed{};
    size_t count = 0;

    void allow(GroupId group) {
        if (!allows(group)) allowed.at(count++) = group;
    }
    [[nodiscard]] bool allows(GroupId group) const {
        return std::find(allowed.begin(), allowed.begin() + count, group) != allowed.begin() + count;
    }
};

/// The routes of one family, what is asked of them and what may be answered.
class Routes {
  public:
    Routes(Family family, size_t probe_count, std::mt19937& random) : family_(family), index_(family) {
        const auto table = test::some_of_the_internet(family);
        const size_t offset = family == Family::ipv4 ? 0 : 7;
        for (size_t i = 0; i < table.size(); i += thinning)
            add(table[i].prefix, fate_of(i / thinning + offset), random);
        // Short prefixes over all the others: each change of one rewrites a large part of the table.
        const IpAddress zero{.bytes = {}, .family = family};
        IpAddress common = zero;
        common.bytes[0] = family == Family::ipv4 ? 0xc0 : 0x20;
        for (const Prefix& prefix : {Prefix::of(zero, 0), Prefix::of(common, 3), Prefix::of(common, 6)}) {
            if (index_.find(prefix)) continue;
            add(prefix, Fate::comes_and_goes, random);
            routes_.back().present = false;
            short_ones_.push_back(routes_.size() - 1);
        }
        for (size_t i = 0; i < probe_count; i++)
            ask(random_inside(routes_[random() % routes_.size()].prefix, random));
    }

    [[nodiscard]] std::vector<Route>& all() { return routes_; }
    [[nodiscard]] const std::vector<size_t>& short_ones() const { return short_ones_; }
    [[nodiscard]] const std::vector<Probe>& probes() const { return probes_; }
    [[nodiscard]] const std::vector<uint32_t>& addresses4() const { return v4_; }
    [[nodiscard]] const std::vector<Ip6Bytes>& addresses6() const { return v6_; }
    /// Routes that change, other than the short ones, and how many probes have one answer alone.
    [[nodiscard]] const std::vector<size_t>& changing() const { return changing_; }
    [[nodiscard]] size_t steady_probes() const { return steady_probes_; }

  private:
    void add(const Prefix& prefix, Fate fate, std::mt19937& random) {
        const auto group = [&] { return static_cast<GroupId>(1 + random() % group_count); };
        if (fate != Fate::stays) changing_.push_back(routes_.size());
        index_.set(prefix, static_cast<uint32_t>(routes_.size()));
        routes_.push_back({prefix, fate, {group(), group()}});
    }
    IpAddress random_inside(const Prefix& prefix, std::mt19937& random) const {
        IpAddress address = prefix.address;
        for (unsigned bit = prefix.length; bit < address.bits(); bit++)
            if (random() & 1) address.bytes[bit / 8] |= static_cast<uint8_t>(0x80 >> bit % 8);
        return address;
    }
    /// From the longest route on that covers the address to the first that is always there.
    void ask(const IpAddress& address) {
        Probe probe;
        bool ends = false;
        for (unsigned length = address.bits() + 1; length-- > 0 && !ends;) {
            const auto found = index_.find(Prefix::of(address, length));
            if (!found) continue;
            const Route& route = routes_[*found];
            probe.allow(route.groups[0]);
            if (route.fate != Fate::stays) probe.allow(route.groups[1]);
            ends = route.fate != Fate::comes_and_goes;
        }
        if (!ends) probe.allow(0);
        steady_probes_ += probe.count == 1;
        probes_.push_back(probe);
        if (family_ == Family::ipv4)
            v4_.push_back(address.v4_host_order());
        else
            v6_.push_back(address.bytes);
    }

    Family family_;
    LpmOracle index_;
    std::vector<Route> routes_;
    std::vector<size_t> changing_, short_ones_;
    std::vector<Probe> probes_;
    std::vector<uint32_t> v4_;
    std::vector<Ip6Bytes> v6_;
    size_t steady_probes_ = 0;
};

struct Findings {
    std::atomic<bool> stop = false;
    std::atomic<uint64_t> lookups = 0, wrong = 0, torn = 0;
    std::atomic<uint32_t> saw = 0, probe = 0, variant = 0;
};

Prefix twin(uint32_t number) {
    return Prefix::of(IpAddress::v4(0xf0000000u + (number << 18)), 20 + number % 9);
}

/// The batches of one family, round and round; IPv4 with a batch of twins in between.
void read(const std::span<const std::byte> image, Epochs& epochs, const Routes& routes, bool v4,
          Findings& findings) {
    EpochReader reader(epochs);
    std::vector<FibReader> variants;
    for (const CpuVariant variant : {CpuVariant::scalar, CpuVariant::avx2, CpuVariant::avx512})
        if (cpu_has(variant)) variants.emplace_back(image, variant);
    std::array<uint32_t, batch> twin_addresses{};
    for (uint32_t i = 0; i < batch; i++)
        twin_addresses[i] = twin(i % (2 * twins)).address.v4_host_order();
    std::array<GroupId, batch> found{};
    for (size_t round = 0, at = 0; !findings.stop.load(std::memory_order_relaxed); round++, at += batch) {
        const FibReader& variant = variants[round % variants.size()];
        if (at + batch > routes.probes().size()) at = 0;
        // A batch that is no whole one now and then.
        const size_t count = round % 16 == 0 ? batch - 5 : batch;
        {
            const EpochGuard inside(reader);
            if (v4)
                variant.lookup_batch(std::span(routes.addresses4()).subspan(at, count),
                                     std::span(found).first(count));
            else
                variant.lookup_batch(std::span(routes.addresses6()).subspan(at, count),
                                     std::span(found).first(count));
        }
        for (size_t i = 0; i < count; i++) {
            if (routes.probes()[at + i].allows(found[i])) continue;
            findings.wrong++;
            findings.saw = found[i];
            findings.probe = static_cast<uint32_t>(at + i);
            findings.variant = static_cast<uint32_t>(variant.variant());
        }
        findings.lookups.fetch_add(count, std::memory_order_relaxed);
        // The writer is to make most of the way also where there are fewer cores than threads.
        if (round % 256 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (!v4 || round % 8 != 0) continue;
        const EpochGuard inside(reader);
        variant.lookup_batch(twin_addresses, found);
        for (size_t i = 0; i + 1 < batch; i++)
            findings.torn += found[i] != found[i + 1];
    }
}

class LiveUpdates : public testing::Test {
  protected:
    LiveUpdates()
        : v4_(Family::ipv4, 1 << 18, random_),
          v6_(Family::ipv6, 1 << 16, random_),
          geometry_(plan_geometry(capacity())),
          memory_(static_cast<std::byte*>(std::aligned_alloc(64, geometry_.image_bytes)), &std::free),
          image_({memory_.get(), geometry_.image_bytes}, geometry_, epochs_) {}

    /// A batch copies every node that it touches, which a short prefix's change makes nearly all: room for
    /// both families twice. With this many groups the tables take 28 MiB, a copy 17 to 23 more.
    static Capacity capacity() {
        Capacity capacity;
        capacity.node_bytes = 64u << 20;
        return capacity;
    }
    void load() {
        for (uint32_t id = 1; id <= group_count; id++)
            ASSERT_EQ(image_.add_group({}), id);
        for (Routes* routes : {&v4_, &v6_})
            for (const Route& route : routes->all())
                if (route.present) {
                    ASSERT_TRUE(image_.set(route.prefix, route.groups[0]));
                }
        ASSERT_TRUE(image_.apply(all_twins(1)));
    }
    static std::vector<RouteChange> all_twins(GroupId group) {
        std::vector<RouteChange> changes;
        for (uint32_t i = 0; i < 2 * twins; i++)
            changes.push_back({twin(i), group});
        return changes;
    }
    /// What becomes of a route next.
    RouteChange change(Route& route) {
        if (route.fate == Fate::comes_and_goes && random_() % 2) {
            route.present = !route.present;
            if (!route.present) return {route.prefix, std::nullopt};
        }
        route.present = true;
        return {route.prefix, route.groups[random_() % 2]};
    }
    RouteChange any_change() {
        Routes& routes = random_() % 4 ? v4_ : v6_;
        if (random_() % 50'000 == 0)
            return change(routes.all()[routes.short_ones()[random_() % routes.short_ones().size()]]);
        return change(routes.all()[routes.changing()[random_() % routes.changing().size()]]);
    }
    void make(const RouteChange& change) {
        if (change.group) {
            ASSERT_TRUE(image_.set(change.prefix, *change.group));
        } else {
            ASSERT_TRUE(image_.erase(change.prefix));
        }
    }

    std::mt19937 random_{1};
    Routes v4_, v6_;
    pp_fib_geometry geometry_;
    std::unique_ptr<std::byte, decltype(&std::free)> memory_;
    Epochs epochs_;
    FibImage image_;
};

TEST_F(LiveUpdates, NobodyIsAnsweredWrong) {
    load();
    if (HasFatalFailure()) return;
    EXPECT_GT(v4_.steady_probes(), v4_.probes().size() / 8);
    EXPECT_GT(v6_.steady_probes(), v6_.probes().size() / 8);
    Findings found4, found6;
    std::thread reader4([&] { read(image_.memory(), epochs_, v4_, true, found4); });
    std::thread reader6([&] { read(image_.memory(), epochs_, v6_, false, found6); });
    const auto start = std::chrono::steady_clock::now();
    size_t batches = 0, passes = 0;
    for (size_t done = 0; done < updates && !HasFatalFailure();) {
        if (done % 10'000 < 100) {
            // A hundred at once, of both families, and the twins.
            std::vector<RouteChange> changes = all_twins(static_cast<GroupId>(1 + random_() % group_count));
            for (int i = 0; i < 100; i++)
                changes.push_back(any_change());
            const auto applied = image_.apply(changes);
            EXPECT_TRUE(applied) << applied.error().to_string();
            done += 100;
            batches++;
        }
        for (int i = 0; i < 100; i++, done++)
            make(any_change());
        passes += image_.compact(16);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    // On a busy machine readers may have had little of the time so far.
    while (found4.lookups < pktpit::test::rounds_of(1'000'000U) ||
           found6.lookups < pktpit::test::rounds_of(1'000'000U)) {
        make(any_change());
        std::this_thread::yield();
    }
    for (Findings* found : {&found4, &found6})
        found->stop = true;
    reader4.join();
    reader6.join();
    for (const Findings* found : {&found4, &found6}) {
        EXPECT_EQ(found->wrong, 0u) << "probe " << found->probe << " saw group " << found->saw << " by "
                                    << to_string(static_cast<CpuVariant>(found->variant.load()));
        EXPECT_EQ(found->torn, 0u) << "changes that belong together were seen apart";
    }
    std::printf("%zu updates in %.1f s, %zu batches, %zu passes of compaction, %.0f + %.0f M lookups\n",
                updates, took.count(), batches, passes, static_cast<double>(found4.lookups) / 1e6,
                static_cast<double>(found6.lookups) / 1e6);
    // And what is there in the end is what was asked for.
    for (Routes* routes : {&v4_, &v6_})
        for (const Route& route : routes->all())
            ASSERT_EQ(image_.find(route.prefix).has_value(), route.present) << route.prefix.to_string();
}

}  // namespace
}  // namespace pktpit::fib
