/// Reads the prefixes of a table file: `prefix/length next-hop-id` a line, xz-compressed.
#pragma once

#include <string>
#include <vector>

#include "fib/address.h"

namespace pktpit::bench {

bool table_file_exists(const std::string& path);
/// Throws Failure with the line that is wrong. Next-hop ids are left out: the benchmark has one next hop.
std::vector<Prefix> read_table_file(const std::string& path);

}  // namespace pktpit::bench
