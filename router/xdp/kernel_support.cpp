// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/kernel_support.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "router/xdp/kernel_probes.h"

namespace pktpit::router {
namespace {

constexpr auto need = PartKind::need;
constexpr auto fallback = PartKind::fallback;
constexpr std::string_view newer = "a newer kernel";

constexpr std::array parts = {
    KernelPart{.name = "bpf",
               .kind = need,
               .what = "BPF programs and maps (CONFIG_BPF_SYSCALL)",
               .since = "",
               .instead = "",
               .remedy = "a kernel with CONFIG_BPF_SYSCALL",
               .probe = probes::bpf},
    KernelPart{.name = "capabilities",
               .kind = need,
               .what = "the rights CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW and CAP_PERFMON",
               .since = "5.8",
               .instead = "",
               .remedy = "run as root, or with these capabilities",
               .probe = probes::capabilities},
    KernelPart{
        .name = "bpffs",
        .kind = need,
        .what = "a BPF file system at /sys/fs/bpf",
        .since = "",
        .instead = "",
        .remedy = "mount -t bpf bpf /sys/fs/bpf; nsenter --net=… instead of ip netns exec, which hides it",
        .probe = probes::bpf_file_system},
    KernelPart{.name = "xdp_frags",
               .kind = need,
               .what = "XDP programs for frames in several buffers",
               .since = "5.18",
               .instead = "",
               .remedy = newer,
               .probe = probes::xdp_frags},
    KernelPart{.name = "xdp_load_bytes",
               .kind = need,
               .what = "bpf_xdp_load_bytes()",
               .since = "5.18",
               .instead = "",
               .remedy = newer,
               .probe = probes::xdp_load_bytes},
    KernelPart{.name = "ring_buffers",
               .kind = need,
               .what = "BPF ring buffers",
               .since = "5.8",
               .instead = "",
               .remedy = newer,
               .probe = probes::ring_buffers},
    KernelPart{.name = "mmapable_maps",
               .kind = need,
               .what = "BPF arrays that processes can map",
               .since = "5.5",
               .instead = "",
               .remedy = newer,
               .probe = probes::mmapable_maps},
    KernelPart{.name = "bounded_loops",
               .kind = need,
               .what = "loops in BPF programs",
               .since = "5.3",
               .instead = "",
               .remedy = newer,
               .probe = probes::bounded_loops},
    KernelPart{.name = "devmap_programs",
               .kind = need,
               .what = "programs at the egress of a redirect",
               .since = "5.8",
               .instead = "",
               .remedy = newer,
               .probe = probes::devmap_programs},
    KernelPart{.name = "af_xdp",
               .kind = need,
               .what = "AF_XDP sockets (CONFIG_XDP_SOCKETS)",
               .since = "4.18",
               .instead = "",
               .remedy = "a kernel with CONFIG_XDP_SOCKETS",
               .probe = probes::af_xdp},

    KernelPart{.name = "jit",
               .kind = fallback,
               .what = "BPF compiler in use (CONFIG_BPF_JIT)",
               .since = "",
               .instead = "port stages are interpreted, several times slower",
               .remedy = "sysctl net.core.bpf_jit_enable=1",
               .probe = probes::jit,
               .warns = true},
    KernelPart{.name = "jit_unhardened",
               .kind = fallback,
               .what = "BPF compiler that leaves constants as they are",
               .since = "",
               .instead = "port stages take more instructions for each packet",
               .remedy = "sysctl net.core.bpf_jit_harden=1, which blinds those of users without rights",
               .probe = probes::jit_unhardened,
               .warns = true},
    KernelPart{
        .name = "redirect_targets",
        .kind = fallback,
        .what = "information on which devices take redirected frames",
        .since = "6.3",
        .instead =
            "only a device in generic mode is known to take none; what is forwarded to another that takes "
            "none is lost, and counts as forwarded",
        .remedy =
            "on veth: ethtool -K DEVICE gro on at the far end; else NICs whose drivers send frames for XDP",
        .probe = probes::redirect_targets,
        .warns = true},
    KernelPart{.name = "vlan_tags",
               .kind = fallback,
               .what = "way to ask drivers for VLAN tags that they keep apart (bpf_xdp_metadata_rx_vlan_tag)",
               .since = "6.8",
               .instead = "such a frame passes for untagged; ports on veth, and on NICs that cannot be told "
                          "not to strip tags, are warned of",
               .remedy = "on veth: ethtool -K DEVICE txvlan off at the far end",
               .probe = probes::vlan_tags,
               .told_by_ports = true},
    KernelPart{.name = "stack_redirects",
               .kind = fallback,
               .what = "tcx hook",
               .since = "6.6",
               .instead = "the daemon, as long as it runs, sends what no redirect reaches, where the kernel "
                          "says so (redirect_targets)",
               .remedy = "",
               .probe = probes::tcx,
               .told_by_ports = true},
    KernelPart{.name = "transmit_budget",
               .kind = fallback,
               .what = "AF_XDP option for the number of frames that a call sends",
               .since = "6.18",
               .instead = "split and auto ports without zero-copy send 32 frames with a system call, not 256",
               .remedy = "",
               .probe = probes::transmit_budget,
               .demand = Demand::split_ports},
    KernelPart{.name = "locked_memory",
               .kind = fallback,
               .what = "64 MiB of locked memory for each worker",
               .since = "",
               .instead = "split and auto ports are refused",
               .remedy = "LimitMEMLOCK=infinity in the unit, ulimit -l unlimited",
               .probe = probes::locked_memory,
               .demand = Demand::split_ports,
               .warns = true,
               .told_by_ports = true},
    KernelPart{
        .name = "vlan_devices",
        .kind = fallback,
        .what = "VLAN devices (CONFIG_VLAN_8021Q)",
        .since = "",
        .instead =
            "VLAN interfaces forward with static neighbours, and the router itself cannot be reached there",
        .remedy = "a kernel that has the module 8021q",
        .probe = probes::vlan_devices,
        .demand = Demand::vlans,
        .warns = true,
        .told_by_ports = true},
    KernelPart{.name = "vrf_devices",
               .kind = fallback,
               .what = "VRF devices (CONFIG_NET_VRF)",
               .since = "",
               .instead = "VRFs forward, and the router's own packets go by the kernel's main table",
               .remedy = "a kernel that has the module vrf",
               .probe = probes::vrf_devices,
               .demand = Demand::vrfs,
               .warns = true},
};

std::string with_since(const KernelPart& part) {
    std::string text(part.what);
    return part.since.empty() ? text : text + " (since " + std::string(part.since) + ")";
}

}  // namespace

std::string_view to_string(Presence presence) {
    switch (presence) {
        case Presence::there:
            return "yes";
        case Presence::missing:
            return "no";
        case Presence::unknown:
            break;
    }
    return "unknown";
}

std::string_view to_string(Demand demand) {
    switch (demand) {
        case Demand::all:
            return "all";
        case Demand::split_ports:
            return "split_ports";
        case Demand::vlans:
            return "vlans";
        case Demand::vrfs:
            break;
    }
    return "vrfs";
}

std::span<const KernelPart> kernel_parts() {
    return parts;
}

KernelSupport kernel_support(std::string release, const AskKernel& ask) {
    KernelSupport support;
    support.release = std::move(release);
    for (const KernelPart& part : parts)
        support.parts.push_back({&part, ask(part)});
    return support;
}

KernelSupport kernel_support(std::optional<PartKind> only) {
    utsname names{};
    ::uname(&names);
    return kernel_support(names.release, [&](const KernelPart& part) {
        return !only || part.kind == *only ? part.probe() : ProbeResult{};
    });
}

bool asks_for(const config::Config& config, const KernelPart& part) {
    const auto any = [&](const auto& condition) {
        return std::ranges::any_of(config.interfaces,
                                   [&](const auto& entry) { return condition(entry.second); });
    };
    switch (part.demand) {
        case Demand::all:
            return true;
        case Demand::split_ports:
            return any([](const auto& port) {
                return !port.parent && port.forwarding != config::Forwarding::inline_;
            });
        case Demand::vlans:
            return any([](const auto& interface) { return interface.vlan.size() == 1; });
        case Demand::vrfs:
            break;
    }
    return !config.vrfs.empty();
}

std::vector<KernelSupport::Part> fallbacks_of(const KernelSupport& support, const config::Config& config) {
    std::vector<KernelSupport::Part> missing;
    for (const auto& [part, result] : support.parts)
        if (part->kind == PartKind::fallback && result.presence == Presence::missing &&
            asks_for(config, *part))
            missing.push_back({part, result});
    return missing;
}

std::string missing_needs(const KernelSupport& support) {
    std::string lacks;
    std::string rights;
    for (const auto& [part, result] : support.parts) {
        if (part->kind != PartKind::need) continue;
        if (result.presence == Presence::missing) lacks += (lacks.empty() ? "" : ", ") + with_since(*part);
        if (part->name == "capabilities") rights = result.detail;
    }
    if (!lacks.empty()) lacks = "Linux " + support.release + " lacks " + lacks;
    if (lacks.empty() || rights.empty()) return lacks + rights;
    return lacks + "; " + rights;
}

std::string missing_needs() {
    return missing_needs(kernel_support(PartKind::need));
}

std::string missing_line(const KernelSupport& support, const KernelPart& part) {
    return "Linux " + support.release + " has no " + with_since(part) + ": " + std::string(part.instead);
}

KernelVersion kernel_version(std::string_view release) {
    KernelVersion version;
    const char* end = release.data() + release.size();
    const auto [dot, error] = std::from_chars(release.data(), end, version.major);
    if (error != std::errc{} || dot == end || *dot != '.') return {};
    if (std::from_chars(dot + 1, end, version.minor).ec != std::errc{}) return {};
    return version;
}

}  // namespace pktpit::router
