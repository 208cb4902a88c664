#include "bench/harness/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <utility>

#include "bench/harness/failure.h"
#include "bench/harness/table_file.h"
#include "bench/harness/topology.h"

namespace pktpit::bench {
namespace {

constexpr size_t most_destinations = 1 << 20;
constexpr size_t fewest_destinations = 1 << 10;

using Random = std::mt19937_64;

/// Prefixes of each length in the Internet's tables of June 2026, for machines without the files.
constexpr std::pair<uint8_t, uint32_t> histogram4[] = {
    {8, 16},     {9, 14},     {10, 39},     {11, 97},     {12, 306},   {13, 599},
    {14, 1223},  {15, 2249},  {16, 14310},  {17, 9053},   {18, 15072}, {19, 27788},
    {20, 49815}, {21, 57824}, {22, 122384}, {23, 126268}, {24, 741888}};
constexpr std::pair<uint8_t, uint32_t> histogram6[] = {
    {20, 15},   {24, 42},   {28, 173},   {29, 5532}, {30, 759},  {31, 360},  {32, 27182}, {33, 5995},
    {34, 5884}, {35, 2084}, {36, 10386}, {37, 1366}, {38, 2836}, {39, 1928}, {40, 24765}, {41, 4874},
    {42, 3613}, {43, 1758}, {44, 26975}, {45, 5090}, {46, 8379}, {47, 9843}, {48, 129950}};

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

std::vector<Prefix> generate_internet(Family family, Random& random) {
    const Prefix everything =
        family == Family::ipv4 ? *Prefix::parse("0.0.0.0/0") : *Prefix::parse("2000::/3");
    std::set<Prefix> prefixes;
    const auto add = [&](uint8_t length, uint32_t count) {
        for (uint32_t added = 0; added < count;) {
            const Prefix prefix = Prefix::of(random_address_in(everything, random), length);
            if (is_usable(prefix) && prefixes.insert(prefix).second) added++;
        }
    };
    if (family == Family::ipv4)
        for (const auto& [length, count] : histogram4)
            add(length, count);
    else
        for (const auto& [length, count] : histogram6)
            add(length, count);
    return {prefixes.begin(), prefixes.end()};
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

std::vector<IpAddress> pick_destinations(const std::vector<Prefix>& prefixes, Random& random) {
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

}  // namespace

Workload make_workload(Family family, Table table, size_t routes, const std::string& data) {
    Random random(2544);
    Workload workload;
    if (table == Table::dense) {
        if (routes == 0 || routes > 1 << 20) throw Failure("a dense table has 1 to 1,048,576 routes");
        workload.prefixes = dense_table(family, routes);
        workload.description = fmt::format("{} consecutive prefixes", routes);
    } else {
        const std::string file = data + (family == Family::ipv4 ? "/internet-ipv4-2026-06.txt.xz"
                                                                : "/internet-ipv6-2026-06.txt.xz");
        std::string origin = "the Internet table of June 2026";
        std::vector<Prefix> all;
        if (table_file_exists(file)) {
            all = read_table_file(file);
            std::erase_if(all, [](const Prefix& prefix) { return !is_usable(prefix); });
        } else {
            all = generate_internet(family, random);
            origin = "a generated table with the Internet's prefix lengths (no " + file + ")";
        }
        const size_t whole = all.size();
        workload.prefixes = take_evenly(std::move(all), routes);
        workload.description = workload.prefixes.size() == whole
                                   ? fmt::format("all {} routes of {}", whole, origin)
                                   : fmt::format("{} routes, taken evenly from the {} of {}",
                                                 workload.prefixes.size(), whole, origin);
    }
    workload.destinations = pick_destinations(workload.prefixes, random);
    return workload;
}

}  // namespace pktpit::bench
