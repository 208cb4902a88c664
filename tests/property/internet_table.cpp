// SPDX-License-Identifier: BSD-3-Clause
#include "tests/property/internet_table.h"

#include <charconv>
#include <cstdio>
#include <stdexcept>

#include "fib/tables/data_folder.h"
#include "fib/tables/table_file.h"
#include "tests/sanitized.h"

namespace pktpit::test {

std::vector<fib::TableEntry> internet_table(Family family) {
    const bool v4 = family == Family::ipv4;
    const auto path = fib::data_file(v4 ? "internet-ipv4-2026-06.txt.xz" : "internet-ipv6-2026-06.txt.xz");
    if (!path) {
        std::printf(
            "Generated table: %zu %s prefixes. The real one is read where PKTPIT_DATA names its folder.\n",
            fib::internet_table_size(family), v4 ? "IPv4" : "IPv6");
        return fib::generate_table(family, fib::internet_table_size(family), 1);
    }
    std::vector<fib::TableEntry> table;
    const auto read =
        fib::read_table_file(*path, [&](const Prefix& prefix, std::string_view id, size_t) -> Result<void> {
            uint32_t next_hop = 0;
            if (std::from_chars(id.data(), id.data() + id.size(), next_hop).ec != std::errc{} ||
                next_hop == 0)
                return fail({}, "next-hop id is no number", "a number from 1");
            table.push_back({prefix, next_hop});
            return {};
        });
    if (!read) throw std::runtime_error(read.error().to_string());
    std::printf("Real table of June 2026: %zu %s prefixes.\n", table.size(), v4 ? "IPv4" : "IPv6");
    return table;
}

std::vector<fib::TableEntry> some_of_the_internet(Family family) {
    auto table = internet_table(family);
    if (few_rounds()) {
        for (size_t i = 0; i * 8 < table.size(); i++)
            table[i] = table[i * 8];
        table.resize((table.size() + 7) / 8);
    }
    return table;
}

}  // namespace pktpit::test
