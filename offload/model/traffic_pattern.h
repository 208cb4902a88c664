// SPDX-License-Identifier: BSD-3-Clause
/// Which NIC sends to which: patterns with a name, and matrices from a file, whose bytes are not trusted.
/// Plain values; any thread.
#pragma once

#include <string_view>

#include "base/result.h"
#include "offload/model/topology.h"
#include "offload/model/traffic.h"

namespace pktpit::model {

/// Names of patterns, for help and errors.
inline constexpr std::array<std::string_view, 5> traffic_patterns = {"one-way", "both-ways", "ring",
                                                                     "all-to-all", "incast"};

/// Ports of the topology's NICs, by NIC in the order of the topology.
std::vector<std::vector<double>> nic_ports(const Topology& topology);

/// `load`: of line rate, what each of the first `ports` ports of a sending NIC sends, to all its destinations
/// together. one-way: NIC 0 to 1. both-ways: and back. ring: each to the next. all-to-all: each to all
/// others. incast: all others to NIC 0. A port sends to the port of its number, or to the last there is.
/// Errors: an unknown name; a NIC too few; a port that a NIC has not.
Result<std::vector<Flow>> pattern_flows(std::string_view pattern, const Topology& topology, unsigned ports,
                                        double load);

/// A row for each NIC that sends, a column for each that it sends to; shares of line rate of its port 0,
/// separated by blanks or commas; lines that begin with # are skipped. Errors: a line that has not as many
/// numbers as there are NICs, other numbers of lines, what is no number or not 0 to 1, a row of more than 1.
Result<std::vector<Flow>> read_matrix(std::string_view text, const Topology& topology,
                                      const std::string& where);

}  // namespace pktpit::model
