// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

#include "bench/harness/failure.h"
#include "bench/harness/recorded_file.h"
#include "bench/harness/topology.h"
#include "fib/tables/table_file.h"
#include "fib/tables/table_generator.h"

namespace pktpit::bench::harness {
namespace {

constexpr size_t most_destinations = 1 << 20;
constexpr size_t fewest_destinations = 1 << 10;
constexpr uint64_t seed = 2544;

using Random = std::mt19937_64;

/// Routable for certain: a martian destination would be dropped by some forwarders and not by others.
bool is_usable(const Prefix& prefix) {
    if (prefix.length == 0) return false;
    for (const auto* net :
         {&addressing(prefix.address.family).ingress, &addressing(prefix.address.family).egress})
        if (net->net().overlaps(prefix)) return false;
    const uint8_t first = prefix.address.bytes[0];
    if (prefix.address.is_v6()) return first >> 5 == 1;  // 2000::/3
    if (prefix.length < 8 || first == 0 || first == 10 || first == 127 || first >= 224) return false;
    static const auto special = [] {
        std::vector<Prefix> nets;
        for (const char* text :
             {"100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
              "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"})
            nets.push_back(*Prefix::parse(text));
        return nets;
    }();
    return std::none_of(special.begin(), special.end(),
                        [&](const Prefix& net) { return net.overlaps(prefix); });
}

IpAddress random_address_in(const Prefix& prefix, Random& random) {
    IpAddress address = prefix.address;
    for (unsigned bit = prefix.length; bit < address.bits(); bit++)
        if (random() & 1)
            address.bytes[bit / 8] = static_cast<uint8_t>(address.bytes[bit / 8] | 0x80 >> bit % 8);
    return address;
}

std::vector<Prefix> generate_internet(Family family) {
    std::vector<Prefix> prefixes;
    for (const auto& entry :
         pktpit::fib::generate_table(family, pktpit::fib::internet_table_size(family), seed))
        prefixes.push_back(entry.prefix);
    return prefixes;
}

/// Next-hop ids are left out: the benchmark has one next hop.
std::vector<Prefix> read_prefixes(const std::string& file) {
    std::vector<Prefix> prefixes;
    const auto read = pktpit::fib::read_table_file(
        file, [&](const Prefix& prefix, std::string_view, size_t) -> Result<void> {
            prefixes.push_back(prefix);
            return {};
        });
    if (!read) throw Failure(read.error().to_string());
    return prefixes;
}

std::vector<Prefix> dense_table(Family family, size_t routes) {
    const Prefix first = family == Family::ipv4 ? *Prefix::parse("20.0.0.0/24") : *Prefix::parse("2400::/48");
    const unsigned last_byte = first.length / 8 - 1;
    std::vector<Prefix> prefixes;
    for (size_t i = 0; i < routes; i++) {
        Prefix prefix = first;
        for (unsigned byte = 0; byte < 3; byte++) {
            uint8_t& target = prefix.address.bytes[last_byte - byte];
            target = static_cast<uint8_t>(target + (i >> (8 * byte) & 0xff));
        }
        prefixes.push_back(prefix);
    }
    return prefixes;
}

std::vector<Prefix> take_evenly(std::vector<Prefix> prefixes, size_t count) {
    if (count == 0 || count >= prefixes.size()) return prefixes;
    std::vector<Prefix> taken;
    for (size_t i = 0; i < count; i++)
        taken.push_back(prefixes[i * prefixes.size() / count]);
    return taken;
}

std::vector<IpAddress> pick_uniform(const std::vector<Prefix>& prefixes, Random& random) {
    const size_t count = std::clamp(std::bit_ceil(prefixes.size()), fewest_destinations, most_destinations);
    std::vector<uint32_t> order(std::max(count, prefixes.size()));
    for (size_t i = 0; i < order.size(); i++)
        order[i] = static_cast<uint32_t>(i % prefixes.size());
    std::shuffle(order.begin(), order.end(), random);
    std::vector<IpAddress> destinations;
    for (size_t i = 0; i < count; i++)
        destinations.push_back(random_address_in(prefixes[order[i]], random));
    return destinations;
}

/// Rank r with probability 1/r over all prefixes, drawn by inversion of the sum.
std::vector<IpAddress> pick_zipf(const std::vector<Prefix>& prefixes, Random& random) {
    std::vector<uint32_t> ranking(prefixes.size());
    std::iota(ranking.begin(), ranking.end(), 0U);
    std::shuffle(ranking.begin(), ranking.end(), random);
    std::vector<double> sums;
    double sum = 0;
    for (size_t rank = 1; rank <= prefixes.size(); rank++)
        sums.push_back(sum += 1.0 / static_cast<double>(rank));
    std::uniform_real_distribution<double> draw(0, sum);
    std::vector<IpAddress> destinations;
    for (size_t i = 0; i < most_destinations; i++) {
        const auto rank = std::upper_bound(sums.begin(), sums.end() - 1, draw(random)) - sums.begin();
        destinations.push_back(random_address_in(prefixes[ranking[static_cast<size_t>(rank)]], random));
    }
    return destinations;
}

std::vector<IpAddress> pick_destinations(const std::vector<Prefix>& prefixes, Traffic traffic,
                                         Random& random) {
    switch (traffic) {
        case Traffic::uniform:
            return pick_uniform(prefixes, random);
        case Traffic::zipf:
            return pick_zipf(prefixes, random);
        case Traffic::one_flow:
            return std::vector<IpAddress>(fewest_destinations,
                                          random_address_in(prefixes[random() % prefixes.size()], random));
    }
    return {};
}

/// What a workload routes, and what that is.
struct Source {
    std::vector<Prefix> prefixes;
    std::string description;
    std::string label;
};

Source read_or_generate_internet(Family family, size_t routes, const std::string& data) {
    const std::string_view name = internet_table_file(family);
    const auto file = recorded_file(data, name);
    std::vector<Prefix> all = file ? read_prefixes(*file) : generate_internet(family);
    const std::string origin =
        file ? "the Internet table of June 2026"
             : "a generated table with the Internet's prefix lengths (" + describe_missing(data, name) + ")";
    std::erase_if(all, [](const Prefix& prefix) { return !is_usable(prefix); });
    const size_t whole = all.size();
    Source source{take_evenly(std::move(all), routes), {}, {}};
    const size_t taken = source.prefixes.size();
    source.description = taken == whole
                             ? fmt::format("all {} routes of {}", whole, origin)
                             : fmt::format("{} routes, taken evenly from the {} of {}", taken, whole, origin);
    source.label = fmt::format("{} {} routes", taken, file ? "Internet" : "generated");
    return source;
}

Source make_dense(Family family, size_t routes) {
    if (routes == 0 || routes > 1 << 20) throw Failure("a dense table has 1 to 1,048,576 routes");
    return {dense_table(family, routes), fmt::format("{} consecutive prefixes", routes),
            fmt::format("{} consecutive routes", routes)};
}

}  // namespace

Workload make_workload(Family family, Table table, size_t routes, const std::string& data, Traffic traffic) {
    Source source =
        table == Table::dense ? make_dense(family, routes) : read_or_generate_internet(family, routes, data);
    Random random(seed);
    Workload workload{std::move(source.description), std::move(source.label), std::move(source.prefixes), {}};
    workload.destinations = pick_destinations(workload.prefixes, traffic, random);
    if (traffic == Traffic::zipf) workload.label += ", Zipf";
    if (traffic == Traffic::one_flow) workload.label += ", one flow";
    if (traffic == Traffic::zipf) workload.description += ", destinations by Zipf's law";
    if (traffic == Traffic::one_flow) workload.description += ", one destination";
    return workload;
}

}  // namespace pktpit::bench::harness
