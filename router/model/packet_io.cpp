// SPDX-License-Identifier: BSD-3-Clause
#include "router/model/packet_io.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.h"

namespace pktpit::router {

using model::Time;
using offload::EgressDescriptor;
using offload::HeaderSlice;
using offload::Slot;

namespace {

constexpr size_t most_waiting = 64;         // frames between a wire and its port
constexpr size_t events_at_once = 100'000;  // a pause of the worker is not to wait longer
constexpr unsigned header_room = PP_SLICE_BYTES + 16;
constexpr unsigned check_sequence = 4;  // bytes that frames of wires come without
constexpr unsigned preamble = 8, gap = 12;
constexpr uint32_t shortest_frame = 60;
// Virtual time ends after 213 days: of a capture that says that it took longer, frames come in without the
// gaps.
constexpr uint64_t longest_capture = uint64_t{100} * 86400 * 1'000'000'000;  // ns

model::PktpitSettings program_of(const model::Profile& profile) {
    model::PktpitSettings settings = model::pktpit_settings(profile, PP_SLICE_BYTES);
    settings.header_room = header_room;
    return settings;
}

model::Machine machine_of(const model::Topology& topology, const model::Profile& profile) {
    model::BuildOptions options;
    options.memory_bytes =
        planned_bytes(profile, topology.nics(), ring_shape(profile, program_of(profile))) + (1 << 20);
    model::Machine machine = build_machine(topology, profile, options);
    for (model::NicSettings& settings : machine.nic_settings)
        settings.frame_overhead = preamble + gap + check_sequence;
    return machine;
}

}  // namespace

ModelPacketIo::ModelPacketIo(const model::Topology& topology, const model::Profile& profile,
                             model::Transfer transfer, WorkerCounters& counters)
    : counters_(counters),
      machine_(machine_of(topology, profile)),
      nics_(machine_),
      latencies_(PP_MAX_PORTS),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      more_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const size_t count = nics_.all.size();
    for (unsigned i = 0; i < count; i++) {
        model::Nic& nic = *nics_.all[i];
        nic.set_sink(this);
        first_port_.push_back(nic_ports_.size());
        const std::vector<double>& gbps = machine_.nic_settings[i].gbps;
        for (unsigned port = 0; port < gbps.size(); port++)
            nic_ports_.push_back({i, port, gbps[port], nic.name() + "/" + std::to_string(port)});
    }
    ports_ = std::vector<Port>(nic_ports_.size());
    arrivals_.resize(std::bit_ceil(count * profile.count("nic.slots") * 2));

    const model::PktpitSettings program = program_of(profile);
    model::Fabric& fabric = *machine_.fabric;
    model::MemoryPlan plan(fabric.root().memory().settings().base);
    const model::PeerTransferSettings peer =
        transfer_settings(profile, transfer, plan_bounce_buffers(plan, profile, count));
    const std::vector<model::HostRings> rings = plan_rings(plan, count, ring_shape(profile, program));
    for (size_t i = 0; i < count; i++) {
        auto firmware = std::make_unique<model::PktpitFirmware>(*nics_.all[i], peer, nics_.bars,
                                                                std::vector{rings[i]}, program);
        firmwares_.push_back(firmware.get());
        nics_.all[i]->load(std::move(firmware));
    }
    host_ = std::make_unique<SliceHost>(fabric, nics_.pointers, rings,
                                        model::cpu_settings(profile, "cpu.slice_packet_ns"), program);
    host_->start();

    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = more_.get();
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, more_.get(), &event);
}

void ModelPacketIo::add(size_t place, uint16_t id, Wire& wire) {
    Port& port = ports_[place];
    port.id = id;
    port.wire = &wire;
    port.free_at = 0;
    by_id_[id] = static_cast<uint16_t>(place + 1);
    if (wire.descriptor() >= 0) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = wire.descriptor();
        epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wire.descriptor(), &event);
    } else if (playing_) {
        feed(place);
    }
}

void ModelPacketIo::remove(uint16_t id) {
    if (by_id_[id] == 0) return;
    Port& port = ports_[by_id_[id] - 1U];
    if (port.wire->descriptor() >= 0)
        epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, port.wire->descriptor(), nullptr);
    port.wire->flush();
    port.generation++;
    while (!port.waiting.empty())
        port.unused.push_back(port.waiting.pop());
    port.id = 0;
    port.wire = nullptr;
    by_id_[id] = 0;
}

// The first frames of all files decide when time begins.
void ModelPacketIo::play() {
    playing_ = true;
    play_begin_ = machine_.fabric->events().now();
    bool any = false;
    for (Port& port : ports_) {
        if (port.id == 0 || port.wire->descriptor() >= 0 || !take_from_wire(port)) continue;
        const uint64_t at = port.waiting.front()->at.value_or(0);
        first_capture_ = any ? std::min(first_capture_, at) : at;
        any = true;
    }
    for (size_t place = 0; place < ports_.size(); place++) {
        Port& port = ports_[place];
        if (port.id == 0 || port.wire->descriptor() >= 0 || port.waiting.empty()) continue;
        schedule(place, *port.waiting.front());
        feed(place);
    }
}

bool ModelPacketIo::take_from_wire(Port& port) {
    if (port.waiting.size() >= most_waiting) return false;
    if (port.unused.empty()) port.unused.push_back(std::make_unique<Waiting>());
    const Wire::Frame frame = port.wire->receive(port.unused.back()->bytes);
    if (frame.length == 0) return false;
    std::unique_ptr<Waiting> next = std::move(port.unused.back());
    port.unused.pop_back();
    next->length = frame.length;
    next->at = frame.at;
    next->generation = port.generation;
    port.waiting.push(std::move(next));
    return true;
}

/// A device's frames come at the line rate of virtual time, however slowly the model runs: they wait in the
/// kernel while the NIC is busy with others, so that none is lost which real time would not have brought.
bool ModelPacketIo::has_room(size_t place) const {
    const Port& port = ports_[place];
    if (port.wire->descriptor() < 0 || machine_.fabric->events().pending() == 0) return true;
    const model::Nic& nic = *nics_.all[nic_ports_[place].nic];
    return nic.slots_in_use() + port.waiting.size() < machine_.nic_settings[nic_ports_[place].nic].slots / 2;
}

void ModelPacketIo::feed(size_t place) {
    Port& port = ports_[place];
    while (has_room(place) && take_from_wire(port))
        schedule(place, *port.waiting[port.waiting.size() - 1]);
}

/// The event is the last bit of the frame.
void ModelPacketIo::schedule(size_t place, Waiting& frame) {
    Port& port = ports_[place];
    model::EventQueue& events = machine_.fabric->events();
    Time begin = std::max(events.now(), port.free_at);
    if (frame.at && *frame.at > first_capture_)
        begin = std::max(
            begin, play_begin_ + std::min(*frame.at - first_capture_, longest_capture) * model::nanosecond);
    const double byte_time = 8000 / nic_ports_[place].gbps;
    const uint32_t length = std::max(frame.length, shortest_frame) + check_sequence;
    port.free_at = begin + static_cast<Time>((length + preamble + gap) * byte_time);
    events.schedule(begin + static_cast<Time>((length + preamble) * byte_time), *this, frame.generation,
                    place);
}

void ModelPacketIo::on_event(uint32_t generation, uint64_t place) {
    Port& port = ports_[place];
    if (generation != port.generation || port.waiting.empty()) return;
    come_in(place);
    if (port.wire->descriptor() < 0) feed(place);
}

void ModelPacketIo::come_in(size_t place) {
    Port& port = ports_[place];
    std::unique_ptr<Waiting> frame = port.waiting.pop();
    model::Nic& nic = *nics_.all[nic_ports_[place].nic];
    if ((++packets_ & UINT32_MAX) == 0) packets_++;  // 0: a frame of the router's own
    const uint64_t number = packets_ & UINT32_MAX;
    const auto room = nic.begin_receive(nic_ports_[place].port, frame->length, number);
    if (room.empty()) {
        counters_.verdict(port.id, frame->length > model::largest_frame ? PP_DROP_RX_ERROR : PP_DROP_NO_SLOT);
    } else {
        std::memcpy(room.data(), frame->bytes.data(), room.size());
        arrival(number) = {machine_.fabric->events().now(), static_cast<uint16_t>(place)};
        nic.received();
    }
    port.unused.push_back(std::move(frame));
}

size_t ModelPacketIo::receive(std::span<HeaderSlice> slices) {
    for (size_t place = 0; place < ports_.size(); place++)
        if (ports_[place].id != 0 && ports_[place].wire->descriptor() >= 0) feed(place);
    model::EventQueue& events = machine_.fabric->events();
    for (size_t i = 0; i < events_at_once && events.run_next(); i++)
        if (!host_->burst().empty())
            if (const size_t count = hand_over_burst(slices); count != 0) return count;
    for (const Port& port : ports_)
        if (port.id != 0) port.wire->flush();
    return 0;
}

size_t ModelPacketIo::hand_over_burst(std::span<HeaderSlice> slices) {
    const auto burst = host_->burst();
    const uint64_t now = monotonic_nanoseconds();
    size_t count = 0;
    std::array<Slot, SliceHost::most_slices> gone;  // their port was taken away on their way
    size_t gone_count = 0;
    for (size_t i = 0; i < burst.size(); i++) {
        const model::SliceDescriptor& descriptor = burst[i].descriptor;
        const uint16_t id = ports_[place_of(burst[i].nic, descriptor.port)].id;
        Cell& cell = cells_[i];
        cell.port = id;
        cell.length = static_cast<uint16_t>(std::min<uint32_t>(descriptor.length, PP_SLICE_BYTES));
        std::memcpy(&cell.bytes[offload::header_headroom], burst[i].bytes, cell.length);
        const Slot slot{0, static_cast<uint32_t>(i)};
        if (id == 0) {
            gone[gone_count++] = slot;
            continue;
        }
        HeaderSlice& slice = slices[count++];
        slice = {};
        slice.bytes = &cell.bytes[offload::header_headroom];
        slice.length = cell.length;
        slice.port = id;
        slice.frame_length = descriptor.length;
        slice.slot = slot;
        slice.timestamp = now;
    }
    release(std::span(gone).first(gone_count));
    return count;
}

void ModelPacketIo::submit(std::span<const EgressDescriptor> descriptors) {
    const Time now = machine_.fabric->events().now();
    for (const EgressDescriptor& descriptor : descriptors) {
        const uint32_t index = descriptor.slot.index;
        if (by_id_[descriptor.port] == 0) {
            drop(index, descriptor.port, PP_DROP_NO_EGRESS);
            continue;
        }
        const NicPort& egress = nic_ports_[by_id_[descriptor.port] - 1U];
        const Cell& cell = cells_[index];
        latencies_[cell.port].add(
            (now - arrival(host_->burst()[index].descriptor.packet).at) / model::nanosecond, 1);
        model::EgressAnswer answer;
        answer.nic = static_cast<uint16_t>(egress.nic);
        answer.port = static_cast<uint8_t>(egress.port);
        answer.forward = 1;
        answer.header_length = static_cast<uint8_t>(descriptor.header_length);
        answer.replaced = static_cast<uint8_t>(cell.length);
        answer.length = static_cast<uint16_t>(descriptor.header_length + descriptor.payload_length);
        host_->answer(index, answer, {descriptor.header, descriptor.header_length});
    }
}

void ModelPacketIo::drop(size_t cell, uint16_t port, pp_verdict verdict) {
    counters_.verdict(port, verdict);
    const Slot slot{0, static_cast<uint32_t>(cell)};
    note_refused(slot, verdict);
    release({&slot, 1});
}

void ModelPacketIo::release(std::span<const Slot> slots) {
    for (const Slot slot : slots)
        host_->answer(slot.index, {}, {});
}

bool ModelPacketIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    std::memcpy(frame.data(), slice.bytes, slice.length);
    if (frame.size() == slice.length) return true;
    const SliceHost::Slice& from = host_->burst()[slice.slot.index];
    std::memcpy(&frame[slice.length], nics_.all[from.nic]->frame_of(from.descriptor.slot) + slice.length,
                frame.size() - slice.length);
    return true;
}

bool ModelPacketIo::send(uint16_t id, std::span<const uint8_t> frame) {
    if (by_id_[id] == 0 || frame.size() > model::largest_frame) return false;
    const size_t place = by_id_[id] - 1U;
    Port& port = ports_[place];
    if (!port.wire->takes_own_frames()) {
        port.own_frames_kept++;
        return true;
    }
    model::Nic& nic = *nics_.all[nic_ports_[place].nic];
    const uint32_t slot = nic.take_slot();
    if (slot == model::Nic::no_slot) return false;
    std::memcpy(nic.frame_of(slot), frame.data(), frame.size());
    nic.meta(slot) = {static_cast<uint32_t>(frame.size()), nic_ports_[place].port, 0, 0, 0};
    firmwares_[nic_ports_[place].nic]->send_own(slot, static_cast<uint16_t>(nic_ports_[place].port));
    return true;
}

uint64_t ModelPacketIo::capture_time() const {
    return first_capture_ + (machine_.fabric->events().now() - play_begin_) / model::nanosecond;
}

void ModelPacketIo::frame_sent(unsigned nic, unsigned number, std::span<const std::byte> frame,
                               uint64_t packet) {
    Port& port = ports_[place_of(nic, number)];
    if (port.id == 0) return;  // taken away while the frame was on its way
    if (!port.wire->send(frame, capture_time())) {
        port.refused_by_wire++;
        if (packet != 0) counters_.verdict(port.id, PP_DROP_EGRESS_FULL);
        return;
    }
    if (packet == 0) return;
    counters_.sent(port.id, 1, frame.size());
    const Arrival& in = arrival(packet);
    ports_[in.port].wire_to_wire += (machine_.fabric->events().now() - in.at) / model::nanosecond;
    ports_[in.port].measured++;
}

void ModelPacketIo::arm() {
    if (machine_.fabric->events().pending() == 0) return;
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(more_.get(), &one, sizeof one);
}

void ModelPacketIo::disarm() {
    uint64_t rung = 0;
    [[maybe_unused]] const auto taken = ::read(more_.get(), &rung, sizeof rung);
}

std::vector<std::pair<std::string, uint64_t>> ModelPacketIo::statistics(size_t place) {
    const Port& port = ports_[place];
    model::Nic& nic = *nics_.all[nic_ports_[place].nic];
    const model::NicCounters& counters = nic.counters();
    const model::Port& link = machine_.nic_endpoints[nic_ports_[place].nic]->port(0);
    return {{"modelled_nic_frames_in", counters.received},
            {"modelled_nic_frames_out", counters.sent},
            {"modelled_nic_no_slot", counters.no_slot},
            {"modelled_nic_too_long", counters.too_long},
            {"modelled_nic_dma_errors", counters.dma_errors},
            {"modelled_pcie_bytes_out", link.counters().all_wire_bytes()},
            {"modelled_pcie_bytes_in", link.peer()->counters().all_wire_bytes()},
            {"modelled_wire_to_wire_ns", port.measured == 0 ? 0 : port.wire_to_wire / port.measured},
            {"modelled_time_ns", machine_.fabric->events().now() / model::nanosecond},
            {"refused_by_wire", port.refused_by_wire},
            {"own_frames_not_written", port.own_frames_kept}};
}

}  // namespace pktpit::router
