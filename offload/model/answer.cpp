// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/answer.h"

#include "offload/model/check_programs.h"
#include "offload/model/traffic_pattern.h"

namespace pktpit::model {
namespace {

constexpr std::array<uint32_t, 4> sizes = {64, 512, 1518, 0};
constexpr std::array contenders = {l3fwd_contender, Contender{"p2pnic", Program::p2pnic, Transfer::write},
                                   pktpit_contender};

struct Point {
    std::string words;
    Profile profile;
};

/// Corners of what nobody knows of a machine: what its devices keep outstanding, what memory gives to them,
/// whether their writes go into the cache, how they write descriptors.
std::vector<Point> points(const Profile& profile) {
    std::vector<Point> all;
    for (const double tags : {32, 256})
        for (const double gbytes : {20, 100})
            for (const unsigned line : {1U, 4U}) {
                Point point{
                    fixed(tags, 0) + " tags, " + fixed(gbytes, 0) + " GB/s, lines of " + std::to_string(line),
                    with_habit(profile, {line, line})};
                for (const auto& [name, value] : std::initializer_list<std::pair<const char*, double>>{
                         {"dma.tags", tags}, {"memory.read_gbytes", gbytes}, {"memory.write_gbytes", gbytes}})
                    (void)point.profile.set(name, value, "band");
                all.push_back(std::move(point));
            }
    return all;
}

void find_obstacles(const Topology& topology, const std::vector<TopologyDevice>& devices,
                    std::vector<std::string>& path) {
    for (const TopologyDevice& device : devices) {
        if (device.acs_redirect != TopologyDevice::Redirect::off)
            path.push_back("ACS at " + device.name + " sends peers' requests through the root complex" +
                           (topology.ats ? ", but for translated ones" : ""));
        find_obstacles(topology, device.below, path);
    }
}

bool contains(const TopologyDevice& device, const std::string& name) {
    return device.name == name || std::ranges::any_of(device.below, [&](const TopologyDevice& below) {
               return contains(below, name);
           });
}

void collect_names(const std::vector<TopologyDevice>& devices, std::vector<std::string>& names) {
    for (const TopologyDevice& device : devices) {
        if (device.kind == TopologyDevice::Kind::nic) names.push_back(device.name);
        collect_names(device.below, names);
    }
}

ExperimentResult run_point(const Topology& topology, const Profile& profile, const Contender& contender,
                           uint32_t size, double load) {
    ExperimentSettings settings = settings_for(contender, size, 1, load);
    settings.traffic.check_bytes = false;
    settings.traffic.poisson = load < 1;
    settings.duration = 200 * microsecond;
    return run_checked(topology, profile, settings);
}

/// GB/s of both directions.
double through_memory(const ExperimentResult& result) {
    uint64_t bytes = 0;
    for (const LinkResult& link : result.links)
        if (link.from == "root" || link.to == "root") bytes += link.counters.all_payload_bytes();
    return static_cast<double>(bytes) / to_ns(result.measured);
}

AnswerLine measure_line(const Topology& topology, const Profile& profile, const std::vector<Point>& all,
                        uint32_t size) {
    AnswerLine line;
    line.size = size;
    line.l3fwd_limit = what_limits(run_point(topology, profile, contenders[0], size, 1));
    line.pktpit_limit = what_limits(run_point(topology, profile, contenders[2], size, 1));
    bool first = true;
    for (const Point& point : all) {
        std::array<double, 3> rate{}, latency{}, memory{};
        for (size_t i = 0; i < contenders.size(); i++) {
            const ExperimentResult full = run_point(topology, point.profile, contenders[i], size, 1);
            rate[i] = mpps(full);
            memory[i] = through_memory(full);
            latency[i] = run_point(topology, point.profile, contenders[i], size, 0.1).latency_median_ns;
        }
        line.l3fwd.take(rate[0], first);
        line.p2pnic.take(rate[1], first);
        line.pktpit.take(rate[2], first);
        line.p2pnic_ratio.take(rate[1] / rate[0], first);
        line.pktpit_ratio.take(rate[2] / rate[0], first);
        line.p2pnic_latency.take(latency[1] / latency[0], first);
        line.pktpit_latency.take(latency[2] / latency[0], first);
        line.memory_gbytes.take(memory[0] - memory[2], first);
        first = false;
    }
    return line;
}

}  // namespace

Result<Answer> answer_for(const Topology& topology, const Profile& profile, unsigned cores,
                          const std::function<void(const std::string&)>& progress) {
    std::vector<std::string> names;
    collect_names(topology.root_ports, names);
    if (names.size() < 2)
        return fail("topology", std::to_string(names.size()) + " NICs", "two: peers write to each other");
    Answer answer;
    answer.topology = topology.name;
    answer.profile = profile.name();
    answer.from = names[0];
    answer.to = names[1];
    find_obstacles(topology, topology.root_ports, answer.path);
    const auto common = std::ranges::any_of(topology.root_ports, [&](const TopologyDevice& device) {
        return contains(device, names[0]) && contains(device, names[1]);
    });
    if (!common)
        answer.path.push_back(names[0] + " and " + names[1] +
                              " hang below different root ports: all goes through the root complex");
    if (!common && !topology.peer_to_peer)
        answer.path.push_back("the root complex refuses requests from device to device");
    Profile with_cores = profile;
    if (auto good = with_cores.set("cpu.cores", cores, "asked for"); !good)
        return tl::unexpected(good.error());
    const std::vector<Point> all = points(with_cores);
    for (const Point& point : all)
        answer.guesses.push_back(point.words);
    // Settings that cannot be are told once, before runs that throw.
    if (auto probe = run_experiment(topology, with_cores,
                                    [&] {
                                        ExperimentSettings settings = settings_for(contenders[0], 64, 1, 0.1);
                                        settings.duration = microsecond;
                                        return settings;
                                    }());
        !probe)
        return tl::unexpected(probe.error());
    for (const uint32_t size : sizes) {
        if (progress) progress(size ? std::to_string(size) + " B" : "IMIX");
        answer.lines.push_back(measure_line(topology, with_cores, all, size));
    }
    return answer;
}

}  // namespace pktpit::model
