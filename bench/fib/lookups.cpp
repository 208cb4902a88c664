// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/lookups.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "bench/fib/clock.h"
#include "bench/fib/memory_speed.h"
#include "bench/fib/neighbour.h"
#include "bench/fib/oracle.h"
#include "bench/fib/pktpit_peer.h"
#include "bench/fib/priority.h"
#include "bench/fib/runner.h"
#include "bench/harness/failure.h"

namespace pktpit::bench::fib {
namespace {

constexpr unsigned trials = 5;
/// A setting that takes so many times the fastest one's time in the trials is not measured.
constexpr double contender_within = 1.25;

template <LookupAddress Address>
struct Column {
    std::string name;
    Peer<Address>* peer = nullptr;
    std::optional<size_t> setting;  ///< none: the fastest, workload by workload
};

template <LookupAddress Address>
class Comparison {
  public:
    Comparison(const Options& options, const Table& table)
        : options_(options), table_(table), oracle_(table), buffers_(options.buffers, options.seed) {
        for (const Traffic traffic : options.workloads) {
            const auto destinations =
                make_destinations<Address>(table, traffic, options.addresses, options.seed);
            Workload<Address> workload{traffic, HugeArray<Address>(destinations), {}};
            for (const Address& destination : destinations)
                workload.expected.push_back(oracle_.look_up(to_ip_address(destination)));
            workloads_.push_back(std::move(workload));
        }
    }

    void add(const PeerKind<Address>& kind, bool each_setting) {
        fmt::print(stderr, "{}: loading {}\n", name_of(table_.family), kind.name);
        std::unique_ptr<Peer<Address>> peer;
        try {
            peer = kind.make(table_);
        } catch (const harness::Failure& failure) {
            if (each_setting) throw;
            notes_.push_back(fmt::format("{} is left out: {}", kind.name, failure.what()));
            return;
        }
        check(kind.name, *peer);
        SizeRow row{kind.name, {}};
        for (const auto& part : peer->size())
            row.parts.emplace_back(part.name, part.bytes);
        sizes_.push_back(std::move(row));
        if (!each_setting) columns_.push_back({kind.name, peer.get(), std::nullopt});
        for (size_t i = 0; each_setting && i < peer->settings().size(); i++)
            columns_.push_back({kind.name + " " + peer->settings()[i], peer.get(), i});
        peers_.push_back(std::move(peer));
    }

    std::vector<SizeRow> sizes() const { return sizes_; }

    /// `mebibytes` that another core writes to meanwhile.
    Panel run(size_t mebibytes) {
        std::optional<Neighbour> neighbour;
        if (mebibytes > 0) neighbour.emplace(options_.reader_cpu, mebibytes << 20);
        const auto priority = real_time(options_);
        const auto before = measure_random_loads();
        Panel panel;
        panel.title = mebibytes > 0 ? fmt::format("while another core writes to {} MiB at random", mebibytes)
                                    : "with nothing on the other cores";
        panel.notes = notes_;
        panel.notes.push_back(
            fmt::format("{} MiB of ordinary memory (Pktpit's image, destinations, buffers) lie in huge pages",
                        bytes_in_huge_pages() >> 20));
        std::vector<std::vector<Measurement>> groups;
        panel.unit = "million lookups a second";
        panel.subject = columns_.empty() ? "" : columns_.back().name;
        for (const auto& column : columns_)
            panel.columns.push_back(column.name);
        for (const auto& workload : workloads_) {
            const std::string row = fmt::format("{} {}", name_of(table_.family), name_of(workload.traffic));
            panel.rows.push_back(row);
            groups.emplace_back();
            for (const auto& column : columns_)
                for (const auto& [setting, seconds] : contenders(column, workload)) {
                    const double passes = std::clamp(options_.min_seconds / seconds, 1.0, 1e6);
                    groups.back().push_back(
                        {key(row, column, setting), static_cast<int64_t>(passes),
                         [this, &workload, peer = column.peer, setting = setting](benchmark::State& state) {
                             measure(state, *peer, setting, workload);
                         }});
                }
        }
        auto samples = run_interleaved(groups, options_.rounds);
        for (const std::string& row : panel.rows)
            for (const auto& column : columns_)
                for (size_t setting = 0; setting < column.peer->settings().size(); setting++)
                    offer(panel.cells[{row, column.name}], column, setting,
                          samples[key(row, column, setting)]);
        panel.notes.push_back(
            fmt::format("random loads, millions a second, from memory of: {}; afterwards: {}",
                        to_string(before), to_string(measure_random_loads())));
        return panel;
    }

  private:
    /// Seconds of the thread for all the workload's destinations, once.
    double pass(const Peer<Address>& peer, const Workload<Address>& workload) {
        const auto destinations = workload.destinations.view();
        if (workload.traffic != Traffic::buffers) {
            const double begin = thread_seconds();
            benchmark::DoNotOptimize(peer.look_up(destinations));
            return thread_seconds() - begin;
        }
        double seconds = 0;
        for (size_t i = 0; i + buffers_.size() <= destinations.size(); i += buffers_.size()) {
            buffers_.fill(destinations.subspan(i, buffers_.size()));
            const double begin = thread_seconds();
            peer.forward(buffers_);
            seconds += thread_seconds() - begin;
        }
        return seconds;
    }

    [[nodiscard]] size_t lookups_a_pass(const Workload<Address>& workload) const {
        const size_t all = workload.expected.size();
        return workload.traffic == Traffic::buffers ? all / buffers_.size() * buffers_.size() : all;
    }

    void measure(benchmark::State& state, Peer<Address>& peer, size_t setting,
                 const Workload<Address>& workload) {
        peer.choose(setting);
        pass(peer, workload);  // the measurement before was another peer's
        for (auto _ : state)
            state.SetIterationTime(pass(peer, workload));
        state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(lookups_a_pass(workload)));
    }

    static std::string key(const std::string& row, const Column<Address>& column, size_t setting) {
        return fmt::format("{}/{}/{}", row, column.name, column.peer->settings()[setting]);
    }

    /// The peer's settings that may be its best on this workload, with the seconds that a pass takes.
    std::vector<std::pair<size_t, double>> contenders(const Column<Address>& column,
                                                      const Workload<Address>& workload) {
        std::vector<std::pair<size_t, double>> all;
        for (size_t i = 0; i < column.peer->settings().size(); i++)
            if (!column.setting || *column.setting == i)
                all.emplace_back(i, std::numeric_limits<double>::infinity());
        double best = std::numeric_limits<double>::infinity();
        for (unsigned trial = 0; trial < trials; trial++)
            for (auto& [setting, seconds] : all) {
                column.peer->choose(setting);
                seconds = std::min(seconds, pass(*column.peer, workload));
                best = std::min(best, seconds);
            }
        std::erase_if(all, [&](const auto& one) { return one.second > best * contender_within; });
        return all;
    }

    /// Of a peer's settings the one with the best median stands for it.
    static void offer(Cell& cell, const Column<Address>& column, size_t setting,
                      const std::vector<Sample>& samples) {
        if (samples.empty()) return;
        Cell one;
        if (!column.setting) one.setting = column.peer->settings()[setting];
        for (const Sample& sample : samples)
            one.samples.push_back(sample.at("items_per_second") * 1e-6);
        if (cell.samples.empty() || one.median() > cell.median()) cell = std::move(one);
    }

    /// A benchmark over wrong answers is worth nothing.
    void check(const std::string& name, Peer<Address>& peer) {
        const auto settings = peer.settings();
        for (size_t setting = 0; setting < settings.size(); setting++) {
            peer.choose(setting);
            for (const auto& workload : workloads_) {
                const auto destinations = workload.destinations.view();
                std::vector<uint32_t> answers(destinations.size());
                peer.answer(destinations, answers);
                compare(name + " " + settings[setting], workload, answers);
                if (workload.traffic != Traffic::buffers) continue;
                answers = workload.expected;
                buffers_.fill(destinations.first(buffers_.size()));
                peer.forward(buffers_);
                for (size_t i = 0; i < buffers_.size(); i++)
                    answers[i] = peer.group_of(buffers_.result(i));
                compare(name + " " + settings[setting] + ", from buffers", workload, answers);
            }
        }
    }

    void compare(const std::string& name, const Workload<Address>& workload,
                 const std::vector<uint32_t>& answers) const {
        for (size_t i = 0; i < answers.size(); i++)
            if (answers[i] != workload.expected[i])
                throw harness::Failure(
                    fmt::format("{} answers {} for {} ({}), the oracle {}: nothing is measured", name,
                                answers[i], to_ip_address(workload.destinations.view()[i]).to_string(),
                                name_of(workload.traffic), workload.expected[i]));
    }

    const Options& options_;
    const Table& table_;
    Oracle oracle_;
    PacketBuffers<Address> buffers_;
    std::vector<Workload<Address>> workloads_;
    std::vector<std::unique_ptr<Peer<Address>>> peers_;
    std::vector<Column<Address>> columns_;
    std::vector<SizeRow> sizes_;
    std::vector<std::string> notes_;
};

}  // namespace

double SizeRow::total() const {
    double sum = 0;
    for (const auto& part : parts)
        sum += part.second;
    return sum;
}

template <LookupAddress Address>
LookupResult compare_lookups(const Options& options, const Table& table,
                             const std::vector<PeerKind<Address>>& peers) {
    Comparison<Address> comparison(options, table);
    for (const auto& kind : peers)
        if (options.wants_peer(kind.name)) comparison.add(kind, false);
    comparison.add(pktpit_kind<Address>(), true);
    LookupResult result;
    for (const size_t mebibytes : options.neighbours)
        result.panels.push_back(comparison.run(mebibytes));
    result.sizes = comparison.sizes();
    return result;
}

template LookupResult compare_lookups(const Options&, const Table&, const std::vector<PeerKind<Address4>>&);
template LookupResult compare_lookups(const Options&, const Table&, const std::vector<PeerKind<Address6>>&);

}  // namespace pktpit::bench::fib
