// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a recorded PCI tree: an answer without a crash; what was accepted survives being written and
// read, and between any two of its functions a path is found that starts, ends and turns where it says.
#include <cstdint>
#include <string_view>

#include "offload/pci/path_links.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit::offload;

void look_at(const PciTree& tree, const PciFunction& from, const PciFunction& to) {
    const PciPath path = find_path(tree, from.address, to.address);
    demand(path.way != P2pWay::none, "both are there");
    demand(path.hops.front() == from.address && path.hops.back() == to.address, "a path has ends");
    demand(!path.why.empty(), "a verdict has words");
    demand(!path.possible || !any_of(path.findings, Severity::blocker), "what is blocked is not possible");
    for (const PciAddress hop : path.hops)
        demand(tree.find(hop) != nullptr, "a path passes functions of the tree");
    if (const auto rate = expected_rate(tree, path))
        demand(rate->write_bytes_per_second > 0 && rate->read_bytes_per_second > 0,
               "a known link has a rate");
    (void)examine_nic(from);
    (void)examine_memory(tree, to);
    (void)p2p_verdict(tree, from.address, to.address, 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto snapshot = parse_snapshot({reinterpret_cast<const char*>(data), size});
    if (!snapshot) return pktpit::fuzz::refused(snapshot.error());
    const auto again = parse_snapshot(to_json_text(*snapshot));
    demand(again && *again == *snapshot, "what was written is what was read");
    const PciTree tree(*snapshot);
    demand(tree.size() + tree.left_out() == snapshot->functions.size(), "nothing gets lost");
    const auto functions = tree.functions();
    std::vector<PciAddress> all;
    for (size_t i = 0; i < functions.size() && i < 12; i++) {
        all.push_back(functions[i]->address);
        (void)functions[i]->kind();
        for (size_t j = 0; j < functions.size() && j < 12; j++)
            look_at(tree, *functions[i], *functions[j]);
    }
    (void)examine_groups(tree, all);
    return 0;
}
