// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_generator.h"

#include <tsl/robin_set.h>

#include <algorithm>
#include <array>
#include <random>

namespace pktpit::fib {
namespace {

// Counted in the prefixes announced in the default-free zone, June 2026.
constexpr LengthCount histogram4[] = {{8, 16},      {9, 14},     {10, 39},    {11, 97},    {12, 306},
                                      {13, 599},    {14, 1223},  {15, 2249},  {16, 14310}, {17, 9053},
                                      {18, 15072},  {19, 27788}, {20, 49815}, {21, 57824}, {22, 122384},
                                      {23, 126268}, {24, 741888}};
constexpr LengthCount histogram6[] = {
    {19, 1},    {20, 15},    {21, 3},    {22, 6},    {23, 6},    {24, 42},    {25, 13},   {26, 18},
    {27, 19},   {28, 173},   {29, 5532}, {30, 759},  {31, 360},  {32, 27182}, {33, 5995}, {34, 5884},
    {35, 2084}, {36, 10386}, {37, 1366}, {38, 2836}, {39, 1928}, {40, 24765}, {41, 4874}, {42, 3613},
    {43, 1758}, {44, 26975}, {45, 5090}, {46, 8379}, {47, 9843}, {48, 129950}};

/// Of the prefixes longer than `bits`, how many in a million are the first within their /bits. Same source.
struct Crowding {
    unsigned bits;
    uint32_t first_in_a_million;
};
constexpr Crowding crowding4[] = {{16, 24083}};
constexpr Crowding crowding6[] = {{16, 232}, {24, 29023}, {32, 70017}, {40, 173140}};

constexpr uint32_t next_hops = 200;

/// One network's prefixes lie together and have one next hop; how much of the traffic can be decided about in
/// few blocks of addresses depends on it. Of a million prefixes, how many have the next hop of the one before
/// within the same shorter prefix, or outside of all; of those that have not, how many that of the shorter
/// prefix. All others draw one. Fitted to the same source: there 778,000 of a million have their shorter
/// prefix's, and 669,000 of the others that of the one before (of IPv6: 804,000 and 769,000).
struct Kinship {
    uint32_t before, before_outside, shorter;
};
constexpr Kinship kinship4 = {650'000, 506'000, 767'000};
constexpr Kinship kinship6 = {757'000, 581'000, 794'000};

/// An address's first 64 bits, so that both families are handled alike; the lowest byte is free for a length.
using Bits = uint64_t;

Bits masked(Bits address, unsigned length) {
    return length == 0 ? 0 : address & ~Bits{0} << (64 - length);
}

/// The identity, which std::hash is, would leave the low bits alike: there stand zeros and the length.
struct BitsHash {
    size_t operator()(Bits bits) const { return (bits ^ bits >> 32) * 0x9e3779b97f4a7c15ull >> 16; }
};

/// Space that is not globally routable (RFC 6890), by its first 16 bits.
bool is_special4(Bits address) {
    const auto top = static_cast<unsigned>(address >> 48);
    const unsigned first = top >> 8;
    return first == 0 || first == 10 || first == 127 || first >= 224 || top == 0xa9fe || top == 0xc0a8 ||
           top == 0xc000 || (top & 0xffc0) == 0x6440 || (top & 0xfff0) == 0xac10 || (top & 0xfffe) == 0xc612;
}

class Generator {
  public:
    Generator(Family family, uint64_t seed) : family_(family), random_(seed) {
        double sum = 0;
        for (uint32_t k = 1; k <= next_hops; k++)
            share_[k - 1] = sum += 1.0 / k;
    }

    std::vector<TableEntry> run(size_t count) {
        for (const uint8_t length : shuffled_lengths(count))
            add(length);
        std::ranges::sort(prefixes_);
        std::vector<TableEntry> table;
        table.reserve(prefixes_.size());
        for (const Bits packed : prefixes_)
            table.push_back({unpack(packed), next_hop_of(unpack(packed))});
        return table;
    }

  private:
    // Not <random>'s distributions: their results differ between standard libraries.
    uint64_t below(uint64_t limit) {
        return static_cast<uint64_t>(static_cast<unsigned __int128>(random_()) * limit >> 64);
    }

    std::vector<uint8_t> shuffled_lengths(size_t count) {
        std::vector<uint8_t> lengths;
        lengths.reserve(count);
        uint64_t seen = 0;
        const uint64_t total = std::max<uint64_t>(internet_table_size(family_), 1);
        for (const auto& [length, of_length] : internet_histogram(family_)) {
            seen += of_length;
            lengths.resize(seen * count / total, length);  // cumulative, so that roundings do not add up
        }
        for (size_t i = lengths.size(); i > 1; i--)
            std::swap(lengths[i - 1], lengths[below(i)]);
        return lengths;
    }

    void add(uint8_t length) {
        constexpr int draws = 100, tries = 1000;
        for (int i = 0; i < draws; i++) {
            const size_t shared = draw_shared_levels(length);
            for (int j = 0; j < tries; j++)
                if (insert(candidate(shared), length, shared)) return;
        }
    }

    bool insert(Bits address, uint8_t length, size_t shared) {
        const auto reaches_below = [&](size_t level) {
            return level < crowding().size() && length > crowding()[level].bits;
        };
        const auto net = [&](size_t level) { return masked(address, crowding()[level].bits); };
        if (reaches_below(shared) && nets_[shared].contains(net(shared))) return false;
        const Bits packed = masked(address, length) | length;
        if (!present_.insert(packed).second) return false;
        for (size_t level = 0; reaches_below(level); level++) {
            longer_than_[level].push_back(packed);
            nets_[level].insert(net(level));
        }
        prefixes_.push_back(packed);
        return true;
    }

    /// In how many levels of `crowding()` the next prefix shares its net with another. In the next level it
    /// is the first of its net, if it reaches so far.
    size_t draw_shared_levels(unsigned length) {
        const uint64_t draw = below(1'000'000);
        size_t shared = 0;
        while (shared < crowding().size() && length > crowding()[shared].bits &&
               draw >= crowding()[shared].first_in_a_million && !longer_than_[shared].empty())
            shared++;
        return shared;
    }

    /// A neighbour of a prefix that is there: the more a net has been split, the more it is split again.
    /// One draw a statement: the order of operands is the compiler's, and the table must not depend on it.
    Bits candidate(size_t shared) {
        const Bits rest = random_();
        if (shared > 0) {
            const std::vector<Bits>& prefixes = longer_than_[shared - 1];
            const unsigned bits = crowding()[shared - 1].bits;
            return masked(prefixes[below(prefixes.size())], bits) | rest >> bits;
        }
        // What the registries have handed out of 2000::/3 lies below 2c10::/16.
        if (family_ == Family::ipv6) return (0x2000 + below(0xc10)) << 48 | rest >> 16;
        Bits address = rest;
        while (is_special4(address))
            address = random_();
        return address;
    }

    [[nodiscard]] std::span<const Crowding> crowding() const {
        if (family_ == Family::ipv4) return crowding4;
        return crowding6;
    }

    /// For prefixes in ascending order.
    uint32_t next_hop_of(const Prefix& prefix) {
        while (!around_.empty() && !around_.back().prefix.contains(prefix.address))
            around_.pop_back();
        const bool outside = around_.empty();
        const Kinship& kin = family_ == Family::ipv4 ? kinship4 : kinship6;
        uint32_t& before = outside ? last_outside_ : around_.back().last_inside;
        const uint64_t as_before = below(1'000'000), as_shorter = below(1'000'000);
        if (before == 0 || as_before >= (outside ? kin.before_outside : kin.before))
            before = !outside && as_shorter < kin.shorter ? around_.back().next_hop : draw_next_hop();
        const uint32_t next_hop = before;
        around_.push_back({prefix, next_hop, 0});
        return next_hop;
    }

    uint32_t draw_next_hop() {
        const double draw = static_cast<double>(random_() >> 11) * 0x1p-53 * share_.back();
        const auto place = std::ranges::upper_bound(share_, draw) - share_.begin();
        return 1 + std::min(static_cast<uint32_t>(place), next_hops - 1);
    }

    [[nodiscard]] Prefix unpack(Bits packed) const {
        const auto length = static_cast<unsigned>(packed & 0xff);
        if (family_ == Family::ipv4)
            return Prefix::of(IpAddress::v4(static_cast<uint32_t>(packed >> 32)), length);
        std::array<uint8_t, 16> bytes{};
        for (size_t i = 0; i < 7; i++)
            bytes[i] = static_cast<uint8_t>(packed >> (56 - 8 * i));
        return Prefix::of(IpAddress::v6(bytes.data()), length);
    }

    /// A prefix that the present one lies in, and the next hop of the last one below it; 0: none yet.
    struct Around {
        Prefix prefix;
        uint32_t next_hop;
        uint32_t last_inside;
    };

    Family family_;
    std::mt19937_64 random_;
    std::array<double, next_hops> share_{};
    std::vector<Bits> prefixes_;
    std::vector<Around> around_;  ///< the shortest first
    uint32_t last_outside_ = 0;
    tsl::robin_set<Bits, BitsHash> present_;
    std::array<std::vector<Bits>, std::size(crowding6)>
        longer_than_;  ///< prefixes longer than a level's bits
    std::array<tsl::robin_set<Bits, BitsHash>, std::size(crowding6)> nets_;  ///< and their first bits
};

}  // namespace

std::span<const LengthCount> internet_histogram(Family family) {
    if (family == Family::ipv4) return histogram4;
    return histogram6;
}

size_t internet_table_size(Family family) {
    size_t size = 0;
    for (const LengthCount& entry : internet_histogram(family))
        size += entry.count;
    return size;
}

std::vector<TableEntry> generate_table(Family family, size_t count, uint64_t seed) {
    return Generator(family, seed).run(count);
}

}  // namespace pktpit::fib
