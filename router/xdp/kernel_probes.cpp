// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/kernel_probes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/errno_text.h"
#include "base/fd.h"
#include "router/xdp/redirect_targets.h"

namespace pktpit::router::probes {
namespace {

// linux/bpf.h of Linux 6.3 and 6.6, and linux/if_xdp.h of 6.18, which Debian 12's headers are older than.
constexpr uint32_t device_bound = 1U << 6;
constexpr auto tcx_ingress = static_cast<bpf_attach_type>(46);
constexpr int max_transmit_budget_option = 9;

constexpr uint32_t loopback = 1;
constexpr rlim_t memory_of_a_worker = 64 << 20;

constexpr std::array unit_capabilities = {
    std::pair{CAP_BPF, "CAP_BPF"}, std::pair{CAP_NET_ADMIN, "CAP_NET_ADMIN"},
    std::pair{CAP_NET_RAW, "CAP_NET_RAW"}, std::pair{CAP_PERFMON, "CAP_PERFMON"}};

ProbeResult there() {
    return {Presence::there};
}

/// `error` is the errno of what has been tried, 0: it went well.
ProbeResult judged(int error) {
    if (error == 0) return there();
    return {error == EPERM || error == EACCES ? Presence::unknown : Presence::missing, errno_text(error)};
}

template <uint8_t to>
bpf_insn move(int32_t value) {
    return {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = to, .src_reg = 0, .off = 0, .imm = value};
}

bpf_insn end() {
    return {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0};
}

/// Nothing but `return XDP_PASS;`
const std::array pass = {move<BPF_REG_0>(XDP_PASS), end()};

/// The program, or none and errno.
template <size_t count>
Fd load(const std::array<bpf_insn, count>& program, uint32_t flags, uint32_t device = 0) {
    LIBBPF_OPTS(bpf_prog_load_opts, options, .prog_flags = flags, .prog_ifindex = device);
    return Fd(
        bpf_prog_load(BPF_PROG_TYPE_XDP, "pktpit_probe", "Dual BSD/GPL", program.data(), count, &options));
}

template <size_t count>
ProbeResult loads(const std::array<bpf_insn, count>& program, uint32_t flags) {
    return judged(load(program, flags) ? 0 : errno);
}

ProbeResult makes(bpf_map_type type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags = 0) {
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = flags);
    return judged(Fd(bpf_map_create(type, "pktpit_probe", key, value, entries, &options)) ? 0 : errno);
}

/// A file of procfs, sysfs or the modules' folder; nothing: it is not there, or may not be read. Some of
/// procfs can be opened and not be read.
std::optional<std::string> read_file(const std::string& path) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return std::nullopt;
    std::string text;
    std::array<char, 1 << 16> some{};
    while (true) {
        const ssize_t got = ::read(file.get(), some.data(), some.size());
        if (got < 0) return std::nullopt;
        if (got == 0) return text;
        text.append(some.data(), static_cast<size_t>(got));
    }
}

std::optional<int> switch_of(const std::string& path) {
    const auto text = read_file(path);
    if (!text || text->empty()) return std::nullopt;
    return std::atoi(text->c_str());
}

/// What the kernel's own type information, without that of its modules, has of these functions. Its strings
/// are looked through, once: to take its types apart takes longer than all other probes together.
struct BuiltIn {
    bool known = false;  ///< there is such information
    bool rx_vlan_tag = false;
    bool vlan_newlink = false;
    bool vrf_newlink = false;
};

BuiltIn read_built_in() {
    const auto all = read_file("/sys/kernel/btf/vmlinux");
    if (!all) return {};
    const auto has = [&](std::string_view name) {
        using namespace std::string_literals;
        const std::string whole = "\0"s.append(name).append(1, '\0');
        return ::memmem(all->data(), all->size(), whole.data(), whole.size()) != nullptr;
    };
    return {.known = true,
            .rx_vlan_tag = has("bpf_xdp_metadata_rx_vlan_tag"),
            .vlan_newlink = has("vlan_newlink"),
            .vrf_newlink = has("vrf_newlink")};
}

const BuiltIn& built_in() {
    static const BuiltIn once = read_built_in();
    return once;
}

bool holds(unsigned capability) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
    return (sets[capability / 32].effective >> capability % 32 & 1) != 0;
}

/// `function` is one that the kernel has when the module is built in.
ProbeResult module_here(const std::string& name, bool BuiltIn::*function) {
    std::error_code error;
    if (std::filesystem::exists("/sys/module/" + name, error)) return there();
    utsname names{};
    ::uname(&names);
    const std::string folder = std::string("/lib/modules/") + names.release;
    const std::string file = "/" + name + ".ko";
    const auto listed = read_file(folder + "/modules.builtin");
    if (listed && listed->find(file) != std::string::npos) return there();
    const auto modules = read_file(folder + "/modules.dep");
    if (modules && modules->find(file) != std::string::npos) {
        if (switch_of("/proc/sys/kernel/modules_disabled") == 1)
            return {Presence::missing, "kernel.modules_disabled keeps its module from being loaded"};
        return {Presence::there, "a module that is loaded when it is asked for"};
    }
    if (built_in().*function) return there();
    const bool no_modules = !std::filesystem::exists("/proc/modules", error);
    if ((built_in().known && no_modules) || (listed && modules))
        return {Presence::missing, "no module " + name};
    return {Presence::unknown, "neither the kernel nor " + folder + " says"};
}

}  // namespace

ProbeResult bpf() {
    return makes(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint32_t), 1);
}

ProbeResult capabilities() {
    std::string lacking;
    for (const auto& [number, name] : unit_capabilities)
        if (!holds(number)) lacking += (lacking.empty() ? "" : ", ") + std::string(name);
    if (lacking.empty()) return there();
    return {Presence::unknown, "this process has not " + lacking};
}

ProbeResult bpf_file_system() {
    struct statfs mounted {};
    if (::statfs("/sys/fs/bpf", &mounted) != 0) return judged(errno);
    if (mounted.f_type == BPF_FS_MAGIC) return there();
    return {Presence::missing, "there is another file system"};
}

ProbeResult xdp_frags() {
    return loads(pass, BPF_F_XDP_HAS_FRAGS);
}

ProbeResult xdp_load_bytes() {
    // libbpf takes a refusal for want of rights for a yes.
    if (const Fd loaded = load(pass, 0); !loaded) return judged(errno);
    const int found = libbpf_probe_bpf_helper(BPF_PROG_TYPE_XDP, BPF_FUNC_xdp_load_bytes, nullptr);
    if (found < 0) return judged(-found);
    return found != 0 ? there() : ProbeResult{Presence::missing};
}

ProbeResult ring_buffers() {
    return makes(BPF_MAP_TYPE_RINGBUF, 0, 0, static_cast<uint32_t>(::getpagesize()));
}

ProbeResult mmapable_maps() {
    return makes(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint32_t), 1, BPF_F_MMAPABLE);
}

ProbeResult bounded_loops() {
    const bpf_insn add{
        .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .src_reg = 0, .off = 0, .imm = 1};
    const bpf_insn again{
        .code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = BPF_REG_1, .src_reg = 0, .off = -2, .imm = 8};
    return loads(std::array{move<BPF_REG_0>(XDP_PASS), move<BPF_REG_1>(0), add, again, end()}, 0);
}

ProbeResult devmap_programs() {
    return makes(BPF_MAP_TYPE_DEVMAP, sizeof(uint32_t), sizeof(bpf_devmap_val), 1);
}

ProbeResult af_xdp() {
    if (Fd(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0))) return there();
    // The family is looked for before the rights.
    if (errno == EPERM) return there();
    return judged(errno);
}

ProbeResult jit() {
    if (const Fd loaded = load(pass, 0)) {
        bpf_prog_info info{};
        uint32_t length = sizeof info;
        if (bpf_obj_get_info_by_fd(loaded.get(), &info, &length) != 0) return judged(errno);
        if (info.jited_prog_len != 0) return there();
        return {Presence::missing, "net.core.bpf_jit_enable is 0, or CONFIG_BPF_JIT is off"};
    }
    const int refused = errno;
    const auto enabled = switch_of("/proc/sys/net/core/bpf_jit_enable");
    if (!enabled) return {Presence::unknown, errno_text(refused)};
    return *enabled != 0 ? there() : ProbeResult{Presence::missing, "net.core.bpf_jit_enable is 0"};
}

ProbeResult jit_unhardened() {
    const auto harden = switch_of("/proc/sys/net/core/bpf_jit_harden");
    if (!harden) return {Presence::unknown, "net.core.bpf_jit_harden cannot be read here"};
    return *harden < 2 ? there() : ProbeResult{Presence::missing, "net.core.bpf_jit_harden is 2"};
}

ProbeResult redirect_targets() {
    return RedirectTargets::open() ? there() : ProbeResult{Presence::missing};
}

// A kernel has the function, takes programs with frags for a device, and lets these redirect by a map ("bpf:
// Allow XDP dev-bound programs to perform XDP_REDIRECT into maps", of 2025, which went into older kernels,
// too): three things, each of a version of its own.
ProbeResult vlan_tags() {
    if (!built_in().known)
        return {Presence::missing, "no type information of the kernel (CONFIG_DEBUG_INFO_BTF)"};
    if (!built_in().rx_vlan_tag) return {Presence::missing};
    const Fd devices(bpf_map_create(BPF_MAP_TYPE_DEVMAP, "pktpit_probe", sizeof(uint32_t),
                                    sizeof(bpf_devmap_val), 1, nullptr));
    if (!devices) return judged(errno);
    const std::array redirect = {
        bpf_insn{.code = BPF_LD | BPF_DW | BPF_IMM,
                 .dst_reg = BPF_REG_1,
                 .src_reg = BPF_PSEUDO_MAP_FD,
                 .off = 0,
                 .imm = devices.get()},
        bpf_insn{},
        move<BPF_REG_2>(0),
        move<BPF_REG_3>(0),
        bpf_insn{
            .code = BPF_JMP | BPF_CALL, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = BPF_FUNC_redirect_map},
        end()};
    const std::unique_ptr<struct if_nameindex, void (*)(struct if_nameindex*)> all(::if_nameindex(),
                                                                                   ::if_freenameindex);
    constexpr int most = 64;
    for (int i = 0; all && i < most && all.get()[i].if_index != 0; i++) {
        if (load(redirect, BPF_F_XDP_HAS_FRAGS | device_bound, all.get()[i].if_index)) return there();
        if (errno != EOPNOTSUPP && errno != ENODEV) return judged(errno);
    }
    return {Presence::unknown, "no device here tells of VLAN tags"};
}

ProbeResult tcx() {
    LIBBPF_OPTS(bpf_prog_query_opts, options);
    const int error = bpf_prog_query_opts(static_cast<int>(loopback), tcx_ingress, &options);
    return judged(error < 0 ? -error : 0);
}

ProbeResult transmit_budget() {
    const Fd socket(::socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!socket) return judged(errno);
    const uint32_t frames = 32;
    // Without a transmit ring no number is right, which is told only where there is the option.
    if (::setsockopt(socket.get(), SOL_XDP, max_transmit_budget_option, &frames, sizeof frames) == 0)
        return there();
    return errno != ENOPROTOOPT ? there() : ProbeResult{Presence::missing};
}

ProbeResult locked_memory() {
    rlimit limit{};
    ::getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur > memory_of_a_worker || holds(CAP_IPC_LOCK) || holds(CAP_SYS_RESOURCE)) return there();
    return {Presence::unknown, "this process may lock " + std::to_string(limit.rlim_cur >> 10) + " KiB"};
}

ProbeResult vlan_devices() {
    return module_here("8021q", &BuiltIn::vlan_newlink);
}

ProbeResult vrf_devices() {
    return module_here("vrf", &BuiltIn::vrf_newlink);
}

}  // namespace pktpit::router::probes
