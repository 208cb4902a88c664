// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/topology.h"

#include <nlohmann/json.hpp>

#include <array>
#include <set>

#include "offload/model/profile.h"

namespace pktpit::model {
namespace {

using nlohmann::json;
using Kind = TopologyDevice::Kind;
using Redirect = TopologyDevice::Redirect;

constexpr std::array<double, 6> gigatransfers = {2.5, 5, 8, 16, 32, 64};
constexpr std::array<const char*, 3> kinds = {"switch", "nic", "memory"};
constexpr std::array<const char*, 3> redirects = {"off", "requests", "all"};
constexpr std::array<const char*, 3> data_links = {"share", "dllps", "none"};

template <class Names>
size_t index_in(const Names& names, const std::string& name) {
    for (size_t i = 0; i < names.size(); i++)
        if (name == names[i]) return i;
    return 0;
}

TopologyDevice read_device(const json& value) {
    TopologyDevice device;
    device.name = value.at("name");
    device.kind = static_cast<Kind>(index_in(kinds, value.at("kind")));
    const unsigned generation = value.at("link").at("gen");
    device.link = {gigatransfers.at(generation - 1), value.at("link").at("lanes").get<unsigned>()};
    device.acs_redirect = static_cast<Redirect>(index_in(redirects, value.value("acs_redirect", "off")));
    device.latency_ns = value.value("latency_ns", -1.0);
    if (value.contains("gbps")) device.gbps = value.at("gbps").get<std::vector<double>>();
    device.mib = value.value("mib", 16U);
    device.cxl = value.value("protocol", "pcie") == "cxl";
    if (value.contains("below"))
        for (const json& below : value.at("below"))
            device.below.push_back(read_device(below));
    return device;
}

json to_json(const TopologyDevice& device) {
    const size_t generation = index_in(std::array<std::string, 6>{"2.5", "5", "8", "16", "32", "64"},
                                       device.link.gigatransfers == 2.5
                                           ? "2.5"
                                           : std::to_string(static_cast<int>(device.link.gigatransfers)));
    json value = {{"name", device.name},
                  {"kind", kinds.at(static_cast<size_t>(device.kind))},
                  {"link", {{"gen", generation + 1}, {"lanes", device.link.lanes}}}};
    if (device.kind == Kind::nic) value["gbps"] = device.gbps;
    if (device.kind == Kind::memory) value["mib"] = device.mib;
    if (device.cxl) value["protocol"] = "cxl";
    if (device.kind != Kind::switch_chip) return value;
    if (device.acs_redirect != Redirect::off)
        value["acs_redirect"] = redirects.at(static_cast<size_t>(device.acs_redirect));
    if (device.latency_ns >= 0) value["latency_ns"] = device.latency_ns;
    value["below"] = json::array();
    for (const TopologyDevice& below : device.below)
        value["below"].push_back(to_json(below));
    return value;
}

size_t count_nics(const std::vector<TopologyDevice>& devices) {
    size_t count = 0;
    for (const TopologyDevice& device : devices)
        count += (device.kind == Kind::nic) + count_nics(device.below);
    return count;
}

struct Meaning {
    Errors errors;
    std::set<std::string> names;
    size_t devices = 0;
    size_t nics = 0;

    void check(const TopologyDevice& device, const std::string& where, bool at_root) {
        devices++;
        nics += device.kind == Kind::nic;
        if (!names.insert(device.name).second)
            errors.push_back({where + "/name", "\"" + device.name + "\" is another device's name already",
                              "a name of its own", ""});
        if (device.kind == Kind::nic && device.gbps.empty())
            errors.push_back({where, "a NIC without ports", "\"gbps\": the line rate of each port", ""});
        if (device.kind != Kind::switch_chip && !device.below.empty())
            errors.push_back({where + "/below", "nothing can hang below this", "\"kind\": \"switch\"", ""});
        if (device.cxl && (device.kind != Kind::memory || !at_root))
            errors.push_back({where + "/protocol", "only a memory at a root port speaks CXL here",
                              "\"kind\": \"memory\", in \"root_ports\"", ""});
        if (device.cxl && device.link.gigatransfers < 32)
            errors.push_back({where + "/link/gen", "too slow for CXL", "5 or 6", ""});
        for (size_t i = 0; i < device.below.size(); i++)
            check(device.below[i], where + "/below/" + std::to_string(i), false);
    }
};

}  // namespace

tl::expected<Topology, Errors> Topology::parse(std::string_view json_text) {
    const auto document = read_document(json_text, "schemas/topology.json");
    if (!document) return tl::unexpected(document.error());
    Topology topology;
    topology.name = document->at("name");
    topology.about = document->value("about", "");
    topology.iommu = document->value("iommu", false);
    topology.ats = document->value("ats", false);
    topology.peer_to_peer = document->value("peer_to_peer", true);
    const json pcie = document->value("pcie", json::object());
    topology.mps = pcie.value("mps", 256U);
    topology.mrrs = pcie.value("mrrs", 512U);
    topology.rcb = pcie.value("rcb", 64U);
    topology.ecrc = pcie.value("ecrc", false);
    topology.memory_below_4g = pcie.value("memory_below_4g", false);
    if (pcie.contains("completions"))
        topology.completions = pcie.at("completions") == "boundary"
                                   ? offload::Completions::at_boundary
                                   : offload::Completions::as_large_as_payload;
    topology.data_link = static_cast<DataLink>(index_in(data_links, pcie.value("data_link", "share")));
    for (const json& device : document->at("root_ports"))
        topology.root_ports.push_back(read_device(device));

    Meaning meaning;
    meaning.names.insert("root");
    for (size_t i = 0; i < topology.root_ports.size(); i++)
        meaning.check(topology.root_ports[i], "/root_ports/" + std::to_string(i), true);
    if (topology.ats && !topology.iommu)
        meaning.errors.push_back({"/ats", "nobody translates", "\"iommu\": true", ""});
    if (meaning.devices > most_devices)
        meaning.errors.push_back({"", std::to_string(meaning.devices) + " devices",
                                  "at most " + std::to_string(most_devices), ""});
    if (meaning.nics > 64)
        meaning.errors.push_back({"", std::to_string(meaning.nics) + " NICs", "at most 64", ""});
    if (!meaning.errors.empty()) return tl::unexpected(std::move(meaning.errors));
    return topology;
}

tl::expected<Topology, Errors> Topology::open(const std::string& name_or_path) {
    const auto text = embedded_or_file("topologies", name_or_path);
    if (!text) return tl::unexpected(Errors{text.error()});
    return parse(*text);
}

size_t Topology::nics() const {
    return count_nics(root_ports);
}

std::string Topology::to_json_text() const {
    json document = {{"name", name},
                     {"about", about},
                     {"iommu", iommu},
                     {"ats", ats},
                     {"peer_to_peer", peer_to_peer},
                     {"pcie",
                      {{"mps", mps},
                       {"mrrs", mrrs},
                       {"rcb", rcb},
                       {"ecrc", ecrc},
                       {"data_link", data_links.at(static_cast<size_t>(data_link))},
                       {"memory_below_4g", memory_below_4g}}},
                     {"root_ports", json::array()}};
    if (completions)
        document["pcie"]["completions"] =
            completions == offload::Completions::at_boundary ? "boundary" : "mps";
    for (const TopologyDevice& device : root_ports)
        document["root_ports"].push_back(to_json(device));
    return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace pktpit::model
