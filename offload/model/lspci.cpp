// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/lspci.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <optional>

namespace pktpit::model {
namespace {

constexpr unsigned deepest_bridge = 16;
constexpr size_t most_functions = 8192;
constexpr uint64_t smallest_memory = 1 << 20;

enum class PortType : uint8_t { none, root, upstream, downstream };

struct Function {
    std::string address;  ///< as lspci has it
    unsigned domain = 0, bus = 0, device = 0, number = 0;
    bool ethernet = false, memory = false, is_virtual = false;
    PortType port = PortType::none;
    unsigned secondary = 0;  ///< bus below; 0: none
    offload::PcieLink link{0, 0};
    unsigned mps = 0, mrrs = 0;
    bool redirects_requests = false, redirects_completions = false;
    uint64_t largest_region = 0;
    bool seen = false;
};

std::optional<unsigned> parse_number(std::string_view text, int base) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc{} || end != text.data() + text.size()) return {};
    return value;
}

/// What follows `key`, up to a character that no number has.
std::string_view after(std::string_view line, std::string_view key) {
    const size_t at = line.find(key);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + key.size());
    return rest.substr(0, rest.find_first_not_of("0123456789abcdef."));
}

unsigned decimal_after(std::string_view line, std::string_view key) {
    const std::string_view digits = after(line, key);
    return parse_number(digits.substr(0, digits.find_first_not_of("0123456789")), 10).value_or(0);
}

/// "[size=16M]" in bytes.
uint64_t size_of_region(std::string_view line) {
    const size_t at = line.find("[size=");
    if (at == std::string_view::npos) return 0;
    const uint64_t count = decimal_after(line, "[size=");
    const std::string_view rest = line.substr(at + 6);
    const size_t unit = rest.find_first_not_of("0123456789");
    switch (unit == std::string_view::npos ? ' ' : rest[unit]) {
        case 'K':
            return count << 10;
        case 'M':
            return count << 20;
        case 'G':
            return count << 30;
        default:
            return count;
    }
}

/// "0000:3b:00.0 Ethernet controller: …", or without the domain.
std::optional<Function> read_head(std::string_view line) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return {};
    std::string_view address = line.substr(0, blank);
    Function function;
    function.address = std::string(address);
    if (std::ranges::count(address, ':') == 2) {
        const auto domain = parse_number(address.substr(0, address.find(':')), 16);
        if (!domain) return {};
        function.domain = *domain;
        address.remove_prefix(address.find(':') + 1);
    }
    const size_t colon = address.find(':'), point = address.find('.');
    if (colon == std::string_view::npos || point == std::string_view::npos || point < colon) return {};
    const auto bus = parse_number(address.substr(0, colon), 16);
    const auto device = parse_number(address.substr(colon + 1, point - colon - 1), 16);
    const auto index = parse_number(address.substr(point + 1), 16);
    if (!bus || !device || !index || *bus > 255 || *device > 31 || *index > 7) return {};
    function.bus = *bus;
    function.device = *device;
    function.number = *index;
    const std::string_view what = line.substr(blank + 1);
    const auto is = [&](std::string_view words, std::string_view code) {
        return what.starts_with(words) || what.starts_with(code) ||
               what.substr(0, 60).find("[" + std::string(code) + "]") != std::string_view::npos;
    };
    function.ethernet = is("Ethernet controller", "0200");
    function.memory = is("Non-Volatile memory controller", "0108") || is("RAM memory", "0500") ||
                      is("Memory controller", "0580");
    function.is_virtual = what.find("Virtual Function") != std::string_view::npos;
    return function;
}

void read_detail(Function& function, std::string_view line) {
    if (line.find("Bus: primary=") != std::string_view::npos)
        function.secondary = parse_number(after(line, "secondary="), 16).value_or(0);
    if (line.find(" Express ") != std::string_view::npos) {
        const auto says = [&](std::string_view words) { return line.find(words) != std::string_view::npos; };
        function.port = says("Root Port")         ? PortType::root
                        : says("Upstream Port")   ? PortType::upstream
                        : says("Downstream Port") ? PortType::downstream
                                                  : PortType::none;
    }
    if (line.find("LnkSta:") != std::string_view::npos) {
        const std::string_view speed = after(line, "Speed ");
        double gigatransfers = 0;
        std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
        function.link = {gigatransfers, decimal_after(line, "Width x")};
    }
    if (line.find("MaxReadReq ") != std::string_view::npos) {
        function.mps = decimal_after(line, "MaxPayload ");
        function.mrrs = decimal_after(line, "MaxReadReq ");
    }
    if (line.find("ACSCtl:") != std::string_view::npos) {
        function.redirects_requests = line.find("ReqRedir+") != std::string_view::npos;
        function.redirects_completions = line.find("CmpltRedir+") != std::string_view::npos;
    }
    if (line.find("Region ") != std::string_view::npos && line.find("Memory at") != std::string_view::npos)
        function.largest_region = std::max(function.largest_region, size_of_region(line));
}

bool link_known(const offload::PcieLink& link) {
    constexpr std::array<double, 6> speeds = {2.5, 5, 8, 16, 32, 64};
    return std::ranges::find(speeds, link.gigatransfers) != speeds.end() && std::has_single_bit(link.lanes) &&
           link.lanes <= 16;
}

class Reader {
  public:
    Reader(std::vector<Function> functions, double gbps) : functions_(std::move(functions)), gbps_(gbps) {}

    std::vector<TopologyDevice> below_root_ports() {
        std::vector<TopologyDevice> devices;
        for (size_t i = 0; i < functions_.size(); i++)
            if (functions_[i].port == PortType::root) read_bus(i, 0, devices);
        return devices;
    }

  private:
    void read_bus(size_t bridge, unsigned depth, std::vector<TopologyDevice>& devices) {
        const unsigned bus = functions_[bridge].secondary, domain = functions_[bridge].domain;
        if (bus == 0 || depth > deepest_bridge) return;
        for (size_t i = 0; i < functions_.size(); i++) {
            Function& function = functions_[i];
            if (function.bus != bus || function.domain != domain || function.seen || i == bridge) continue;
            if (function.port == PortType::downstream || function.port == PortType::root) continue;
            function.seen = true;
            if (auto device = read_function(i, depth)) devices.push_back(std::move(*device));
        }
    }

    std::optional<TopologyDevice> read_function(size_t index, unsigned depth) {
        const Function function = functions_[index];
        TopologyDevice device;
        device.name = function.address.substr(0, 64);
        device.link = function.link;
        if (!link_known(function.link)) return {};
        if (function.port == PortType::upstream) {
            device.kind = TopologyDevice::Kind::switch_chip;
            for (size_t i = 0; i < functions_.size(); i++) {
                Function& port = functions_[i];
                if (port.port != PortType::downstream || port.bus != function.secondary ||
                    port.domain != function.domain || port.seen)
                    continue;
                port.seen = true;
                if (port.redirects_requests)
                    device.acs_redirect = port.redirects_completions ? TopologyDevice::Redirect::all
                                                                     : TopologyDevice::Redirect::requests;
                read_bus(i, depth + 1, device.below);
            }
            return device.below.empty() ? std::nullopt : std::optional(device);
        }
        if (function.ethernet && !function.is_virtual) {
            if (function.number != 0) return {};  // one link a device
            device.kind = TopologyDevice::Kind::nic;
            for (const Function& sibling : functions_)
                if (sibling.ethernet && !sibling.is_virtual && sibling.domain == function.domain &&
                    sibling.bus == function.bus && sibling.device == function.device &&
                    device.gbps.size() < 8)
                    device.gbps.push_back(gbps_);
            return device;
        }
        if (function.memory && function.largest_region >= smallest_memory) {
            device.kind = TopologyDevice::Kind::memory;
            device.mib = static_cast<unsigned>(std::min<uint64_t>(function.largest_region >> 20, 256));
            return device;
        }
        return {};
    }

    std::vector<Function> functions_;
    double gbps_;
};

}  // namespace

Result<Topology> import_lspci(std::string_view text, double gbps) {
    std::vector<Function> functions;
    Topology topology;
    topology.name = "imported";
    topology.about = "Made from what lspci printed; line rates are assumed";
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!line.empty() && line.front() != ' ' && line.front() != '\t') {
            if (auto function = read_head(line); function && functions.size() < most_functions)
                functions.push_back(std::move(*function));
        } else if (!functions.empty()) {
            read_detail(functions.back(), line);
            topology.iommu |= line.find("IOMMU group:") != std::string_view::npos;
        }
    }
    if (functions.empty()) return fail("lspci", "no device in it", "what `lspci -vvv` prints");
    unsigned mps = 0, mrrs = 0;
    for (const Function& function : functions) {
        if (!function.ethernet) continue;
        if (function.mps) mps = mps ? std::min(mps, function.mps) : function.mps;
        if (function.mrrs) mrrs = mrrs ? std::min(mrrs, function.mrrs) : function.mrrs;
    }
    const auto usable = [](unsigned bytes) {
        return std::has_single_bit(bytes) && bytes >= 128 && bytes <= 4096;
    };
    if (usable(mps)) topology.mps = mps;
    if (usable(mrrs)) topology.mrrs = mrrs;
    topology.root_ports = Reader(std::move(functions), gbps).below_root_ports();
    if (topology.root_ports.empty())
        return fail("lspci", "no NIC and no memory below a PCIe root port whose link is told", "",
                    "`lspci -vvv` as root: others do not see capabilities");
    return topology;
}

}  // namespace pktpit::model
