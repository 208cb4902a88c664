// SPDX-License-Identifier: BSD-3-Clause
/// The full Internet table of a family: the real one where it is at hand, else one generated after it.
#pragma once

#include <vector>

#include "fib/tables/table_generator.h"

namespace pktpit::test {

/// Says on standard output where the table comes from.
std::vector<fib::TableEntry> internet_table(Family family);

}  // namespace pktpit::test
