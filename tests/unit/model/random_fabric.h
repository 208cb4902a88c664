// SPDX-License-Identifier: BSD-3-Clause
/// Random trees of switches and endpoints, with random links, credits, IOMMU and root complex, for property
/// tests.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "offload/model/fabric.h"

namespace pktpit::model::test {

struct RandomFabric {
    Fabric fabric;
    std::vector<Endpoint*> endpoints;

    static constexpr uint64_t bar_bytes = 1 << 20;

    explicit RandomFabric(uint64_t seed) : random_(seed) {
        RootSettings root;
        root.peer_split = pick({0, 0, 64, 128});
        root.peer_reads = pick({1, 4, 32});
        root.iommu.on = coin();
        root.iommu.entries = pick({4, 16, 64});
        root.iommu.walk = 300 * nanosecond;
        root.memory.bytes = 1 << 20;
        root.completions = cut();
        const size_t ports = 1 + random_() % 3;
        std::vector<std::pair<Node*, size_t>> places;
        RootComplex& made = fabric.add_root("root", ports, root);
        for (size_t i = 0; i < ports; i++)
            places.emplace_back(&made, i);
        for (size_t left = random_() % 4; left > 0; left--) {
            SwitchSettings settings;
            settings.latency = nanosecond * (50 + random_() % 200);
            if (random_() % 3 == 0) settings.redirect_requests = ~uint64_t{0};
            if (settings.redirect_requests && coin()) settings.redirect_completions = ~uint64_t{0};
            const size_t below = 1 + random_() % 4;
            SwitchChip& chip = fabric.add_switch("switch" + std::to_string(fabric.nodes()), below, settings);
            const auto [node, index] = take(places);
            fabric.connect(*node, index, chip, link());
            for (size_t i = 0; i < below; i++)
                places.emplace_back(&chip, i + 1);
        }
        uint64_t bar = coin() ? 0xc0000000 : uint64_t{1} << 38;
        while (!places.empty()) {
            EndpointSettings settings;
            settings.bar = bar;
            settings.bar_bytes = bar_bytes;
            bar += bar_bytes;
            settings.read_latency = nanosecond * (random_() % 800);
            settings.completions = cut();
            settings.requester.tags = pick({1, 8, 32, 256});
            settings.requester.mps = pick({128, 256, 512});
            settings.requester.mrrs = pick({128, 512, 4096});
            settings.requester.write_issue = random_() % 3 ? 0 : 20 * nanosecond;
            Endpoint& endpoint = fabric.add_endpoint("endpoint" + std::to_string(fabric.nodes()), settings);
            const auto [node, index] = take(places);
            fabric.connect(*node, index, endpoint, link());
            endpoints.push_back(&endpoint);
        }
        fabric.finish();
    }

    bool coin() { return random_() % 2 == 0; }
    uint32_t below(uint32_t end) { return static_cast<uint32_t>(random_() % end); }

  private:
    unsigned pick(std::initializer_list<unsigned> values) {
        return *(values.begin() + random_() % values.size());
    }
    std::pair<Node*, size_t> take(std::vector<std::pair<Node*, size_t>>& places) {
        const size_t i = random_() % places.size();
        const auto place = places[i];
        places.erase(places.begin() + static_cast<ptrdiff_t>(i));
        return place;
    }
    CompletionCut cut() {
        return {pick({128, 256, 512}), pick({64, 128}),
                coin() ? offload::Completions::at_boundary : offload::Completions::as_large_as_payload};
    }
    LinkSettings link() {
        LinkSettings settings;
        constexpr double speeds[] = {2.5, 5, 8, 16, 32, 64};
        settings.link = {speeds[random_() % 6], pick({1, 4, 8, 16})};
        settings.mps = 512;
        settings.ecrc = coin();
        settings.data_link = static_cast<DataLink>(random_() % 3);
        settings.propagation = random_() % 10000;
        settings.credit_latency = random_() % 300000;
        // Never less than one TLP of the largest size: a receiver must be able to take it (section 2.6.1).
        for (CreditLimit& limit : settings.credits)
            limit = random_() % 4 == 0 ? CreditLimit{} : CreditLimit{1 + below(32), 32 + below(200)};
        return settings;
    }

    std::mt19937_64 random_;
};

}  // namespace pktpit::model::test
