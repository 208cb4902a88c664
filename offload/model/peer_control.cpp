// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/peer_control.h"

#include <algorithm>

#include "offload/peer_ops/codec.h"

namespace pktpit::model {
namespace {

constexpr uint32_t change_event = 0;
constexpr uint32_t woken_event = 1;
constexpr uint32_t compiled_event = 2;
constexpr size_t store_bytes = 64;  // the CPU's stores are combined to cache lines

uint64_t pack(unsigned ingress, unsigned egress) {
    return uint64_t{ingress} << 16 | egress;
}

}  // namespace

PeerControl::PeerControl(Fabric& fabric, std::vector<Nic*> nics, const PeerControlSettings& settings)
    : fabric_(fabric), nics_(std::move(nics)), settings_(settings) {
    fabric.root().on_interrupt([this](uint32_t which) {
        fabric_.events().schedule(fabric_.events().now() + settings_.wake_time, *this, woken_event, which);
    });
}

void PeerControl::start() {
    for (unsigned ingress = 0; ingress < nics_.size(); ingress++)
        for (unsigned egress = 0; egress < nics_.size(); egress++)
            if (ingress != egress) upload(ingress, egress);
    const Time every = settings_.operations.generation_every;
    if (every > 0) fabric_.events().schedule(fabric_.events().now() + every, *this, change_event);
}

void PeerControl::added(unsigned nic) {
    for (unsigned other = 0; other < nics_.size(); other++) {
        if (other == nic) continue;
        upload(nic, other);
        upload(other, nic);
    }
}

void PeerControl::on_event(uint32_t what, uint64_t argument) {
    const auto ingress = static_cast<unsigned>(argument >> 16);
    const auto egress = static_cast<unsigned>(argument & 0xffff);
    if (what == change_event) {
        change();
    } else if (what == woken_event) {
        counters_.wakes++;
        counters_.busy += settings_.wake_time;
        compile(ingress, egress);
    } else {
        upload(ingress, egress);
    }
}

/// The NICs learn of it before anything else happens: from then on no batch begins by an old program.
void PeerControl::change() {
    if (stopped_) return;
    generation_++;
    counters_.generations++;
    for (unsigned nic = 0; nic < nics_.size(); nic++)
        mmio(nic, nics_[nic]->layout().registers + generation_register,
             std::as_bytes(std::span(&generation_, 1)));
    if (settings_.operations.mode == OperationsMode::performance)
        for (unsigned ingress = 0; ingress < nics_.size(); ingress++)
            for (unsigned egress = 0; egress < nics_.size(); egress++)
                if (ingress != egress) compile(ingress, egress);
    fabric_.events().schedule(fabric_.events().now() + settings_.operations.generation_every, *this,
                              change_event);
}

void PeerControl::compile(unsigned ingress, unsigned egress) {
    free_at_ = std::max(free_at_, fabric_.events().now()) + settings_.compile_time;
    counters_.busy += settings_.compile_time;
    fabric_.events().schedule(free_at_, *this, compiled_event, pack(ingress, egress));
}

void PeerControl::upload(unsigned ingress, unsigned egress) {
    counters_.programs++;
    const NicLayout& layout = nics_[ingress]->layout();
    const auto ring = peer_ring(layout, nics_[egress]->bar(), nics_[ingress]->bar(), ingress, egress);
    const auto bytes = offload::encode(offload::compile_egress(ring, static_cast<uint16_t>(egress),
                                                               generation_, settings_.operations.compile));
    for (size_t done = 0; done < bytes.size(); done += store_bytes)
        mmio(ingress, layout.program(egress) + done,
             std::span(bytes).subspan(done, std::min(store_bytes, bytes.size() - done)));
    const uint64_t written = uint64_t{egress} << 32 | bytes.size();
    mmio(ingress, layout.registers + program_register, std::as_bytes(std::span(&written, 1)));
}

void PeerControl::mmio(unsigned nic, uint64_t offset, std::span<const std::byte> bytes) {
    fabric_.root().mmio_write(nics_[nic]->bar() + offset, bytes.data(), static_cast<uint32_t>(bytes.size()));
}

}  // namespace pktpit::model
