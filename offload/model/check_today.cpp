// SPDX-License-Identifier: BSD-3-Clause
// Row 6, machines that nobody has measured: bands over what nobody knows of them, not points.
#include <algorithm>

#include "offload/model/check_programs.h"

namespace pktpit::model {
namespace {

constexpr std::array<double, 4> tag_counts = {32, 64, 256, 768};
constexpr std::array<double, 4> memory_gbytes = {20, 50, 100, 200};  ///< reads and writes, each
constexpr std::array<uint32_t, 6> plotted = {64, 128, 256, 512, 1024, 1518};
constexpr std::array<uint32_t, 3> banded = {64, 512, 1518};

/// A guess at a machine: one point of the band.
struct Guess {
    std::string words;
    Profile profile;
    bool of_today = false;  ///< what today's devices and memories have: at least 256 tags and 100 GB/s
};

Guess guess(const Profile& profile, double tags, double gbytes, bool other_rule) {
    Guess made{fixed(tags, 0) + " tags, " + fixed(gbytes, 0) + " GB/s", profile,
               tags >= 256 && gbytes >= 100};
    (void)made.profile.set("dma.tags", tags, "band");
    (void)made.profile.set("memory.read_gbytes", gbytes, "band");
    (void)made.profile.set("memory.write_gbytes", gbytes, "band");
    if (other_rule) {
        const bool at_boundary = profile.count("completion.at_boundary") != 0;
        (void)made.profile.set("completion.at_boundary", at_boundary ? 0 : 1, "band");
        made.words += at_boundary ? ", completions of MPS" : ", completions at every boundary";
    }
    return made;
}

/// A machine whose devices write past the cache, as servers without DDIO do.
Guess without_cache(Guess made) {
    (void)made.profile.set("llc.mib", 0, "band");
    made.words += ", no I/O in the cache";
    return made;
}

/// All tags with all memories; the corners again with the other completion rule, and without DDIO.
std::vector<Guess> guesses(const Profile& profile) {
    std::vector<Guess> all;
    for (const double tags : tag_counts)
        for (const double gbytes : memory_gbytes)
            all.push_back(guess(profile, tags, gbytes, false));
    // What holds back the one that needs no memory: its firmware.
    Guess& fast = all.emplace_back(guess(profile, tag_counts.back(), memory_gbytes.back(), false));
    (void)fast.profile.set("nic.threads", profile.value("nic.threads") * 4, "band");
    fast.words += ", four times the firmware threads";
    for (const double tags : {tag_counts.front(), tag_counts.back()})
        for (const double gbytes : {memory_gbytes.front(), memory_gbytes.back()})
            for (const bool other_rule : {false, true}) {
                const Guess corner = guess(profile, tags, gbytes, other_rule);
                if (other_rule) all.push_back(corner);
                all.push_back(without_cache(corner));
            }
    return all;
}

class Range {
  public:
    double least = 0, most = 0;
    std::string at_least, at_most;
    void take(double value, const std::string& words) {
        if (at_least.empty() || value < least) {
            least = value;
            at_least = words;
        }
        if (at_most.empty() || value > most) {
            most = value;
            at_most = words;
        }
    }
    [[nodiscard]] std::string words(int digits) const {
        if (all_one()) return fixed(most, digits);
        return fixed(least, digits) + " to " + fixed(most, digits);
    }
    [[nodiscard]] std::string where() const {
        return all_one() ? ", whatever they are"
                         : " (least with " + at_least + "; most with " + at_most + ")";
    }

  private:
    [[nodiscard]] bool all_one() const { return most - least < 0.01 * most; }
};

class Machines {
  public:
    Machines(CheckRun& check, std::shared_ptr<const RouteTable> table)
        : check_(check), table_(std::move(table)), where_(spread_over(table_)) {}

    void show(const char* topology_name, const char* profile_name, unsigned cores) {
        const Topology topology = own_topology(topology_name);
        Profile profile = check_.profile(profile_name);
        (void)profile.set("cpu.cores", cores, "row 6: so many cores");
        const std::string name =
            std::string(topology_name) + ", " + std::to_string(cores) + (cores > 1 ? " cores" : " core");
        check_.progress("row 6: " + name);
        const std::string plot = "row6-" + std::string(topology_name);
        check_.report.plots[plot] = {"Pktpit and l3fwd, " + std::string(topology_name) +
                                         ", whole table; least and most of what is not known (simulated)",
                                     "frame, bytes", "million packets/s"};
        plot_nominal(plot, name, topology, profile);
        for (const uint32_t size : banded)
            show_band(plot, name, topology, profile, size);
        for (CheckPlotSeries& series : bands_)
            check_.report.series.push_back(std::move(series));
        bands_.clear();
    }

  private:
    [[nodiscard]] ExperimentResult run(const Topology& topology, const Profile& profile,
                                       const Contender& contender, uint32_t size) const {
        ExperimentSettings settings = routed(table_, where_, contender, size, 1);
        settings.traffic.check_bytes = false;  // rows 1 to 5 look at every byte
        settings.warm_up = 60 * microsecond;
        settings.duration = 100 * microsecond;
        return run_checked(topology, profile, settings);
    }

    void plot_nominal(const std::string& plot, const std::string& name, const Topology& topology,
                      const Profile& profile) {
        for (const Contender& contender : {l3fwd_contender, pktpit_contender}) {
            CheckPlotSeries series{plot, std::string(contender.name) + name.substr(name.find(',')), {}};
            for (const uint32_t size : plotted)
                series.points.emplace_back(size, mpps(run(topology, profile, contender, size)));
            check_.report.series.push_back(std::move(series));
        }
    }

    void show_band(const std::string& plot, const std::string& name, const Topology& topology,
                   const Profile& profile, uint32_t size) {
        const ExperimentResult cpu = run(topology, profile, l3fwd_contender, size);
        const ExperimentResult own = run(topology, profile, pktpit_contender, size);
        const double ratio = own.packets_per_second / cpu.packets_per_second;
        Range of_cpu, of_own, of_ratio, of_today;
        for (const Guess& point : guesses(profile)) {
            const double l3fwd = mpps(run(topology, point.profile, l3fwd_contender, size));
            const double pktpit = mpps(run(topology, point.profile, pktpit_contender, size));
            of_cpu.take(l3fwd, point.words);
            of_own.take(pktpit, point.words);
            of_ratio.take(pktpit / l3fwd, point.words);
            if (point.of_today) of_today.take(pktpit / l3fwd, point.words);
        }
        CheckLine line{
            .row = 6,
            .what = name + ", " + std::to_string(size) + " B, " + std::to_string(table_->prefixes().size()) +
                    " routes: Pktpit against l3fwd, nobody has measured it",
            .got = of_ratio.words(2) + " x" + of_ratio.where() + "; with at least 256 tags and 100 GB/s " +
                   of_today.words(2) + " x; Pktpit " + of_own.words(1) + ", l3fwd " + of_cpu.words(1) +
                   " Mpps. With the profile's estimates " + fixed(ratio, 2) + " x: Pktpit " +
                   fixed(mpps(own), 1) + " Mpps, limit " + what_limits(own) + "; l3fwd " +
                   fixed(mpps(cpu), 1) + ", limit " + what_limits(cpu),
            .origin = Origin::emergent,
            .verdict = Verdict::information,
            .source = "profile " + profile.name() + ": estimates"};
        const Limit limit = limit_of_all({limit_of(cpu, profile, l3fwd_contender.program),
                                          limit_of(own, profile, pktpit_contender.program)});
        line.origin = limit.origin;
        line.follows_from = limit.name;
        line.value = ratio;
        line.band = {of_ratio.least, of_ratio.most};
        check_.line(std::move(line));
        const std::string of = name.substr(name.find(','));
        point(plot, "l3fwd" + of + ", least", size, of_cpu.least);
        point(plot, "l3fwd" + of + ", most", size, of_cpu.most);
        point(plot, "pktpit write" + of + ", least", size, of_own.least);
        point(plot, "pktpit write" + of + ", most", size, of_own.most);
    }

    void point(const std::string& plot, const std::string& series, double x, double y) {
        const auto found = std::ranges::find(bands_, series, &CheckPlotSeries::series);
        CheckPlotSeries& into =
            found == bands_.end() ? bands_.emplace_back(CheckPlotSeries{plot, series, {}}) : *found;
        into.points.emplace_back(x, y);
    }

    CheckRun& check_;
    std::shared_ptr<const RouteTable> table_;
    std::shared_ptr<const Destinations> where_;
    std::vector<CheckPlotSeries> bands_;
};

}  // namespace

void check_today(CheckRun& check, const std::shared_ptr<const RouteTable>& table) {
    Machines machines(check, table);
    for (const auto& [topology, profile] : {std::pair("gen4-100g", "gen4"), {"gen5-400g", "gen5"}})
        for (const unsigned cores : {1U, 8U})
            machines.show(topology, profile, cores);
}

}  // namespace pktpit::model
