// SPDX-License-Identifier: BSD-3-Clause
// bench_allreduce_forwarding: what plain forwarding has of the aggregation service, on the same ports: beside
// a group that nobody has joined, as a ratio to a router without one; and beside two workers of it at half
// the full rate, where no frame is to be lost. Says a line of JSON for each. Started by bench_allreduce.
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/generator.h"
#include "bench/harness/netlink.h"
#include "bench/harness/realtime_limit.h"
#include "bench/harness/run_program.h"
#include "bench/harness/sink.h"
#include "bench/harness/topology.h"
#include "bench/wire/forwarder.h"
#include "bench/wire/lab.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench::allreduce {
namespace {

using harness::Cores;
using std::this_thread::sleep_for;

struct Options {
    std::string pktpitd, worker;
    unsigned rounds = 5;
    unsigned seconds = 5;
};

/// Both routers in turns, so that what disturbs the machine disturbs each of them.
void measure_idle(const Options& options, const harness::Workload& workload) {
    wire::Lab without(wire::make_pktpit_forwarder(options.pktpitd, "inline"), {&workload});
    wire::Lab with(wire::make_pktpit_aggregation_forwarder(options.pktpitd), {&workload});
    const harness::RealTime real_time(harness::Schedule::measuring);
    for (const Cores cores : {Cores::two_core, Cores::one_core}) {
        std::array<std::vector<double>, 2> mpps;
        for (wire::Lab* lab : {&without, &with})
            lab->aim(workload, {});
        for (unsigned round = 0; round < options.rounds; round++)
            for (unsigned turn = 0; turn < 2; turn++) {
                const bool second = (round + turn) % 2 == 1;
                const auto sample = (second ? with : without).measure(cores, {});
                if (!sample.faults.empty()) throw harness::Failure("the sink saw " + sample.faults);
                mpps[second ? 1 : 0].push_back(sample.mpps);
            }
        fmt::print(
            "{{\"kind\": \"idle\", \"cores\": \"{}\", \"without_mpps\": [{:.4f}], \"with_mpps\": "
            "[{:.4f}]}}\n",
            harness::name_of(cores), fmt::join(mpps[0], ", "), fmt::join(mpps[1], ", "));
        std::fflush(stdout);
    }
}

/// Two workers' processes in the source's namespace, that sum 1 MiB over and over; on the router's core,
/// at an ordinary priority. Ended with this.
class Workers {
  public:
    Workers(const Options& options, const harness::Topology& topology) {
        {
            const harness::InNamespace here(topology.source());
            harness::Netlink netlink;
            harness::enable_gro(topology.source_port().device);
            for (const char* address : wire::sum_workers)
                netlink.add_address(topology.source_port().ifindex,
                                    *InterfaceAddress::parse(std::string(address) + "/24"));
        }
        for (unsigned worker = 0; worker < wire::sum_workers.size(); worker++)
            start(options, topology, worker);
    }
    ~Workers() {
        for (const pid_t pid : pids_) {
            ::kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
    }
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    [[nodiscard]] bool alive() const {
        for (const pid_t pid : pids_)
            if (waitpid(pid, nullptr, WNOHANG) != 0) return false;
        return true;
    }

  private:
    void start(const Options& options, const harness::Topology& topology, unsigned worker) {
        const std::string router = harness::addressing(Family::ipv4).ingress.address.to_string();
        std::vector<std::string> words{options.worker,
                                       router + "," + wire::sum_workers[worker],
                                       std::to_string(wire::sum_port),
                                       wire::sum_key,
                                       std::to_string(worker),
                                       "0",
                                       "int32",
                                       "1048576:4000000"};
        std::vector<char*> arguments;
        arguments.reserve(words.size() + 1);
        for (std::string& word : words)
            arguments.push_back(word.data());
        arguments.push_back(nullptr);
        const pid_t pid = fork();
        if (pid < 0) harness::fail_errno("fork");
        if (pid != 0) {
            pids_.push_back(pid);
            return;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        const sched_param normal{};
        sched_setscheduler(0, SCHED_OTHER, &normal);
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(harness::router_core, &cpus);
        sched_setaffinity(0, sizeof cpus, &cpus);
        dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
        if (setns(topology.source().descriptor(), CLONE_NEWNET) == 0)
            execv(arguments.front(), arguments.data());
        _exit(127);
    }

    std::vector<pid_t> pids_;
};

/// Results that have come to the workers.
uint64_t results(const harness::Topology& topology) {
    const harness::InNamespace here(topology.source());
    return harness::device_statistic(topology.source_port().device, "rx_queue_0_xdp_packets");
}

// The generator has one core to itself, where it counts the time. Workers have what the router leaves of its
// own: half of it and more.
void measure_beside(const Options& options, const harness::Workload& workload) {
    constexpr Cores cores = Cores::two_core;
    const harness::Topology topology;
    wire::PktpitDaemon daemon(options.pktpitd, topology, {&workload}, {.aggregation = true});
    daemon.start();
    daemon.settle();
    harness::Generator generator(topology, Family::ipv4, workload.destinations);
    double full = 0;
    {
        const harness::RealTime real_time(harness::Schedule::measuring);
        full = harness::measure(topology, Family::ipv4, generator, cores, {}).mpps;
    }
    const harness::Sink sink(topology, Family::ipv4, harness::Sink::Mode::sequence, generator);
    harness::place_cores(topology, cores);
    const Workers workers(options, topology);
    for (int waited = 0; results(topology) < 1000; waited++) {
        if (waited == 500 || !workers.alive()) throw harness::Failure("the workers do not get to work");
        sleep_for(std::chrono::milliseconds(20));
    }
    const harness::RealTime real_time(harness::Schedule::measuring);
    for (const double share : {0.25, 0.5}) {
        const auto before = sink.counters();
        const uint64_t refused = topology.refused_by_router() + topology.refused_by_sink();
        const uint64_t results_before = results(topology);
        const auto begun = std::chrono::steady_clock::now();
        generator.start_paced(harness::generator_cpu(cores), 64, full * 1e6 * share);
        sleep_for(std::chrono::seconds(options.seconds));
        const uint64_t sent = generator.stop();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
        const uint64_t chunks = (results(topology) - results_before) / wire::sum_workers.size();
        if (!workers.alive()) throw harness::Failure("a worker has ended");
        const auto after = harness::drain(sink, before.frames + sent);
        fmt::print(
            "{{\"kind\": \"beside\", \"cores\": \"{}\", \"share\": {}, \"full_mpps\": {:.4f}, "
            "\"offered_mpps\": {:.4f}, \"sent\": {}, \"arrived\": {}, \"refused\": {}, "
            "\"chunks_per_second\": {:.0f}}}\n",
            harness::name_of(cores), share, full, static_cast<double>(sent) / took.count() / 1e6, sent,
            after.frames - before.frames, topology.refused_by_router() + topology.refused_by_sink() - refused,
            static_cast<double>(chunks) / took.count());
        std::fflush(stdout);
    }
}

int run(const Options& options) {
    harness::make_private_mounts();
    const harness::NoRealtimeLimit no_limit;
    const harness::Workload workload =
        harness::make_workload(Family::ipv4, harness::Table::internet, 1024, {}, harness::Traffic::uniform);
    measure_idle(options, workload);
    measure_beside(options, workload);
    return 0;
}

harness::Parsed<Options> parse(int argc, char** argv) {
    Options options;
    options.pktpitd = harness::built_daemon();
    options.worker = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bench_allreduce_pktpit";
    CLI::App app("Plain forwarding beside the aggregation service, on the same ports.");
    harness::add_daemon(app, options.pktpitd);
    app.add_option("--rounds", options.rounds, "of each router, in turns")->capture_default_str();
    app.add_option("--seconds", options.seconds, "beside the workers")->capture_default_str();
    if (const auto exit_code = harness::parse_arguments(app, argc, argv)) return *exit_code;
    return options;
}

}  // namespace
}  // namespace pktpit::bench::allreduce

int main(int argc, char** argv) {
    using namespace pktpit::bench;
    return harness::run_program("bench_allreduce_forwarding", allreduce::parse, allreduce::run, argc, argv);
}
