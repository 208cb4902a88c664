// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/churn.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/fib/clock.h"
#include "bench/fib/oracle.h"
#include "bench/fib/pktpit_peer.h"
#include "bench/fib/priority.h"
#include "bench/fib/runner.h"
#include "bench/harness/failure.h"
#include "bench/harness/recorded_file.h"

namespace pktpit::bench::fib {
namespace {

/// Looks up batch after batch as long as it lives.
template <LookupAddress Address>
class LiveReader {
  public:
    LiveReader(const Options& options, Peer<Address>& peer, std::span<const Address> destinations)
        : peer_(peer), thread_([this, &options, destinations] {
              pin_to(options.reader_cpu);
              const auto priority = real_time(options);
              read(destinations);
          }) {
        while (batches_ == 0)
            std::this_thread::yield();
    }
    ~LiveReader() {
        stopping_ = true;
        thread_.join();
    }
    LiveReader(const LiveReader&) = delete;
    LiveReader& operator=(const LiveReader&) = delete;

    [[nodiscard]] uint64_t lookups() const { return batches_ * batch_size; }

  private:
    void read(std::span<const Address> destinations) {
        peer_.reader_begins();
        for (size_t i = 0; !stopping_; i = (i + batch_size) % destinations.size()) {
            benchmark::DoNotOptimize(peer_.look_up(destinations.subspan(i, batch_size)));
            peer_.quiescent();
            batches_.store(batches_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
        peer_.reader_ends();
    }

    Peer<Address>& peer_;
    alignas(64) std::atomic<uint64_t> batches_{0};
    alignas(64) std::atomic<bool> stopping_{false};
    std::thread thread_;
};

template <LookupAddress Address>
void apply_all(Peer<Address>& peer, const std::vector<Update>& updates) {
    for (const Update& update : updates)
        peer.apply(update);
}

template <LookupAddress Address>
void check(const std::string& when, const Peer<Address>& peer, const Table& table,
           std::span<const Address> destinations) {
    const Oracle oracle(table);
    std::vector<uint32_t> answers(destinations.size());
    peer.answer(destinations, answers);
    for (size_t i = 0; i < destinations.size(); i++) {
        const IpAddress destination = to_ip_address(destinations[i]);
        if (answers[i] != oracle.look_up(destination))
            throw harness::Failure(fmt::format("{} answers {} for {}, the oracle {}: nothing is measured",
                                               when, answers[i], destination.to_string(),
                                               oracle.look_up(destination)));
    }
}

void set_latencies(benchmark::State& state, std::vector<float>& seconds) {
    std::sort(seconds.begin(), seconds.end());
    const auto at = [&](double share) {
        const auto place = static_cast<size_t>(share * static_cast<double>(seconds.size()));
        return seconds[std::min(place, seconds.size() - 1)] * 1e6;
    };
    state.counters["p50"] = at(0.5);
    state.counters["p99"] = at(0.99);
    state.counters["p99.9"] = at(0.999);
    state.counters["max"] = at(1.0);
}

/// One round's: all updates, each timed. Undone afterwards, off the clock.
template <LookupAddress Address>
void measure(benchmark::State& state, const Options& options, Peer<Address>& peer, bool with_reader,
             const UpdateSequence& sequence, std::span<const Address> destinations) {
    peer.before_updates();
    // Linux takes 50 ms of every second from real-time threads: these, and not 50 ms of an update.
    if (!options.smoke) std::this_thread::sleep_for(std::chrono::milliseconds(60));
    std::unique_ptr<LiveReader<Address>> reader;
    if (with_reader) reader = std::make_unique<LiveReader<Address>>(options, peer, destinations);
    std::vector<float> latencies(sequence.updates.size());
    for (auto _ : state) {
        const uint64_t lookups = reader ? reader->lookups() : 0;
        const double begin = wall_seconds();
        double before = begin;
        for (size_t i = 0; i < sequence.updates.size(); i++) {
            peer.apply(sequence.updates[i]);
            const double now = wall_seconds();
            latencies[i] = static_cast<float>(now - before);
            before = now;
        }
        state.SetIterationTime(before - begin);
        if (reader)
            state.counters[reader_figure] =
                static_cast<double>(reader->lookups() - lookups) / (before - begin) * 1e-6;
        apply_all(peer, sequence.undo);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(sequence.updates.size()));
    set_latencies(state, latencies);
}

std::vector<UpdateSequence> make_sequences(const Options& options, const Table& table,
                                           std::vector<std::string>& notes) {
    std::vector<UpdateSequence> sequences{random_updates(table, options.updates, options.seed)};
    const std::string_view trace =
        table.family == Family::ipv4 ? "bgp-updates-ipv4-2016-08.txt.xz" : "bgp-updates-ipv6-2016-08.txt.xz";
    if (const auto file = harness::recorded_file(options.data, trace))
        sequences.push_back(read_updates(table, *file));
    else
        notes.push_back("no update trace is replayed: " + harness::describe_missing(options.data, trace));
    return sequences;
}

}  // namespace

template <LookupAddress Address>
Panel compare_churn(const Options& options, const Table& table, const std::vector<PeerKind<Address>>& peers) {
    Panel panel;
    panel.unit = "thousand updates a second";
    const auto sequences = make_sequences(options, table, panel.notes);
    const auto destinations =
        make_destinations<Address>(table, Traffic::in_prefix, options.addresses, options.seed);

    std::vector<PeerKind<Address>> kinds;
    for (const auto& kind : peers)
        if (kind.takes_updates && options.wants_peer(kind.name)) kinds.push_back(kind);
    kinds.push_back(pktpit_kind<Address>());
    std::vector<std::unique_ptr<Peer<Address>>> instances;
    for (const auto& kind : kinds) {
        fmt::print(stderr, "{}: loading {}\n", name_of(table.family), kind.name);
        instances.push_back(kind.make(table));
        instances.back()->choose(instances.back()->settings().size() - 1);
        panel.columns.push_back(kind.name);
    }
    panel.subject = panel.columns.back();

    std::vector<std::vector<Measurement>> groups;
    for (const UpdateSequence& sequence : sequences) {
        const std::string row = fmt::format("{} {} churn", name_of(table.family), sequence.name);
        panel.rows.push_back(row);
        groups.emplace_back();
        const Table after = updated(table, sequence.updates);
        for (size_t i = 0; i < kinds.size(); i++) {
            Peer<Address>& peer = *instances[i];
            const bool with_reader = i + 1 == kinds.size();
            peer.before_updates();
            apply_all(peer, sequence.updates);
            check<Address>(kinds[i].name + " after the updates", peer, after, destinations);
            apply_all(peer, sequence.undo);
            check<Address>(kinds[i].name + " after undoing the updates", peer, table, destinations);
            panel.cells[{row, kinds[i].name}];
            groups.back().push_back({row + "/" + kinds[i].name, 1, [&, with_reader](benchmark::State& state) {
                                         measure<Address>(state, options, peer, with_reader, sequence,
                                                          destinations);
                                     }});
        }
    }
    const auto priority = real_time(options);
    auto samples = run_interleaved(groups, options.rounds);
    for (auto& [place, cell] : panel.cells) {
        for (const Sample& sample : samples[place.first + "/" + place.second]) {
            cell.samples.push_back(sample.at("items_per_second") * 1e-3);
            for (const auto& [name, value] : sample)
                cell.more[name].push_back(value);
        }
    }
    return panel;
}

template Panel compare_churn(const Options&, const Table&, const std::vector<PeerKind<Address4>>&);
template Panel compare_churn(const Options&, const Table&, const std::vector<PeerKind<Address6>>&);

}  // namespace pktpit::bench::fib
