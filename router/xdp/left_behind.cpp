// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/left_behind.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include "base/errno_text.h"
#include "bpf/abi.h"
#include "router/dataplane/device_switches.h"
#include "router/dataplane/instance_lock.h"
#include "router/dataplane/run_directory.h"
#include "router/xdp/dispatcher.h"
#include "router/xdp/earlier_maps.h"
#include "router/xdp/maps.h"
#include "router/xdp/port_link.h"

namespace pktpit::router {
namespace {

int silence(libbpf_print_level, const char*, va_list) {
    return 0;
}

std::string device_name(uint32_t ifindex) {
    char name[IF_NAMESIZE] = {};
    return if_indextoname(ifindex, name) ? name : "";
}

/// Ids of the maps that a program uses.
std::vector<uint32_t> maps_of(uint32_t program_id) {
    const Fd program(bpf_prog_get_fd_by_id(program_id));
    std::vector<uint32_t> ids(64);
    bpf_prog_info info{};
    info.nr_map_ids = static_cast<uint32_t>(ids.size());
    info.map_ids = reinterpret_cast<uintptr_t>(ids.data());
    uint32_t length = sizeof info;
    if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &length) != 0) return {};
    ids.resize(std::min<size_t>(info.nr_map_ids, ids.size()));
    return ids;
}

bpf_map_info info_of(const Fd& map) {
    bpf_map_info info{};
    uint32_t length = sizeof info;
    if (!map || bpf_obj_get_info_by_fd(map.get(), &info, &length) != 0) return {};
    return info;
}

}  // namespace

LeftBehind::LeftBehind(std::string instance, Fd lock, PinDirectory pins)
    : instance_(std::move(instance)), lock_(std::move(lock)), pins_(std::move(pins)) {}

Result<LeftBehind> LeftBehind::find(const std::string& instance) {
    libbpf_set_print(silence);
    std::error_code error;
    if (!std::filesystem::exists(PinDirectory::path_of_instance(instance), error) && !error)
        return fail(instance, "nothing of this instance is pinned", "a data path that a daemon has left",
                    "ls /sys/fs/bpf/pktpit");
    auto pins = PinDirectory::find(instance);
    if (!pins) return tl::unexpected(pins.error());
    auto lock = lock_instance(instance);
    if (!lock) return tl::unexpected(lock.error());
    LeftBehind left(instance, std::move(*lock), std::move(*pins));
    left.read_state();
    if (auto read = left.read_ports(); !read) return tl::unexpected(read.error());
    return left;
}

// Without it the switches are not known, which keeps nobody from taking the data path down.
void LeftBehind::read_state() {
    auto state = load_run_state(run_path(instance_, ".state"));
    if (!state || !*state) return;
    const uint64_t current = current_network_namespace();
    here_ = (*state)->network_namespace == 0 || current == 0 || (*state)->network_namespace == current;
    state_ = std::move(**state);
}

Result<void> LeftBehind::read_ports() {
    for (const auto& [pinned_as, link] : pins_.links())
        if (auto added = add_link(pinned_as, link.get()); !added) return added;
    add_dispatched();
    const auto ids = ports_of_image(image_);
    for (Port& port : ports_) {
        if (const auto found = state_.switches.find(port.ifindex); here_ && found != state_.switches.end())
            port.switches_before = found->second;
        if (!ids || !counters_) continue;
        if (const auto id = ids->find(port.ifindex); id != ids->end())
            port.received = read_port_counters(counters_.get(), id->second).rx_packets;
    }
    return {};
}

Result<void> LeftBehind::add_link(uint32_t pinned_as, int link) {
    const auto target = link_target(link);
    if (!target) return tl::unexpected(target.error());
    if (target->ifindex == 0) return {};  // its device is gone
    const bool here = attached_program(target->ifindex).program_id == target->program_id;
    ports_.push_back({pinned_as, here ? device_name(target->ifindex) : "", target->program_id, false, 0, {}});
    find_maps(target->program_id);
    return {};
}

// The programs have their maps whether or not a daemon got to pinning them.
void LeftBehind::find_maps(uint32_t program) {
    if (counters_ && image_) return;
    for (const uint32_t id : maps_of(program)) {
        Fd map(bpf_map_get_fd_by_id(id));
        const bpf_map_info info = info_of(map);
        const std::string_view name = info.name;
        if (name == PP_MAP_COUNTERS && info.value_size == sizeof(pp_port_counters) &&
            info.max_entries == PP_MAX_PORTS)
            counters_ = std::move(map);
        else if (name == PP_MAP_FIB_IMAGE)
            image_ = std::move(map);
    }
}

// A dispatcher is not pinned here: its devices are those of the pinned image, and its programs those that
// count in the pinned map.
void LeftBehind::add_dispatched() {
    const std::string version = "v" + std::to_string(PP_ABI_VERSION) + "_";
    if (!counters_) counters_ = pins_.get(version + PP_MAP_COUNTERS);
    if (!image_) image_ = pins_.get(version + PP_MAP_FIB_IMAGE);
    const auto ids = ports_of_image(image_);
    const uint32_t counters = info_of(counters_).id;
    if (!ids || counters == 0) return;
    for (const auto& [ifindex, id] : *ids) {
        const auto has_it = [ifindex = ifindex](const Port& port) { return port.ifindex == ifindex; };
        if (std::ranges::any_of(ports_, has_it)) continue;
        for (const uint32_t program : dispatched_port_stages(ifindex))
            if (const auto maps = maps_of(program); std::ranges::find(maps, counters) != maps.end())
                ports_.push_back({ifindex, device_name(ifindex), program, true, 0, {}});
    }
}

uint64_t LeftBehind::forwarded() const {
    uint64_t sum = 0;
    if (counters_)
        for (uint16_t port = 1; port < PP_MAX_PORTS; port++)
            sum += read_port_counters(counters_.get(), port).tx_packets;
    return sum;
}

std::vector<Error> LeftBehind::take_down() {
    std::vector<Error> left;
    for (const Port& port : ports_)
        if (port.dispatched) undispatch(port.ifindex, port.program);
    pins_.remove_all();
    if (const auto names = pins_.names(); !names.empty())
        left.push_back(
            {pins_.path(), "cannot be removed whole", "permission to write to bpffs", "run as root"});
    for (const auto& [ifindex, values] : state_.switches) {
        const std::string device = here_ ? device_name(ifindex) : "";
        if (device.empty()) continue;
        if (auto back = put_back_switches(device, values); !back) left.push_back(back.error());
    }
    if (!left.empty()) return left;  // what is to be put back stays known
    for (const char* suffix : {".routes.json", ".sock", ".state", ".lock"})
        ::unlink(run_path(instance_, suffix).c_str());
    return left;
}

}  // namespace pktpit::router
