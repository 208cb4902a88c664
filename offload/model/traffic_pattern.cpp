// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/traffic_pattern.h"

#include <algorithm>
#include <charconv>

#include "base/quoted.h"

namespace pktpit::model {
namespace {

constexpr double rounding = 1e-9;

void collect_ports(const std::vector<TopologyDevice>& devices, std::vector<std::vector<double>>& into) {
    for (const TopologyDevice& device : devices) {
        if (device.kind == TopologyDevice::Kind::nic) into.push_back(device.gbps);
        collect_ports(device.below, into);
    }
}

/// NICs that `from` sends to.
std::vector<unsigned> receivers(std::string_view pattern, unsigned from, unsigned nics) {
    std::vector<unsigned> to;
    if (pattern == "one-way" && from == 0) to = {1};
    if (pattern == "both-ways" && from < 2) to = {1 - from};
    if (pattern == "ring") to = {(from + 1) % nics};
    if (pattern == "incast" && from > 0) to = {0};
    if (pattern == "all-to-all")
        for (unsigned other = 0; other < nics; other++)
            if (other != from) to.push_back(other);
    return to;
}

bool is_separator(char c) {
    return c == ' ' || c == '\t' || c == ',' || c == '\r';
}

Result<std::vector<double>> read_row(std::string_view line, const std::string& where) {
    std::vector<double> row;
    double sum = 0;
    while (!line.empty()) {
        if (is_separator(line.front())) {
            line.remove_prefix(1);
            continue;
        }
        double value = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
        const auto length = static_cast<size_t>(end - line.data());
        const bool whole = length == line.size() || is_separator(line[length]);
        if (error != std::errc{} || !whole || !(value >= 0 && value <= 1))
            return fail(where, pktpit::quoted(line.substr(0, 20)) + " is no share", "0 to 1, of line rate");
        row.push_back(value);
        sum += value;
        line.remove_prefix(length);
    }
    if (sum > 1 + rounding)
        return fail(where, "sends " + std::to_string(sum) + " of line rate", "a sum of at most 1");
    return row;
}

}  // namespace

std::vector<std::vector<double>> nic_ports(const Topology& topology) {
    std::vector<std::vector<double>> ports;
    collect_ports(topology.root_ports, ports);
    return ports;
}

Result<std::vector<Flow>> pattern_flows(std::string_view pattern, const Topology& topology, unsigned ports,
                                        double load) {
    if (std::ranges::find(traffic_patterns, pattern) == traffic_patterns.end())
        return fail("traffic", pktpit::quoted(pattern) + " cannot be",
                    "one-way, both-ways, ring, all-to-all or incast");
    const auto there = nic_ports(topology);
    if (there.size() < 2)
        return fail("traffic", std::to_string(there.size()) + " NICs in topology " + topology.name, "two");
    std::vector<Flow> flows;
    const auto nics = static_cast<unsigned>(there.size());
    for (unsigned from = 0; from < nics; from++) {
        const std::vector<unsigned> to = receivers(pattern, from, nics);
        if (!to.empty() && ports > there[from].size())
            return fail("ports", std::to_string(ports) + " of NIC " + std::to_string(from),
                        "at most " + std::to_string(there[from].size()) + " in topology " + topology.name);
        for (unsigned port = 0; port < ports; port++)
            for (const unsigned other : to)
                flows.push_back({from, port, other,
                                 std::min(port, static_cast<unsigned>(there[other].size()) - 1),
                                 load / static_cast<double>(to.size())});
    }
    return flows;
}

Result<std::vector<Flow>> read_matrix(std::string_view text, const Topology& topology,
                                      const std::string& where) {
    const size_t nics = topology.nics();
    std::vector<Flow> flows;
    unsigned from = 0;
    for (size_t number = 1; !text.empty(); number++) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const std::string place = where + ":" + std::to_string(number);
        if (line.starts_with('#') || std::ranges::all_of(line, is_separator)) continue;
        const auto row = read_row(line, place);
        if (!row) return tl::unexpected(row.error());
        if (row->size() != nics || from >= nics)
            return fail(place, from >= nics ? "one line too many" : std::to_string(row->size()) + " numbers",
                        std::to_string(nics) + " lines of " + std::to_string(nics) +
                            ": so many NICs has topology " + topology.name);
        for (unsigned to = 0; to < nics; to++)
            if ((*row)[to] > 0) flows.push_back({from, 0, to, 0, (*row)[to]});
        from++;
    }
    if (from != nics)
        return fail(where, std::to_string(from) + " lines", std::to_string(nics) + ", one for each NIC");
    if (flows.empty()) return fail(where, "nobody sends", "a share above 0");
    return flows;
}

}  // namespace pktpit::model
