// SPDX-License-Identifier: BSD-3-Clause
// `pktpit detach`: the end of a data path whose daemon is gone. Works on pins and files, without the API.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <ostream>
#include <thread>

#include "base/quoted.h"
#include "router/cli/commands.h"
#include "router/cli/format.h"
#include "router/cli/json_text.h"
#include "router/dataplane/keeper_link.h"
#include "router/dataplane/run_directory.h"
#ifdef PKTPIT_XDP
#include "router/kernel/netlink_route_writer.h"
#include "router/xdp/left_behind.h"
#endif

namespace pktpit::router::cli {

#ifdef PKTPIT_XDP
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds counted_for{500};

/// Packets that were forwarded while we looked.
uint64_t packets_meanwhile(const LeftBehind& left) {
    const uint64_t before = left.forwarded();
    std::this_thread::sleep_for(counted_for);
    return left.forwarded() - before;
}

std::string name_of(const LeftBehind::Port& port) {
    return port.device.empty() ? "device " + std::to_string(port.ifindex) + " of another network namespace"
                               : port.device;
}

/// Those that the instance has put into the kernel's tables.
Result<void> remove_routes(const std::string& instance) {
    auto writer = NetlinkRouteWriter::open(route_metric_of(instance));
    if (!writer) return tl::unexpected(writer.error());
    const auto routes = (*writer)->installed();
    if (!routes) return tl::unexpected(routes.error());
    for (const auto& route : *routes)
        if (auto removed = route.former ? (*writer)->remove_former(route.table, route.prefix)
                                        : (*writer)->remove(route.table, route.prefix);
            !removed)
            return removed;
    return {};
}

// It becomes part of paths.
bool is_instance(const std::string& name) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '-';
    };
    return !name.empty() && name.size() <= 32 && std::ranges::all_of(name, fits);
}

json ports_json(const LeftBehind& left) {
    json ports = json::array();
    for (const auto& port : left.ports()) {
        json switches = json::object();
        for (const auto& [name, value] : port.switches_before)
            switches[name] = value;
        ports.push_back({{"ifindex", port.ifindex},
                         {"device", port.device.empty() ? json() : json(port.device)},
                         {"attach", port.dispatched ? "dispatcher" : "link"},
                         {"rx_packets", port.received},
                         {"switches_before", switches}});
    }
    return ports;
}

void list(const Session& session, const LeftBehind& left, const std::string& instance, uint64_t flowing) {
    std::ostream& out = session.terminal.out;
    out << "instance " << instance << ": " << left.ports().size() << " port"
        << (left.ports().size() == 1 ? "" : "s") << " without a daemon\n";
    for (const auto& port : left.ports())
        out << "  " << name_of(port) << ": port stage, program " << port.program
            << (port.dispatched ? ", in libxdp's dispatcher" : "") << ", " << port.received
            << " packets received\n";
    out << (flowing == 0 ? std::string("no packet")
                         : std::to_string(flowing) + (flowing == 1 ? " packet" : " packets"))
        << " forwarded during half a second\n";
    out.flush();
}

bool confirmed(const Session& session) {
    session.terminal.out << "packets still flow: take it down? [y/N] " << std::flush;
    char answer = 0;
    char first = 0;
    while (::read(session.terminal.input, &answer, 1) == 1 && answer != '\n')
        if (first == 0) first = answer;
    return first == 'y' || first == 'Y';
}

int refused(const Session& session, const std::string& instance, uint64_t flowing) {
    return print_failure(session,
                         {instance,
                          "packets still flow (" + std::to_string(flowing) +
                              " in half a second), and nobody is here to be asked: nothing was taken down",
                          "", "--yes takes it down nevertheless"},
                         exit_wrong);
}

void print_done(const Session& session, const LeftBehind& left, const std::string& instance) {
    std::ostream& out = session.terminal.out;
    for (const auto& port : left.ports()) {
        out << name_of(port) << ": port stage taken down";
        for (const auto& [name, value] : port.switches_before)
            out << ", " << name << " back to " << value;
        out << '\n';
    }
    out << "instance " << instance << ": taken down\n";
}

/// Of the vfio dataplane with a peer device, whose NICs a process keeps (router/dataplane/keeper_link.h).
/// Nothing: there is none.
std::optional<int> detach_kept(const Session& session, const std::string& instance, bool yes) {
    const std::string path = run_path(instance, keeper_suffix);
    if (access(path.c_str(), F_OK) != 0) return std::nullopt;
    if (!yes && (session.json || isatty(session.terminal.input) == 0))
        return print_failure(session,
                             {instance,
                              "a process keeps its NICs, by which packets may flow, and nobody is here to be "
                              "asked: nothing was taken down",
                              "", "--yes takes it down nevertheless"},
                             exit_wrong);
    if (!yes && !confirmed(session)) {
        session.terminal.out << "nothing was taken down\n";
        return exit_wrong;
    }
    const auto devices = end_keeper(path, std::chrono::seconds(3));
    if (!devices) return print_failure(session, devices.error(), geteuid() == 0 ? exit_wrong : exit_unusable);
    ::unlink(path.c_str());
    if (session.json)
        print_json(session, {{"instance", instance}, {"nics", *devices}, {"taken_down", true}});
    else
        session.terminal.out << "instance " << instance << ": " << *devices << " NICs were let go\n";
    return exit_ok;
}

}  // namespace

int detach(const Session& session, const std::string& instance, bool yes) {
    if (!is_instance(instance))
        return print_failure(session,
                             {"--instance", "no name of an instance: " + pktpit::quoted(instance),
                              "1 to 32 letters, digits, _ and -", "ls /sys/fs/bpf/pktpit"},
                             exit_unusable);
    if (const auto kept = detach_kept(session, instance, yes)) return *kept;
    auto left = LeftBehind::find(instance);
    if (!left) return print_failure(session, left.error(), geteuid() == 0 ? exit_wrong : exit_unusable);
    if (!left->is_here() && !left->ports().empty() && !yes)
        return print_failure(session,
                             {instance,
                              "its devices are in another network namespace, where what they were before "
                              "cannot be put back from here",
                              "the network namespace that the daemon ran in",
                              "nsenter --net=/run/netns/NAME pktpit detach …; --yes takes it down from here"},
                             exit_wrong);
    const uint64_t flowing = packets_meanwhile(*left);
    if (!session.json) list(session, *left, instance, flowing);
    if (flowing > 0 && !yes) {
        if (session.json || isatty(session.terminal.input) == 0) return refused(session, instance, flowing);
        if (!confirmed(session)) {
            session.terminal.out << "nothing was taken down\n";
            return exit_wrong;
        }
    }
    const json ports = ports_json(*left);
    auto failures = left->take_down();
    if (left->is_here())
        if (auto removed = remove_routes(instance); !removed) failures.push_back(removed.error());
    for (const auto& failure : failures)
        session.terminal.print_error(failure);
    if (session.json)
        print_json(session, {{"instance", instance},
                             {"ports", ports},
                             {"packets_meanwhile", flowing},
                             {"taken_down", failures.empty()}});
    else if (failures.empty())
        print_done(session, *left, instance);
    return failures.empty() ? exit_ok : exit_wrong;
}
#else
int detach(const Session& session, const std::string&, bool) {
    return print_failure(
        session,
        {"", "this pktpit was built without the xdp dataplane, which alone outlives a daemon", "",
         "build with -DPKTPIT_XDP=ON"},
        exit_unusable);
}
#endif

}  // namespace pktpit::router::cli
