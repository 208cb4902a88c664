// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/function.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <sstream>

namespace pktpit::offload {
namespace {

constexpr uint64_t smallest_memory = 1 << 20;
constexpr uint16_t command_memory = 0x2;
constexpr uint16_t command_master = 0x4;

std::string attribute(const SnapshotFunction& snapshot, const char* name) {
    const auto found = snapshot.attributes.find(name);
    return found == snapshot.attributes.end() ? "" : found->second;
}

/// "0x8086", "12"; nothing where it is no number.
std::optional<uint64_t> number(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
        base = 16;
    }
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

uint64_t number_of(const SnapshotFunction& snapshot, const char* name) {
    return number(attribute(snapshot, name)).value_or(0);
}

/// Lines "start end flags", one a BAR, then ROM and bridge windows. Flags: linux/ioport.h, IORESOURCE_*.
std::vector<PciBar> bars_of(const std::string& resource) {
    constexpr uint64_t flag_memory = 0x200;
    constexpr uint64_t flag_prefetch = 0x2000;
    constexpr uint64_t flag_64bit = 0x100000;
    std::vector<PciBar> bars;
    std::istringstream lines(resource);
    std::string line;
    for (unsigned index = 0; index < 6 && std::getline(lines, line); index++) {
        std::istringstream words(line);
        std::string start;
        std::string end;
        std::string flags;
        words >> start >> end >> flags;
        const auto first = number(start);
        const auto last = number(end);
        const auto bits = number(flags);
        const bool assigned =
            first && last && bits && *bits != 0 && *last > *first && *last - *first != ~0ULL;
        if (!assigned) continue;
        bars.push_back({index, *first, *last - *first + 1, (*bits & flag_memory) != 0,
                        (*bits & flag_prefetch) != 0, (*bits & flag_64bit) != 0});
    }
    return bars;
}

/// "8.0 GT/s PCIe"; for readers who were not root and did not see the link's registers.
PcieLink link_of(const SnapshotFunction& snapshot, const char* speed, const char* width) {
    const std::string text = attribute(snapshot, speed);
    double gigatransfers = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gigatransfers);
    const bool good = error == std::errc{} && gigatransfers > 0 && gigatransfers <= 64;
    const uint64_t lanes = number_of(snapshot, width);
    return {good ? gigatransfers : 0, lanes <= 32 ? static_cast<unsigned>(lanes) : 0};
}

std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;)
        words.push_back(word);
    return words;
}

void place(PciFunction& function, const std::string& path) {
    const size_t first = path.find('/');
    const size_t last = path.rfind('/');
    function.host_bridge = path.substr(0, first);
    if (first == last) return;
    const size_t before = path.rfind('/', last - 1);
    if (const auto parent = PciAddress::parse(path.substr(before + 1, last - before - 1)))
        function.parent = *parent;
}

void read_config(PciFunction& function, const SnapshotFunction& snapshot) {
    const ConfigSpace config(snapshot.config);
    const uint16_t command = config.u16(0x04).value_or(0);
    function.memory_enabled = command & command_memory;
    function.bus_master = command & command_master;
    function.config_complete = config.has_capabilities();
    function.bridge = BridgeHeader::parse(config);
    function.pcie = PcieCapability::parse(config);
    function.acs = AcsCapability::parse(config);
    function.ats = AtsCapability::parse(config);
    if (function.pcie && !function.pcie->link.known()) {
        function.pcie->link = link_of(snapshot, "current_link_speed", "current_link_width");
        function.pcie->max_link = link_of(snapshot, "max_link_speed", "max_link_width");
    }
}

}  // namespace

std::optional<PciFunction> PciFunction::from(const SnapshotFunction& snapshot) {
    const auto address = PciAddress::parse(snapshot.path.substr(snapshot.path.rfind('/') + 1));
    if (!address || snapshot.path.find('/') == std::string::npos) return std::nullopt;
    PciFunction function;
    function.address = *address;
    place(function, snapshot.path);
    function.vendor = static_cast<uint16_t>(number_of(snapshot, "vendor"));
    function.device = static_cast<uint16_t>(number_of(snapshot, "device"));
    function.class_code = static_cast<uint32_t>(number_of(snapshot, "class") & 0xffffff);
    function.bars = bars_of(attribute(snapshot, "resource"));
    read_config(function, snapshot);
    function.driver = attribute(snapshot, "driver");
    if (const auto group = number(attribute(snapshot, "iommu_group")); group && *group <= ~0U)
        function.iommu_group = static_cast<unsigned>(*group);
    function.iommu_type = attribute(snapshot, "iommu_group/type");
    if (const auto node = number(attribute(snapshot, "numa_node")); node && *node < 65536)
        function.numa_node = static_cast<int>(*node);
    function.interfaces = words_of(attribute(snapshot, "net"));
    if (const auto physical = PciAddress::parse(attribute(snapshot, "physfn"))) function.physical = *physical;
    if (const auto bytes = number(attribute(snapshot, "p2pmem/size")))
        function.p2pmem = P2pMem{*bytes, number_of(snapshot, "p2pmem/available"),
                                 number_of(snapshot, "p2pmem/published") == 1};
    return function;
}

const PciBar* PciFunction::bar(unsigned index) const {
    const auto found =
        std::find_if(bars.begin(), bars.end(), [&](const PciBar& b) { return b.index == index; });
    return found == bars.end() ? nullptr : &*found;
}

const PciBar* PciFunction::payload_bar() const {
    const PciBar* best = nullptr;
    for (const PciBar& candidate : bars) {
        if (!candidate.memory || candidate.bytes < smallest_memory) continue;
        const bool better = !best || std::pair(candidate.prefetchable, candidate.bytes) >
                                         std::pair(best->prefetchable, best->bytes);
        if (better) best = &candidate;
    }
    return best;
}

bool PciFunction::is_memory_candidate() const {
    if (is_bridge() || is_ethernet()) return false;
    const PciBar* best = payload_bar();
    return best && (best->prefetchable || is_nvme() || class_code >> 8 == 0x0500);
}

std::string PciFunction::ids() const {
    char text[16];
    std::snprintf(text, sizeof text, "%04x:%04x", vendor, device);
    return text;
}

std::string PciFunction::kind() const {
    if (pcie && is_bridge()) return std::string(to_string(pcie->type));
    // PCI Code and ID Assignment, section 1.
    switch (class_code >> 8) {
        case 0x0108:
            return "NVMe controller";
        case 0x0200:
            return "Ethernet controller";
        case 0x0207:
            return "InfiniBand controller";
        case 0x0300:
            return "VGA controller";
        case 0x0302:
            return "3D controller";
        case 0x0500:
            return "memory controller";
        case 0x0600:
            return "host bridge";
        case 0x0601:
            return "ISA bridge";
        case 0x0604:
            return "PCI bridge";
        case 0x1200:
            return "processing accelerator";
        default:
            break;
    }
    switch (class_code >> 16) {
        case 0x01:
            return "storage controller";
        case 0x02:
            return "network controller";
        case 0x03:
            return "display controller";
        case 0x05:
            return "memory controller";
        case 0x0c:
            return "serial bus controller";
        default:
            break;
    }
    char text[24];
    std::snprintf(text, sizeof text, "class %06x", class_code);
    return text;
}

}  // namespace pktpit::offload
