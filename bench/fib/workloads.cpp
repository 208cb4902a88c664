// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/workloads.h"

#include <algorithm>
#include <cstring>

#include "bench/fib/random.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::fib {
namespace {

constexpr size_t hot_destinations = 16;

IpAddress any_address(Family family, Random& random) {
    if (family == Family::ipv4) return IpAddress::v4(static_cast<uint32_t>(random() >> 32));
    uint64_t words[2] = {random(), random()};
    std::array<uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), words, sizeof words);
    return IpAddress::v6(bytes.data());
}

IpAddress address_in(const Prefix& prefix, Random& random) {
    IpAddress address = any_address(prefix.address.family, random);
    const Prefix host_bits_only = Prefix::of(address, prefix.length);
    for (size_t i = 0; i < address.size(); i++)
        address.bytes[i] = static_cast<uint8_t>((address.bytes[i] ^ host_bits_only.address.bytes[i]) |
                                                prefix.address.bytes[i]);
    return address;
}

/// Draws ranks 0..count-1, rank k with a share proportional to 1 / (k + 1).
class Zipf {
  public:
    explicit Zipf(size_t count) : sums_(count) {
        double sum = 0;
        for (size_t k = 0; k < count; k++)
            sums_[k] = sum += 1.0 / static_cast<double>(k + 1);
    }
    size_t draw(Random& random) const {
        const auto found = std::upper_bound(sums_.begin(), sums_.end(), unit(random) * sums_.back());
        return std::min(static_cast<size_t>(found - sums_.begin()), sums_.size() - 1);
    }

  private:
    std::vector<double> sums_;
};

std::vector<uint32_t> random_permutation(size_t count, Random& random) {
    std::vector<uint32_t> order(count);
    for (size_t i = 0; i < count; i++)
        order[i] = static_cast<uint32_t>(i);
    for (size_t i = count; i > 1; i--)
        std::swap(order[i - 1], order[below(random, i)]);
    return order;
}

Address4 next_address(Address4 address) {
    return address + 1;
}
/// The next /64: hosts of one subnet never differ in a routing table.
Address6 next_address(Address6 address) {
    for (size_t i = 8; i-- > 0;)
        if (++address[i] != 0) break;
    return address;
}

}  // namespace

std::string_view name_of(Traffic traffic) {
    switch (traffic) {
        case Traffic::uniform:
            return "uniform";
        case Traffic::in_prefix:
            return "in-prefix";
        case Traffic::zipf:
            return "zipf";
        case Traffic::hot16:
            return "hot16";
        case Traffic::consecutive:
            return "consecutive";
        case Traffic::buffers:
            return "buffers";
    }
    return "unknown";
}

template <LookupAddress Address>
std::vector<Address> make_destinations(const Table& table, Traffic traffic, size_t count, uint64_t seed) {
    if (table.routes.empty()) throw harness::Failure("no routes to make destinations from");
    Random random(seed + static_cast<uint64_t>(traffic) * 0x9e3779b97f4a7c15ull);
    const auto prefix_at = [&](size_t i) -> const Prefix& { return table.routes[i].prefix; };
    const auto in_any_prefix = [&] {
        return to_lookup_address<Address>(address_in(prefix_at(below(random, table.routes.size())), random));
    };
    std::vector<Address> destinations;
    destinations.reserve(count);
    const auto fill = [&](auto&& next) {
        while (destinations.size() < count)
            destinations.push_back(next());
    };
    switch (traffic) {
        case Traffic::uniform: {
            const Prefix everywhere = table.family == Family::ipv4 ? Prefix{} : *Prefix::parse("2000::/3");
            fill([&] { return to_lookup_address<Address>(address_in(everywhere, random)); });
            break;
        }
        case Traffic::in_prefix:
        case Traffic::buffers:
            fill(in_any_prefix);
            break;
        case Traffic::zipf: {
            const Zipf zipf(table.routes.size());
            const auto ranking = random_permutation(table.routes.size(), random);
            fill([&] {
                return to_lookup_address<Address>(address_in(prefix_at(ranking[zipf.draw(random)]), random));
            });
            break;
        }
        case Traffic::hot16: {
            std::array<Address, hot_destinations> hot;
            for (Address& address : hot)
                address = in_any_prefix();
            fill([&] { return hot[below(random, hot.size())]; });
            break;
        }
        case Traffic::consecutive: {
            Address address = in_any_prefix();
            fill([&] { return address = next_address(address); });
            break;
        }
    }
    return destinations;
}

template std::vector<Address4> make_destinations(const Table&, Traffic, size_t, uint64_t);
template std::vector<Address6> make_destinations(const Table&, Traffic, size_t, uint64_t);

}  // namespace pktpit::bench::fib
