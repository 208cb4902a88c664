// SPDX-License-Identifier: BSD-3-Clause
#include "bench/cpu/pktpit_row.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>

#include "bench/cpu/capture_file.h"
#include "bench/dpdk/program.h"
#include "bench/harness/descriptor.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/topology.h"

namespace pktpit::bench::cpu {
namespace {

using nlohmann::json;

constexpr std::chrono::seconds longest_start{60};

/// GET /v1/counters of the daemon at that socket; a discarded value while nobody answers.
json counters_of(const std::string& path) {
    const harness::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    constexpr std::string_view question = "GET /v1/counters HTTP/1.0\r\n\r\n";
    if (!socket.valid() ||
        connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) < 0)
        return json(json::value_t::discarded);
    std::string answer;
    std::array<char, 16384> buffer;
    for (ssize_t bytes = 0; (bytes = recv(socket.get(), buffer.data(), buffer.size(), 0)) > 0;)
        answer.append(buffer.data(), static_cast<size_t>(bytes));
    const size_t body = answer.find("\r\n\r\n");
    return json::parse(body == std::string::npos ? "" : answer.substr(body + 4), nullptr, false);
}

class PktpitRow : public CpuRow {
  public:
    PktpitRow(std::vector<std::string> arguments, std::string socket)
        : command_(dpdk::command_line(arguments)),
          socket_(std::move(socket)),
          program_(std::move(arguments), nullptr) {
        const auto deadline = std::chrono::steady_clock::now() + longest_start;
        while (counters_of(socket_).is_discarded()) {
            if (program_.ended() || std::chrono::steady_clock::now() > deadline)
                throw harness::Failure("pktpitd did not start on its dpdk dataplane:\n" + program_.output());
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        // All: the one that answers what the counters are must not wait for the core either.
        harness::schedule_threads(program_.pid(), "", std::nullopt, harness::Schedule::router);
        program_.freeze();
    }
    void wake() override { program_.thaw(); }
    void rest() override { program_.freeze(); }
    uint64_t forwarded() override {
        const json counters = counters_of(socket_);
        if (!counters.is_object()) throw harness::Failure("pktpitd does not answer:\n" + program_.output());
        return counters.value(json::json_pointer("/totals/verdicts/forwarded"), uint64_t{0});
    }
    [[nodiscard]] pid_t process() const override { return program_.pid(); }
    [[nodiscard]] std::string command() const override { return command_; }
    [[nodiscard]] std::string patch() const override { return {}; }

  private:
    std::string command_;
    std::string socket_;
    dpdk::DpdkProgram program_;
};

constexpr unsigned members = 4;

/// The members of all groups, one address after the other, each with a MAC address of its own.
struct NextHops {
    json neighbours = json::array();
    json by_id = json::object();  ///< of a routes file
};

NextHops next_hops(const harness::Addressing& net, unsigned groups) {
    NextHops out;
    const unsigned each = groups == 0 ? 1 : members;
    for (unsigned group = 0; group < std::max(groups, 1U); group++) {
        json via = json::array();
        for (unsigned member = 0; member < each; member++) {
            const unsigned number = group * each + member;
            IpAddress address = net.next_hop;
            address.bytes[address.size() - 1] =
                static_cast<uint8_t>(address.bytes[address.size() - 1] + number);
            out.neighbours.push_back({{"address", address.to_string()},
                                      {"mac", fmt::format("02:50:42:ff:{:02x}:02", number)},
                                      {"interface", "out"}});
            via.push_back({{"via", address.to_string()}});
        }
        out.by_id[std::to_string(group + 1)] = std::move(via);
    }
    return out;
}

json configuration(const harness::Workload& workload, const CpuSettings& settings, const std::string& folder,
                   const std::string& instance) {
    const harness::Addressing& net = harness::addressing(workload.prefixes.front().address.family);
    NextHops hops = next_hops(net, settings.groups);
    return {{"instance", instance},
            {"dataplane", "dpdk"},
            {"dpdk", {{"memory", "hugepages"}, {"mbufs", 98304}}},
            {"workers", {{"cpus", {settings.core}}, {"polling", "busy"}}},
            {"interfaces",
             {{"in",
               {{"device", "net_pcap0,rx_pcap=" + folder + "/frames.pcap,infinite_rx=1"},
                {"addresses", {net.ingress.to_string()}}}},
              {"out", {{"device", "net_null0,no-rx=1"}, {"addresses", {net.egress.to_string()}}}}}},
            {"neighbours", std::move(hops.neighbours)},
            {"routes_files",
             json::array({{{"path", folder + "/routes.txt"}, {"next_hops", std::move(hops.by_id)}}})}};
}

}  // namespace

std::unique_ptr<CpuRow> start_pktpit(const harness::Workload& workload, const CpuSettings& settings) {
    static unsigned count = 0;
    const std::string instance = fmt::format("cpu{}", count++);
    const std::string folder = "/run/pktpit-cpu-" + instance;
    std::filesystem::create_directories(folder);
    write_capture(folder + "/frames.pcap", cpu_frames(workload), capture_shape(settings));
    std::ofstream routes(folder + "/routes.txt");
    for (size_t i = 0; i < workload.prefixes.size(); i++)
        routes << workload.prefixes[i].to_string() << ' ' << i % std::max(settings.groups, 1U) + 1 << '\n';
    std::ofstream config(folder + "/config.json");
    config << configuration(workload, settings, folder, instance).dump(2) << '\n';
    if (!routes.flush() || !config.flush()) harness::fail_errno("write below " + folder);
    return std::make_unique<PktpitRow>(
        std::vector<std::string>{settings.pktpitd, "--config", folder + "/config.json"},
        "/run/pktpit/" + instance + ".sock");
}

}  // namespace pktpit::bench::cpu
