// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as configuration spaces: the first two say where to cut, the pieces are a root port, a switch and
// two functions below it. What is parsed lies in the ranges that the specification has.
#include <cstdint>
#include <string>
#include <string_view>

#include "offload/pci/path_links.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit::offload;

bool is_payload_size(unsigned bytes) {
    return bytes >= 128 && bytes <= 4096 && (bytes & (bytes - 1)) == 0;
}

void look_at_space(const ConfigSpace& config) {
    if (const auto pcie = PcieCapability::parse(config)) {
        demand(
            is_payload_size(pcie->mps) && is_payload_size(pcie->mps_supported) && is_payload_size(pcie->mrrs),
            "payload sizes are powers of two from 128 to 4096");
        demand(pcie->link.gigatransfers <= 64 && pcie->link.lanes < 64, "links have speeds");
        demand(to_string(pcie->type) != "unknown", "types have names");
    }
    if (const auto acs = AcsCapability::parse(config))
        demand((acs->enabled & ~acs->supported) == 0, "only what is implemented is on");
    if (const auto bridge = BridgeHeader::parse(config))
        demand(!bridge->memory.contains(0, 0), "nothing is in no window");
    (void)AtsCapability::parse(config);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    const size_t piece = 1 + (data[0] | data[1] << 8) % 4200;
    PciSnapshot snapshot;
    const std::string root = "pci0000:00/0000:00:01.0";
    const std::string up = root + "/0000:01:00.0";
    for (const std::string& path : {root, up, up + "/0000:02:00.0", up + "/0000:02:01.0",
                                    up + "/0000:02:00.0/0000:03:00.0", up + "/0000:02:01.0/0000:04:00.0"}) {
        const size_t at = std::min(snapshot.functions.size() * piece, bytes.size());
        const std::string config(bytes.substr(at, piece));
        look_at_space(ConfigSpace(config));
        snapshot.functions.push_back(
            {path, config, {{"iommu_group", "1"}, {"resource", "0x100000 0x1fffff 0x14220c"}}});
    }
    const PciTree tree(snapshot);
    const auto nic = PciAddress::parse("03:00.0");
    const auto memory = PciAddress::parse("04:00.0");
    for (const auto& [from, to] : {std::pair(*nic, *memory), std::pair(*memory, *nic)}) {
        const PciPath path = find_path(tree, from, to);
        demand(path.way >= P2pWay::root_complex, "they are below one host bridge");
        (void)expected_rate(tree, path);
        (void)p2p_verdict(tree, from, to, 0);
    }
    return 0;
}
