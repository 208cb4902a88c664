// SPDX-License-Identifier: BSD-3-Clause
// Rows 1 and 3: what a frame puts on each link, against the closed form.
#include "offload/model/build.h"
#include "offload/model/check.h"
#include "offload/model/closed_form.h"

namespace pktpit::model {
namespace {

constexpr uint64_t frames = 32;

LinkBytes bytes_of(const LinkCounters& counters) {
    const auto of = [&](TlpType type) { return counters.wire_bytes[static_cast<size_t>(type)]; };
    return {of(TlpType::memory_write), of(TlpType::memory_read), of(TlpType::completion_data)};
}

uint64_t payload_of(const LinkCounters& up, const LinkCounters& down) {
    return up.all_payload_bytes() + down.all_payload_bytes();
}

struct Tally {
    unsigned sizes = 0;
    unsigned exact = 0;
    uint32_t first_wrong = 0;
    uint64_t root_payload = 0;  ///< of a frame of 1,518 bytes
};

Tally tally(Transfer transfer, const Topology& topology, const Profile& profile) {
    Tally result;
    for (uint32_t size = 64; size <= 1518; size++) {
        ExperimentSettings settings;
        settings.transfer = transfer;
        settings.traffic.size = size;
        settings.traffic.flows = {{0, 0, 1, 0, 0.02}};  // each frame alone: no push read serves two
        settings.traffic.most = frames;
        settings.warm_up = 0;
        settings.duration = 32 * 20 * microsecond;
        const auto run = run_experiment(topology, profile, settings);
        const CompletionCut cut = completion_cut(topology, profile);
        const TransferBytes expected =
            closed_form({transfer, size, frames, topology.mps, topology.mrrs,
                         profile.count("nic.credit_batch"), cut.cut, cut.boundary});
        const auto of = [&](const char* from, const char* to) -> const LinkCounters& {
            return run->link(from, to)->counters;
        };
        const uint64_t root_payload = payload_of(of("switch", "root"), of("root", "switch"));
        const bool same = run->traffic.delivered == frames && run->traffic.damaged == 0 &&
                          bytes_of(of("nic0", "switch")) == expected.from_ingress &&
                          bytes_of(of("switch", "nic0")) == expected.to_ingress &&
                          bytes_of(of("nic1", "switch")) == expected.from_egress &&
                          bytes_of(of("switch", "nic1")) == expected.to_egress &&
                          bytes_of(of("switch", "root")) == expected.to_root &&
                          bytes_of(of("root", "switch")) == expected.from_root &&
                          root_payload == expected.root_payload;
        result.sizes++;
        result.exact += same;
        if (!same && result.first_wrong == 0) result.first_wrong = size;
        if (size == 1518) result.root_payload = root_payload;
    }
    return result;
}

}  // namespace

void check_bytes_per_link(CheckRun& run) {
    const Topology topology = own_topology("two-nics");
    const Profile profile = run.profile("kakenhi");
    for (const Transfer transfer : {Transfer::write, Transfer::read, Transfer::bounce}) {
        const std::string name(to_string(transfer));
        run.progress("row 1: " + name + ", 64 to 1,518 bytes");
        const Tally result = tally(transfer, topology, profile);
        const bool all = result.exact == result.sizes;
        run.line({1,
                  "p2pnic " + name + ": bytes of each type on each of 6 links, 64 to 1,518 B",
                  "1,455 sizes exact",
                  std::to_string(result.exact) + " of " + std::to_string(result.sizes) + " exact" +
                      (all ? "" : ", first wrong: " + std::to_string(result.first_wrong)),
                  Origin::exact,
                  met(all),
                  "pcie-bench (SIGCOMM 2018), section 3; PCIe Base 5.0",
                  {},
                  {},
                  result.exact});
        const uint64_t per_frame = result.root_payload / frames;
        const bool bounce = transfer == Transfer::bounce;
        // A bounced frame brings 4 bytes of the read that pushes it.
        const uint64_t wanted = bounce ? 2 * 1518 + 4 : 0;
        run.line({3,
                  "p2pnic " + name + ": payload on the root port for a frame of 1,518 B",
                  bounce ? "2 x 1,518 B (and 4 B of the read that pushes it)" : "0 B",
                  std::to_string(per_frame) + " B",
                  Origin::exact,
                  met(per_frame == wanted),
                  "KAKENHI report, figure 1",
                  {},
                  "the way that the program sends it",
                  static_cast<double>(per_frame)});
    }
}

}  // namespace pktpit::model
