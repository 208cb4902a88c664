// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/reading.h"

#include <functional>

namespace pktpit::fib {
namespace {

constexpr size_t most_names = 100;

}  // namespace

void SkipCounts::add(std::string_view name, size_t count) {
    auto found = by_name_.find(name);
    if (found == by_name_.end()) {
        if (by_name_.size() >= most_names) name = "other kinds";
        found = by_name_.try_emplace(std::string(name), 0).first;
    }
    found->second += count;
}

size_t SkipCounts::of(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? 0 : found->second;
}

std::string_view AddressTexts::text_of(const IpAddress& address) {
    Entry& entry = entries_[std::hash<IpAddress>{}(address) % entries_.size()];
    if (entry.text.empty() || entry.address != address) entry = {address, address.to_string()};
    return entry.text;
}

}  // namespace pktpit::fib
