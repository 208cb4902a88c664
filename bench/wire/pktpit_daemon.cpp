// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/pktpit_daemon.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "bench/harness/descriptor.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/freeze.h"
#include "bench/harness/measurement.h"

namespace pktpit::bench::wire {
namespace {

using SteadyClock = std::chrono::steady_clock;
using nlohmann::json;

constexpr std::chrono::seconds longest_start{60};
constexpr std::chrono::seconds longest_stop{10};
constexpr size_t log_bytes_shown = 2000;
constexpr int quiet_looks = 5;  ///< in a row, 100 ms apart, without 10 ms of CPU time between them

void write_routes(const std::string& path, const std::vector<Prefix>& prefixes) {
    std::ofstream file(path);
    for (const Prefix& prefix : prefixes)
        file << prefix.to_string() << " 1\n";
    if (!file.flush()) harness::fail_errno("write " + path);
}

/// Where sd_notify() of the daemon arrives.
harness::Descriptor listen_for_notifications(const std::string& path) {
    unlink(path.c_str());
    harness::Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    if (!socket.valid() || bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        harness::fail_errno("listen at " + path);
    return socket;
}

bool says_ready(int notifications) {
    char text[512];
    const ssize_t bytes = recv(notifications, text, sizeof text, MSG_DONTWAIT);
    return bytes > 0 &&
           std::string_view(text, static_cast<size_t>(bytes)).find("READY=1") != std::string_view::npos;
}

/// What the child needs, made before the fork.
class Child {
  public:
    Child(const std::string& binary, const std::string& folder, int network)
        : binary_(binary),
          config_(folder + "/config.json"),
          log_(folder + "/log"),
          notify_("NOTIFY_SOCKET=" + folder + "/notify"),
          network_(network) {
        for (char** variable = environ; *variable; variable++) {
            const std::string_view text(*variable);
            if (!text.starts_with("NOTIFY_SOCKET=") && !text.starts_with("JOURNAL_STREAM="))
                environment_.push_back(*variable);
        }
        environment_.push_back(notify_.data());
        environment_.push_back(nullptr);
    }

    [[noreturn]] void run() const {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const sched_param normal{};
        sched_setscheduler(0, SCHED_OTHER, &normal);
        const int output = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
        const char* const arguments[] = {binary_.c_str(), "--config", config_.c_str(), nullptr};
        if (setns(network_, CLONE_NEWNET) == 0)
            execve(binary_.c_str(), const_cast<char* const*>(arguments), environment_.data());
        _exit(127);
    }

  private:
    std::string binary_;
    std::string config_;
    std::string log_;
    std::string notify_;
    int network_;
    std::vector<char*> environment_;
};

}  // namespace

PktpitDaemon::PktpitDaemon(std::string binary, const harness::Topology& topology,
                           const std::vector<const harness::Workload*>& workloads, DaemonSettings settings)
    : binary_(std::move(binary)),
      topology_(&topology),
      folder_("/run/bench-" + topology.ingress().device),
      settings_(std::move(settings)) {
    if (access(binary_.c_str(), X_OK) != 0)
        harness::fail_errno("the daemon " + binary_ + " (build it, or see --pktpitd)");
    std::filesystem::create_directories(folder_);
    write_configuration(workloads);
}

PktpitDaemon::~PktpitDaemon() {
    if (pid_ <= 0) return;
    thaw();
    ::kill(pid_, SIGTERM);
    const auto deadline = SteadyClock::now() + longest_stop;
    while (waitpid(pid_, nullptr, WNOHANG) == 0) {
        if (SteadyClock::now() > deadline) ::kill(pid_, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
}

/// On the dpdk dataplane a port has a tap of its name, beside the device.
std::string PktpitDaemon::name_of(const harness::Port& port) const {
    if (settings_.dpdk_driver.empty()) return port.device;
    return &port == &topology_->ingress() ? "in" : "out";
}

void PktpitDaemon::write_configuration(const std::vector<const harness::Workload*>& workloads) const {
    json interfaces = json::object();
    json files = json::array();
    json neighbours = json::array();
    const bool dpdk = !settings_.dpdk_driver.empty();
    for (const harness::Port* port : {&topology_->ingress(), &topology_->egress()}) {
        json& interface = interfaces[name_of(*port)];
        interface["addresses"] = json::array();
        if (!dpdk) {
            interface["forwarding"] = settings_.forwarding;
            continue;
        }
        std::string device = settings_.dpdk_driver + ",iface=" + port->device;
        if (settings_.dpdk_driver == "net_af_xdp")
            device += ",busy_budget=" + std::to_string(settings_.busy_budget);
        interface["device"] = device;
    }
    for (const harness::Workload* workload : workloads) {
        const Family family = workload->prefixes.front().address.family;
        const harness::Addressing& net = harness::addressing(family);
        interfaces[name_of(topology_->ingress())]["addresses"].push_back(net.ingress.to_string());
        interfaces[name_of(topology_->egress())]["addresses"].push_back(net.egress.to_string());
        neighbours.push_back({{"address", net.next_hop.to_string()},
                              {"mac", topology_->sink_port().mac.to_string()},
                              {"interface", name_of(topology_->egress())}});
        const std::string routes = folder_ + (family == Family::ipv4 ? "/routes4.txt" : "/routes6.txt");
        write_routes(routes, workload->prefixes);
        files.push_back({{"path", routes}, {"next_hops", {{"1", net.next_hop.to_string()}}}});
    }
    json config{{"instance", topology_->ingress().device},
                {"interfaces", interfaces},
                {"neighbours", neighbours},
                {"routes_files", files},
                // The NAPI thread goes before the worker as long as it has packets, and on an auto port it
                // may have some of its own for long.
                {"heartbeat", {{"worker_ms", 10000}}},
                {"workers", {{"cpus", {harness::router_core}}, {"polling", settings_.polling}}}};
    if (dpdk) config.update({{"dataplane", "dpdk"}, {"dpdk", {{"memory", "hugepages"}}}});
    if (settings_.aggregation)
        config["aggregation"]["groups"]["bench"] = {
            {"workers", sum_workers}, {"key", sum_key}, {"port", sum_port}, {"timeout_ms", 60000}};
    std::ofstream file(folder_ + "/config.json");
    file << config.dump(2) << '\n';
    if (!file.flush()) harness::fail_errno("write the daemon's configuration");
}

std::chrono::milliseconds PktpitDaemon::start() {
    const harness::Descriptor notifications = listen_for_notifications(folder_ + "/notify");
    const auto begin = SteadyClock::now();
    // The generator's thread may run: between fork and exec nothing may allocate.
    const Child child(binary_, folder_, topology_->router().descriptor());
    pid_ = fork();
    if (pid_ < 0) harness::fail_errno("fork");
    if (pid_ == 0) child.run();
    wait_until_ready(notifications.get());
    return std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - begin);
}

void PktpitDaemon::wait_until_ready(int notifications) {
    const auto deadline = SteadyClock::now() + longest_start;
    while (SteadyClock::now() < deadline) {
        pollfd waiting{notifications, POLLIN, 0};
        // Wakes up in between to see whether the daemon has ended.
        if (poll(&waiting, 1, 20) > 0 && says_ready(notifications)) return;
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = -1;
            const std::string how = WIFSIGNALED(status)
                                        ? "by signal " + std::to_string(WTERMSIG(status))
                                        : "with status " + std::to_string(WEXITSTATUS(status));
            throw harness::Failure("pktpitd ended " + how + " while starting:\n" + log_end());
        }
    }
    throw harness::Failure("pktpitd was not ready after a minute:\n" + log_end());
}

void PktpitDaemon::settle() const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/stat";
    const auto ticks = [&path] {
        std::ifstream file(path);
        std::string text(std::istreambuf_iterator<char>(file), {});
        std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
        std::string skipped;
        for (int i = 0; i < 11; i++)  // proc(5): the state, and on to utime and stime
            fields >> skipped;
        uint64_t user = 0, system = 0;
        fields >> user >> system;
        return user + system;
    };
    const auto deadline = SteadyClock::now() + longest_start;
    uint64_t before = ticks();
    for (int quiet = 0; quiet < quiet_looks && SteadyClock::now() < deadline; quiet++) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        const uint64_t now = ticks();
        if (now > before + 1) quiet = -1;
        before = now;
    }
}

void PktpitDaemon::place_workers() const {
    if (harness::schedule_threads(pid_, "pktpit-w", harness::router_core, harness::Schedule::router) == 0)
        throw harness::Failure("pktpitd has no worker:\n" + log_end());
}

void PktpitDaemon::freeze() const {
    if (pid_ > 0) harness::freeze_process(pid_);
}

void PktpitDaemon::thaw() const {
    if (pid_ > 0) harness::thaw_process(pid_);
}

void PktpitDaemon::kill() {
    ::kill(pid_, SIGKILL);
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        throw harness::Failure("pktpitd had ended before it was killed:\n" + log_end());
}

std::string PktpitDaemon::log_end() const {
    std::ifstream file(folder_ + "/log");
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.size() > log_bytes_shown) text.erase(0, text.size() - log_bytes_shown);
    return text;
}

}  // namespace pktpit::bench::wire
