// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/driver_faults.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "router/xdp/ethtool.h"
#include "router/xdp/port_link.h"

namespace pktpit::router {
namespace {

/// A driver from elsewhere has a version of its own.
bool foreign(const DriverState& state) {
    return !state.version.empty() && state.version != state.release;
}

bool splits(const DriverState& state) {
    return state.splits;
}

/// virtio_net: a queue for each processor beside those that the kernel's stack uses.
bool has_queues_for_xdp(const DriverState& state) {
    return state.native ? state.queues > state.processors
                        : state.queues + state.processors <= state.most_queues;
}

// One entry a fault. `source` is what a person can read up; a comment where more than one was read.
constexpr std::array faults = {
    // In the kernel's i40e_txrx.c i40e_xdp_xmit() refuses a processor whose number is not below the number of
    // queue pairs (-ENXIO), behind the program's back.
    DriverFault{.driver = "i40e",
                .what = "frames that a processor redirects to it are lost if the processor's number is not "
                        "below the device's number of queues",
                .remedy = "as many queues as processors: ethtool -L DEVICE combined N",
                .source = "https://github.com/intel/ethernet-linux-i40e/pull/19",
                .applies = [](const DriverState& state) { return state.queues < state.processors; }},
    DriverFault{
        .driver = "i40e",
        .what = "Intel's own version (2.26.8 was seen) takes no redirected frames on Linux 6.3 and newer",
        .remedy = "the kernel's own driver",
        .source = "https://github.com/intel/ethernet-linux-i40e/pull/7",
        .applies = foreign,
        .first = {6, 3}},
    // Four commits of July and August 2024, among them 99099c6bc75a and 405d9999aa0b.
    DriverFault{
        .driver = "ice",
        .what = "when AF_XDP sockets come or go under load the device may be reset, and the kernel may crash",
        .remedy =
            "Linux 6.11 or newer, or an older one with these fixes; \"forwarding\": \"inline\" does without",
        .source = "https://github.com/intel/ethernet-linux-ice/issues/61",
        .applies = [](const DriverState& state) { return state.splits && !foreign(state); },
        .mended = {6, 11}},
    DriverFault{
        .driver = "ice",
        .what = "Intel's own version (2.2.8 and 2.5.4 were seen) may reset the device, or crash, when AF_XDP "
                "sockets come or go under load",
        .remedy = "the kernel's own driver, of Linux 6.11 or newer; \"forwarding\": \"inline\" does without",
        .source = "https://github.com/intel/ethernet-linux-ice/pull/62",
        .applies = [](const DriverState& state) { return state.splits && foreign(state); }},
    // Also https://github.com/firedancer-io/firedancer/pull/11246, and a panic on Linux 7.0 in
    // https://github.com/intel/ethernet-linux-ice/issues/59. The function it is in came with 560d958c6c68
    // (6.14).
    DriverFault{
        .driver = "ice",
        .what = "with zero-copy, frames for the host itself may overwrite the kernel's memory: whoever sends "
                "them can crash it",
        .remedy = "\"forwarding\": \"inline\"; ask the kernel's maintainers whether yours has been mended",
        .source = "https://lore.kernel.org/netdev/20260512152658.2818805-1-lorenz@monogon.tech/",
        .applies = splits,
        .first = {6, 14}},
    // https://github.com/amzn/amzn-drivers/issues/294 has the same of a kernel's own driver (6.2).
    DriverFault{.driver = "ena",
                .what = "native XDP is refused while more than half of the device's queues are in use",
                .remedy = "ethtool -L DEVICE combined N, half of the maximum that ethtool -l shows",
                .source = "https://github.com/amzn/amzn-drivers/issues/164",
                .applies = [](const DriverState& state) { return 2 * state.queues > state.most_queues; }},
    DriverFault{
        .driver = "ena",
        .what = "Amazon's own version (2.13.1 was seen) may corrupt memory with AF_XDP zero-copy under load",
        .remedy = "\"forwarding\": \"inline\", or a newer version",
        .source = "https://github.com/amzn/amzn-drivers/issues/330",
        .applies = [](const DriverState& state) { return state.splits && foreign(state); }},
    DriverFault{.driver = "hv_netvsc",
                .what = "native XDP is refused while received segments are merged (LRO)",
                .remedy = "ethtool -K DEVICE lro off",
                .source = "https://docs.kernel.org/networking/device_drivers/ethernet/microsoft/netvsc.html",
                .applies = [](const DriverState& state) { return state.merges; }},
    DriverFault{.driver = "ixgbevf",
                .what = "native XDP is refused with a large MTU (9000 was seen)",
                .remedy = "an MTU of 1500",
                .source = "https://github.com/xdp-project/xdp-tools/issues/327",
                .applies = [](const DriverState& state) { return state.mtu > 1500; }},
    // The words of virtnet_xdp_set() in the kernel's virtio_net.c: "XDP_TX and XDP_REDIRECT will operate in a
    // slower locked tx mode".
    DriverFault{.driver = "virtio_net",
                .what =
                    "redirected frames share queues under a lock: the device has not one for each processor "
                    "beside those in use",
                .remedy = "give the virtual machine's device twice as many queues as it has processors",
                .source = "https://github.com/cybozu-go/placemat/issues/154",
                .applies = [](const DriverState& state) { return !has_queues_for_xdp(state); },
                .note = true},
    // Of the kernel's net-sysfs.c and virtnet_xdp_set(): a device that is about to go gives the queues back
    // without their objects in /sys, and these hold it for ever.
    DriverFault{
        .driver = "virtio_net",
        .what =
            "to unplug the device, or to unbind its driver, hangs the kernel while a native program is on "
            "(\"waiting for DEVICE to become free\")",
        .remedy = "take the port out of the configuration first",
        .source = "tests/kernels/test_drivers.py: seen on Linux 6.1.0-56 and 7.3.4",
        .applies = has_queues_for_xdp,
        .note = true},
};

}  // namespace

DriverState driver_state(const std::string& device, bool splits) {
    DriverState state;
    state.splits = splits;
    utsname names{};
    if (::uname(&names) == 0) state.release = names.release;
    state.processors = static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L));
    Ethtool asked(device);
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (!asked.call(&info)) return state;
    state.driver.assign(info.driver, strnlen(info.driver, sizeof info.driver));
    state.version.assign(info.version, strnlen(info.version, sizeof info.version));
    ethtool_channels channels{};
    channels.cmd = ETHTOOL_GCHANNELS;
    if (asked.call(&channels)) {
        state.queues = std::max(channels.tx_count + channels.combined_count, 1U);
        state.most_queues = std::max(channels.max_tx + channels.max_combined, 1U);
    }
    ethtool_value flags{};
    flags.cmd = ETHTOOL_GFLAGS;
    state.merges = asked.call(&flags) && (flags.data & ETH_FLAG_LRO) != 0;
    ifreq request{};
    if (device.size() < sizeof request.ifr_name) std::memcpy(request.ifr_name, device.data(), device.size());
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto running = attached_program(::if_nametoindex(device.c_str()));
    state.native = running.program_id != 0 && running.mode == AttachMode::native;
    if (::ioctl(socket.get(), SIOCGIFMTU, &request) == 0) state.mtu = static_cast<unsigned>(request.ifr_mtu);
    return state;
}

std::vector<const DriverFault*> faults_of(const DriverState& state) {
    const KernelVersion kernel = kernel_version(state.release);
    std::vector<const DriverFault*> found;
    for (const DriverFault& fault : faults) {
        const bool mended = fault.mended != KernelVersion{} && kernel >= fault.mended;
        if (fault.driver == state.driver && kernel >= fault.first && !mended && fault.applies(state))
            found.push_back(&fault);
    }
    return found;
}

std::string fault_text(const DriverFault& fault) {
    std::string text = "its driver " + std::string(fault.driver) + ": " + std::string(fault.what);
    if (fault.mended != KernelVersion{})
        text +=
            ", before Linux " + std::to_string(fault.mended.major) + "." + std::to_string(fault.mended.minor);
    return text + " (" + std::string(fault.source) + ")";
}

}  // namespace pktpit::router
