// SPDX-License-Identifier: BSD-3-Clause
/// Longest-prefix matching as its definition says: one hash table a length, asked from the longest to the
/// shortest. What `--check` holds a FIB image against; shares nothing with it but the address type. One
/// thread.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "router/cli/table_image.h"

namespace pktpit::router::cli {

class NaiveTable {
  public:
    void set(const Prefix& prefix, uint32_t next_hop);
    bool erase(const Prefix& prefix);
    [[nodiscard]] std::optional<Route> match(const IpAddress& address) const;
    [[nodiscard]] size_t size(Family family) const;
    /// In fib::table_order().
    [[nodiscard]] std::vector<Route> sorted() const;

  private:
    using Nets = std::unordered_map<IpAddress, uint32_t>;
    std::array<std::array<Nets, 129>, 2> by_length_;
};

struct CheckResult {
    size_t prefixes = 0;   ///< compared one by one
    size_t addresses = 0;  ///< looked up in both
    size_t wrong = 0;
    std::string first;  ///< what is wrong first, for people; empty if nothing is

    [[nodiscard]] bool good() const { return wrong == 0; }
};

/// Whether the image holds exactly these prefixes, and finds for the first and the last address of each, and
/// for the two beside these, what the naive table finds.
CheckResult compare(const TableImage& image, const NaiveTable& naive);

}  // namespace pktpit::router::cli
