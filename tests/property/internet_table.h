// SPDX-License-Identifier: BSD-3-Clause
/// The full Internet table of a family: the real one where it is at hand, else one generated after it.
#pragma once

#include <vector>

#include "fib/tables/table_generator.h"

namespace pktpit::test {

/// Says on standard output where the table comes from.
std::vector<fib::TableEntry> internet_table(Family family);
/// Every eighth of its routes, where rounds are few (tests/sanitized.h).
std::vector<fib::TableEntry> some_of_the_internet(Family family);

}  // namespace pktpit::test
