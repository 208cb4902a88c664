// SPDX-License-Identifier: BSD-3-Clause
/// The longest-prefix match as its definition says, for comparison: one hash table a length, asked from the
/// longest to the shortest. Shares no code with fib/.
#pragma once

#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/address.h"

namespace pktpit::test {

class LpmOracle {
  public:
    explicit LpmOracle(Family family) : bits_(family == Family::ipv4 ? 32 : 128), family_(family) {}

    struct Match {
        unsigned length;
        uint32_t value;
        bool operator==(const Match&) const = default;
    };

    void set(const Prefix& prefix, uint32_t value) {
        tables_[prefix.length][number(prefix.address) & mask(prefix.length)] = value;
    }
    bool erase(const Prefix& prefix) {
        const auto table = tables_.find(prefix.length);
        if (table == tables_.end() || table->second.erase(number(prefix.address)) == 0) return false;
        if (table->second.empty()) tables_.erase(table);
        return true;
    }
    [[nodiscard]] std::optional<uint32_t> find(const Prefix& prefix) const {
        const auto table = tables_.find(prefix.length);
        if (table == tables_.end()) return std::nullopt;
        const auto found = table->second.find(number(prefix.address));
        return found == table->second.end() ? std::nullopt : std::optional(found->second);
    }
    [[nodiscard]] std::optional<Match> match(const IpAddress& address) const {
        const Number all = number(address);
        for (auto table = tables_.rbegin(); table != tables_.rend(); ++table) {
            const auto found = table->second.find(all & mask(table->first));
            if (found != table->second.end()) return Match{table->first, found->second};
        }
        return std::nullopt;
    }
    [[nodiscard]] size_t size() const {
        size_t size = 0;
        for (const auto& [length, table] : tables_)
            size += table.size();
        return size;
    }
    [[nodiscard]] std::vector<std::pair<Prefix, uint32_t>> all() const {
        std::vector<std::pair<Prefix, uint32_t>> result;
        for (const auto& [length, table] : tables_)
            for (const auto& [net, value] : table)
                result.push_back({Prefix{address(net), static_cast<uint8_t>(length)}, value});
        return result;
    }
    /// Address + 1 and - 1, wrapping.
    [[nodiscard]] IpAddress next(const IpAddress& of) const {
        return address((number(of) + 1) & mask_bits());
    }
    [[nodiscard]] IpAddress previous(const IpAddress& of) const {
        return address((number(of) - 1) & mask_bits());
    }

  private:
    using Number = unsigned __int128;
    struct Hash {
        size_t operator()(Number n) const {
            return std::hash<uint64_t>{}((static_cast<uint64_t>(n >> 64) ^ static_cast<uint64_t>(n)) *
                                         0x9e3779b97f4a7c15ull);
        }
    };

    [[nodiscard]] Number number(const IpAddress& address) const {
        Number n = 0;
        for (unsigned i = 0; i < bits_ / 8; i++)
            n = n << 8 | address.bytes[i];
        return n;
    }
    [[nodiscard]] IpAddress address(Number n) const {
        IpAddress result;
        result.family = family_;
        for (unsigned i = bits_ / 8; i-- > 0; n >>= 8)
            result.bytes[i] = static_cast<uint8_t>(n);
        return result;
    }
    [[nodiscard]] Number mask_bits() const { return bits_ == 128 ? ~Number{0} : (Number{1} << bits_) - 1; }
    [[nodiscard]] Number mask(unsigned length) const {
        return length == 0 ? 0 : mask_bits() & ~((Number{1} << (bits_ - length)) - 1);
    }

    unsigned bits_;
    Family family_;
    std::map<unsigned, std::unordered_map<Number, uint32_t, Hash>> tables_;
};

}  // namespace pktpit::test
