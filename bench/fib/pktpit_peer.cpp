// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/pktpit_peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "bench/fib/batch_peer.h"
#include "bench/fib/measured_memory.h"
#include "bench/harness/failure.h"
#include "fib/epochs.h"
#include "fib/image.h"
#include "fib/reader.h"

namespace pktpit::bench::fib {
namespace {

pktpit::fib::Capacity capacity_for(const Table& table) {
    pktpit::fib::Capacity capacity;
    capacity.groups = std::max(capacity.groups, table.groups + 2);
    capacity.adjacencies = std::max(capacity.adjacencies, table.groups + 2);
    return capacity;
}

template <class T>
T take(Result<T>&& result) {
    if (!result) throw harness::Failure("Pktpit: " + result.error().to_string());
    return *result;
}

template <LookupAddress Address>
class PktpitPeer final : public BatchPeer<PktpitPeer<Address>, Address, uint32_t> {
  public:
    explicit PktpitPeer(const Table& table)
        : geometry_(pktpit::fib::plan_geometry(capacity_for(table))),
          memory_(geometry_.image_bytes),
          image_(memory_.bytes(), geometry_, epochs_),
          group_ids_(table.groups + 1) {
        for (uint32_t group = 1; group <= table.groups; group++) {
            pp_fib_adjacency adjacency{};
            adjacency.kind = PP_ADJ_FORWARD;
            const std::pair<pktpit::fib::AdjacencyId, uint16_t> members[] = {
                {take(image_.add_adjacency(adjacency)), uint16_t{1}}};
            group_ids_[group] = take(image_.add_group(members));
            if (table_groups_.size() <= group_ids_[group]) table_groups_.resize(group_ids_[group] + 1);
            table_groups_[group_ids_[group]] = group;
        }
        for (const Route& route : table.routes)
            apply(route);
    }

    /// The variants that this CPU has, and last what users get.
    [[nodiscard]] std::vector<std::string> settings() const override {
        std::vector<std::string> names;
        for (const pktpit::fib::CpuVariant variant : variants_)
            names.emplace_back(pktpit::fib::to_string(variant));
        names.emplace_back("auto");
        return names;
    }
    void choose(size_t setting) override {
        reader_ = pktpit::fib::FibReader(memory_.bytes(), setting < variants_.size()
                                                              ? variants_[setting]
                                                              : pktpit::fib::best_cpu_variant());
    }

    void look_up_batch(const Address* from, uint32_t* to) const {
        reader_.lookup_batch(std::span(from, batch_size), std::span(to, batch_size));
    }
    [[nodiscard]] uint32_t to_group(uint32_t id) const {
        return id < table_groups_.size() ? table_groups_[id] : ~0u;
    }

    void apply(const Update& update) override {
        if (update.group == 0) {
            take(image_.erase(update.prefix));
            return;
        }
        const auto done = image_.set(update.prefix, group_ids_[update.group]);
        if (!done)
            throw harness::Failure(
                fmt::format("Pktpit: {}: {}", update.prefix.to_string(), done.error().to_string()));
    }

    // The reader's thread.
    void reader_begins() override {
        epoch_reader_.emplace(epochs_);
        epoch_reader_->enter();
    }
    void quiescent() override { epoch_reader_->quiescent(); }
    void reader_ends() override { epoch_reader_.reset(); }

    [[nodiscard]] std::vector<typename Peer<Address>::Part> size() const override {
        const auto usage = image_.usage();
        const bool v4 = family_of<Address> == Family::ipv4;
        return {
            {"root", PP_FIB_ROOT_BYTES * 1.0},
            {"nodes", static_cast<double>(v4 ? usage.node_bytes4 : usage.node_bytes6) - PP_FIB_ROOT_BYTES}};
    }

  private:
    static std::vector<pktpit::fib::CpuVariant> present() {
        std::vector<pktpit::fib::CpuVariant> variants;
        for (const auto variant : {pktpit::fib::CpuVariant::scalar, pktpit::fib::CpuVariant::avx2,
                                   pktpit::fib::CpuVariant::avx512})
            if (pktpit::fib::cpu_has(variant)) variants.push_back(variant);
        return variants;
    }

    std::vector<pktpit::fib::CpuVariant> variants_ = present();
    pp_fib_geometry geometry_;
    MeasuredMemory memory_;
    pktpit::fib::Epochs epochs_;
    std::optional<pktpit::fib::EpochReader> epoch_reader_;
    pktpit::fib::FibImage image_;
    pktpit::fib::FibReader reader_{memory_.bytes()};
    std::vector<pktpit::fib::GroupId> group_ids_;  ///< by the table's group
    std::vector<uint32_t> table_groups_;           ///< and back
};

}  // namespace

template <LookupAddress Address>
PeerKind<Address> pktpit_kind() {
    return {"Pktpit", "Pktpit's FIB image in huge pages",
            [](const Table& table) { return std::make_unique<PktpitPeer<Address>>(table); }, true};
}

template PeerKind<Address4> pktpit_kind();
template PeerKind<Address6> pktpit_kind();

}  // namespace pktpit::bench::fib
