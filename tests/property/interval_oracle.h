// SPDX-License-Identifier: BSD-3-Clause
/// The longest-prefix match of a whole table as disjoint intervals of addresses: a sorted list of where the
/// answer changes. Quick for millions of questions, made anew for each table. Shares no code with fib/.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "base/address.h"

namespace pktpit::test {

class IntervalOracle {
  public:
    using Number = unsigned __int128;

    /// Each prefix once, in any order. Value 0 stands for no route.
    IntervalOracle(Family family, std::vector<std::pair<Prefix, uint32_t>> routes)
        : bits_(family == Family::ipv4 ? 32 : 128) {
        std::sort(routes.begin(), routes.end(), [this](const auto& a, const auto& b) {
            const Number left = number(a.first.address), right = number(b.first.address);
            return left != right ? left < right : a.first.length < b.first.length;
        });
        // The prefixes around the present place, outermost first, with their last addresses.
        std::vector<std::pair<Number, uint32_t>> around;
        add(0, 0);
        const auto leave = [&] {
            const Number last = around.back().first;
            around.pop_back();
            if (last != mask(0)) add(last + 1, around.empty() ? 0 : around.back().second);
        };
        for (const auto& [prefix, value] : routes) {
            const Number first = number(prefix.address);
            while (!around.empty() && around.back().first < first)
                leave();
            add(first, value);
            around.emplace_back(first | mask(prefix.length), value);
        }
        while (!around.empty())
            leave();
    }

    [[nodiscard]] uint32_t lookup(Number address) const {
        auto after = std::upper_bound(firsts_.begin(), firsts_.end(), address);
        return values_[static_cast<size_t>(after - firsts_.begin()) - 1];
    }
    [[nodiscard]] uint32_t lookup(const IpAddress& address) const { return lookup(number(address)); }
    /// Where answers change, in order; 0 first.
    [[nodiscard]] const std::vector<Number>& firsts() const { return firsts_; }
    [[nodiscard]] IpAddress address(Number of) const {
        IpAddress result;
        result.family = bits_ == 32 ? Family::ipv4 : Family::ipv6;
        for (unsigned i = bits_ / 8; i-- > 0; of >>= 8)
            result.bytes[i] = static_cast<uint8_t>(of);
        return result;
    }

  private:
    /// The bits behind `length`.
    [[nodiscard]] Number mask(unsigned length) const {
        return length == bits_ ? 0 : ~Number{0} >> (128 - bits_ + length);
    }
    [[nodiscard]] Number number(const IpAddress& address) const {
        Number n = 0;
        for (unsigned i = 0; i < bits_ / 8; i++)
            n = n << 8 | address.bytes[i];
        return n;
    }
    void add(Number first, uint32_t value) {
        if (!firsts_.empty() && firsts_.back() == first) {
            values_.back() = value;
            return;
        }
        firsts_.push_back(first);
        values_.push_back(value);
    }

    unsigned bits_;
    std::vector<Number> firsts_;
    std::vector<uint32_t> values_;
};

}  // namespace pktpit::test
