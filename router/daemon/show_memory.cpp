// SPDX-License-Identifier: BSD-3-Clause
// GET /v1/memory: where the daemon's memory is.
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <fstream>

#include "router/daemon/daemon.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

/// Pages resident, and those of them that are mapped files, device memory or shared: /proc/self/statm.
struct Resident {
    uint64_t all = 0;
    uint64_t shared = 0;
};
std::optional<Resident> resident() {
    std::ifstream statm("/proc/self/statm");
    uint64_t size = 0;
    Resident pages;
    if (!(statm >> size >> pages.all >> pages.shared)) return std::nullopt;
    const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return Resident{pages.all * page, pages.shared * page};
}

/// Of each part of the FIB image, how much is in use and how much there is.
json fib_use(const fib::FibImage& image) {
    const auto usage = image.usage();
    const auto& room = image.geometry();
    json parts = json::array();
    const auto add = [&](const char* part, uint64_t used, uint64_t capacity, const char* unit = "entries") {
        parts.push_back({{"part", part}, {"used", used}, {"capacity", capacity}, {"unit", unit}});
    };
    add("table_memory", usage.node_bytes_taken, usage.node_bytes_capacity, "bytes");
    add("next_hop_groups", usage.groups, room.group_count);
    add("buckets", usage.buckets, room.bucket_count);
    add("adjacencies", usage.adjacencies, room.adjacency_count);
    add("vlans", usage.vlans, room.vlan_count);
    add("tables", usage.tables, room.table_count);
    return {{"prefixes", {{"ipv4", usage.prefixes4}, {"ipv6", usage.prefixes6}}},
            {"parts", std::move(parts)}};
}

}  // namespace

json Daemon::memory() {
    json parts = json::array();
    const auto add = [&](const char* part, const json& bytes, const char* how, const char* of) {
        parts.push_back({{"part", part}, {"bytes", bytes}, {"how", how}, {"of", of}});
    };
    const fib::FibImage& image = control_->image();
    const auto usage = image.usage();
    add("fib_image", image.geometry().image_bytes, "computed",
        "the FIB image's room, mapped by the port stages, too; what is not used takes no memory");
    add("fib_nodes", usage.node_bytes4 + usage.node_bytes6, "measured", "nodes of the image that are in use");
    size_t ribs = 0;
    for (const VrfId vrf : control_->routing().vrfs())
        ribs += control_->routing().rib(vrf).memory_bytes();
    add("rib", ribs, "computed", "routes of all sources and VRFs");
    add("kernel_table", control_->kernel_routes_bytes(), "computed", "the kernel's routes, as followed");
    add("fpm_table", control_->fpm_routes().memory_bytes(), "computed", "zebra's routes, as followed");
    add("next_hop_groups", control_->routing().next_hop_sets().memory_bytes(), "computed",
        "sets of next hops, and what they resolve to");
    add("slow_path", slow_path_->waiting_bytes(), "measured", "packets that wait for a neighbour");
    const auto heap = mallinfo2();
    add("heap_used", heap.uordblks + heap.hblkhd, "measured",
        "allocated: the parts above but the image, and the rest");
    add("heap_free", heap.fordblks, "measured", "freed, and kept by the allocator");
    const auto pages = resident();
    add("resident", pages ? json(pages->all) : json(), "measured", "the process's memory (RSS)");
    add("resident_shared", pages ? json(pages->shared) : json(), "measured",
        "of it: programs, libraries, the FIB image and packet memory");
    return {{"parts", std::move(parts)}, {"fib", fib_use(image)}};
}

}  // namespace pktpit::router
