// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/peer_dataplane.h"

#include <spdlog/spdlog.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "fib/image.h"
#include "offload/nic/e1000e.h"
#include "router/dataplane/run_directory.h"

namespace pktpit::router {
namespace {

constexpr const char* memory_key = "/vfio/payload_memory";
// How long a frame for the host waits at most before the worker looks for it.
constexpr long look_every = 2'000'000;  // ns

std::string mebibytes(uint64_t bytes) {
    constexpr uint64_t mib = 1 << 20;
    return std::to_string((bytes + mib - 1) / mib) + " MiB";
}

Fd periodic_timer(long nanoseconds) {
    Fd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    itimerspec period{};
    period.it_interval.tv_nsec = period.it_value.tv_nsec = nanoseconds;
    timerfd_settime(timer.get(), 0, &period, nullptr);
    return timer;
}

}  // namespace

Result<std::unique_ptr<PeerDataplane>> PeerDataplane::open(const config::Config& config,
                                                           const fib::Capacity& capacity, PuntHandler on_punt,
                                                           KeeperLink keeper) {
    auto held = lock(config);
    if (!held) return tl::unexpected(held.error());
    if (auto let_go = end_earlier_keeper(config.instance); !let_go) return tl::unexpected(let_go.error());
    std::unique_ptr<PeerDataplane> self(new PeerDataplane(config, std::move(*held), std::move(on_punt)));
    if (auto done = self->set_up(config, capacity, std::move(keeper)); !done)
        return tl::unexpected(done.error());
    return self;
}

PeerDataplane::~PeerDataplane() {
    if (can_be_left()) {
        leave();
    } else {
        for (NicPort* port : nics())
            stop_port(*port);
        if (host_ && !memory_.memory->revoked()) host_->revoke();
    }
    end();  // before the memory that they work on
}

// As after a kill: the keeper has what forwards.
bool PeerDataplane::can_be_left() const {
    return runs_ && !taken_down_ && keeper_ && keeper_->lives() && !memory_.memory->revoked();
}

void PeerDataplane::leave() {
    for (const NicPort* port : nics())
        port->device->leave();
    if (memory_.device) memory_.device->leave();
    memory_.memory->leave();
}

Result<void> PeerDataplane::set_up(const config::Config& config, const fib::Capacity& capacity,
                                   KeeperLink keeper) {
    auto tree = offload::PciTree::live();
    if (!tree) return tl::unexpected(tree.error());
    tree_ = std::move(*tree);
    for (const auto& [name, interface] : config.interfaces)
        if (!interface.parent)
            if (auto made = create_device(interface); !made) return made;
    wait_for_links();
    const pp_fib_geometry geometry = fib::plan_geometry(capacity);
    if (auto done = open_memory(geometry.image_bytes); !done) return done;
    set_up_image(geometry, own_part_.bytes().subspan(plan_.image, plan_.image_bytes));
    for (NicPort* port : nics())
        if (auto reached = let_reach(*port); !reached) return reached;
    auto events = DeviceEvents::open();
    if (!events) return tl::unexpected(events.error());
    events_ = std::make_unique<DeviceEvents>(std::move(*events));
    watch(events_->descriptor());
    begin_keeping(std::move(keeper));

    host_ = std::make_unique<PeerHost>(own_part_.bytes(), *memory_.memory->bus_address(), plan_, settings_);
    auto io = std::make_unique<PeerPacketIo>(*host_, settings_, epochs(), counters_of(0));
    io_ = io.get();
    Worker& worker = add_worker(std::move(io));
    timer_ = periodic_timer(look_every);
    worker.watch_interrupt(timer_.get());
    worker.resume();
    spdlog::info(
        "peer device: rings, headers and payloads of {} ports and the FIB image lie in {}; {} of it are used",
        lanes_.size(), memory_.memory->source().to_string(), mebibytes(plan_.end));
    return {};
}

Result<void> PeerDataplane::open_memory(uint64_t image_bytes) {
    auto opened = open_payload_memory(settings_.payload_memory, tree_, containers_);
    if (!opened) return tl::unexpected(opened.error());
    memory_ = std::move(*opened);
    offload::PeerMemory& memory = *memory_.memory;
    assign_lanes();
    plan_ = plan_peer_memory(settings_, image_bytes, lanes_.size());
    if (plan_.end > memory.bytes())
        return fail(memory_key,
                    mebibytes(memory.bytes()) + " for a FIB image of " + mebibytes(image_bytes) + " and " +
                        std::to_string(lanes_.size()) + " ports",
                    "at least " + mebibytes(plan_.end),
                    "a smaller /fib/table_memory_mib, fewer /vfio/rx_descriptors, or a larger memory");
    if (!memory.bus_address())
        return fail(memory_key, memory.source().to_string() + " has no bus address", "memory of a device",
                    "");
    // The device and the NICs mean the same by an address only where nothing translates it.
    offload::IovaRange whole{*memory.bus_address(), *memory.bus_address() + memory.bytes() - 1};
    for (const NicPort* port : nics()) {
        auto ranges = port->device->container()->usable_ranges();
        if (!ranges) return tl::unexpected(ranges.error());
        if (std::ranges::none_of(*ranges, [&](const offload::IovaRange& range) {
                return range.first <= whole.first && whole.last <= range.last;
            }))
            return fail(memory_key, "the IOMMU of " + port->name + " cannot map it at its bus address",
                        "an address that the IOMMU leaves as it is", "");
        const auto verdict =
            offload::p2p_verdict(tree_, port->address, memory.source().device, memory.source().bar);
        if (!verdict.possible)
            return fail("/interfaces/" + port->name + "/pci",
                        "does not reach the peer's memory: " + verdict.why, "a NIC that reaches it by P2P",
                        "`pktpit doctor` lists the ways");
    }
    auto own = memory.map_part(0, plan_.ports);
    if (!own) return tl::unexpected(own.error());
    own_part_ = std::move(*own);
    memory.on_revoke([this] { stop_use(); });
    return {};
}

// What the memory needs to be there goes to the keeper with it; a sysfs file of a device's needs nothing.
void PeerDataplane::begin_keeping(KeeperLink keeper) {
    if (!keeper.socket) return;
    auto events = DeviceEvents::open();
    if (!events) {
        spdlog::warn("{}: no process keeps the devices: forwarding ends with the daemon",
                     events.error().to_string());
        return;
    }
    std::vector<int> beside;
    if (memory_.device) {
        const auto [container, group] = memory_.device->container()->descriptors();
        beside = {memory_.device->descriptor(), container, group};
    }
    keeper_ = std::make_unique<Keeper>(std::move(keeper), run_path(instance(), keeper_suffix));
    keeper_->begin(*events, *memory_.memory, beside, settings_.peer->patience_ms);
    if (keeper_->lives()) watch(keeper_->descriptor());
}

// NICs of one IOMMU group lie side by side: they share a domain, and with it what they may write.
void PeerDataplane::assign_lanes() {
    std::vector<NicPort*> ports = nics();
    std::ranges::stable_sort(ports, {},
                             [](const NicPort* port) { return port->device->container()->iommu_group(); });
    for (size_t lane = 0; lane < ports.size(); lane++)
        lanes_[ports[lane]->name] = static_cast<uint8_t>(lane);
}

Result<uint8_t> PeerDataplane::lane_for(const NicPort& port) const {
    const auto found = lanes_.find(port.name);
    if (found != lanes_.end()) return found->second;
    return fail("/interfaces/" + port.name, "is new, and the peer's memory was shared out at the start",
                "the ports that were there then", "restart pktpitd for it");
}

Result<void> PeerDataplane::let_reach(const NicPort& port) {
    const auto& domain = port.device->container();
    const unsigned group = domain->iommu_group();
    if (!parts_.contains(group)) {
        offload::ByteRange part;
        for (const NicPort* other : nics())
            if (other->device->container()->iommu_group() == group)
                if (const auto lane = lanes_.find(other->name); lane != lanes_.end()) {
                    if (part.bytes == 0 || plan_.port(lane->second) < part.first)
                        part.first = plan_.port(lane->second);
                    part.bytes += plan_.port_bytes;
                }
        parts_[group] = part;
    }
    const offload::ByteRange part = parts_[group];
    const uint64_t own = plan_.port(lanes_.at(port.name));
    if (own < part.first || own >= part.first + part.bytes)
        return fail("/interfaces/" + port.name + "/pci", "is in another IOMMU group than at the start",
                    "the NIC that was there then", "restart pktpitd for it");
    std::erase_if(mapped_, [](const Mapped& one) { return one.domain.expired(); });
    if (std::ranges::find(mapped_, group, &Mapped::group) != mapped_.end()) return {};
    const uint64_t bus_address = *memory_.memory->bus_address();
    if (auto done = memory_.memory->map_for(domain, bus_address, part); !done) return done;
    // The CPU has no business with what NICs and the device write.
    if (auto sealed = memory_.memory->seal(false); !sealed) return sealed;
    mapped_.push_back({domain, group});
    return {};
}

Result<void> PeerDataplane::create_device(const config::Interface& interface) {
    if (port(interface.name)) return {};
    if (auto now = offload::PciTree::live()) tree_ = std::move(*now);
    auto opened = NicPort::open(interface, tree_, containers_);
    if (!opened) return tl::unexpected(opened.error());
    NicPort& made = **opened;
    if (made.nic->model() != offload::E1000e::model)
        return fail("/interfaces/" + interface.name + "/pci",
                    interface.pci + " is an " + std::string(made.nic->model()),
                    "an Intel 82574L: a peer's programs know no other descriptors", "");
    made.direct = true;
    if (host_) {
        if (memory_.memory->revoked())
            return fail(memory_key, "has been revoked", "a memory that is there", "restart pktpitd");
        if (auto lane = lane_for(made); !lane) return tl::unexpected(lane.error());
        if (auto reached = let_reach(made); !reached) return reached;
    }
    spdlog::info("{}: {} at {}, MAC address {}", interface.name, made.nic->model(), interface.pci,
                 made.nic->mac().to_string());
    watch(made.removal.get());
    add_port(std::move(*opened));
    return {};
}

bool PeerDataplane::show_links() {
    bool all = true;
    for (NicPort* port : nics()) {
        const bool up = port->nic->link().up;
        port->tap.set_carrier(up);
        all = all && up;
    }
    return all;
}

// What the device hands to the NIC, again and again; and that nothing is under way.
Result<void> PeerDataplane::write_rings(uint8_t lane, std::span<std::byte> part) const {
    const uint64_t at = *memory_.memory->bus_address() + plan_.port(lane);
    std::memset(part.data(), 0, part.size());
    for (uint32_t i = 0; i < settings_.rx_descriptors; i++)
        offload::E1000e::write_rx(offload::DescriptorWords(part.data() + plan_.templates +
                                                           i * offload::E1000e::rx_descriptor_bytes),
                                  {{},
                                   at + plan_.cells + uint64_t{i} * peer_cell_bytes,
                                   at + plan_.payloads + uint64_t{i} * settings_.slot_bytes});
    constexpr uint64_t sent = uint64_t{1} << 32;
    for (uint32_t i = 1; i < settings_.tx_descriptors; i += 2)
        offload::DescriptorWords(part.data() + plan_.tx_ring + i * offload::E1000e::tx_descriptor_bytes)
            .store(1, sent);
    return {};
}

Result<void> PeerDataplane::start_port(TapPort& which) {
    auto& port = static_cast<NicPort&>(which);
    if (port.started) return {};
    const auto lane = lane_for(port);
    if (!lane) return tl::unexpected(lane.error());
    const offload::PciFunction* function = tree_.find(port.address);
    const offload::PciBar* registers = function ? function->bar(0) : nullptr;
    if (!registers)
        return fail("/interfaces/" + port.name + "/pci", "has no registers on the bus", "a NIC that is there",
                    "");
    const uint64_t offset = plan_.port(*lane);
    auto part = memory_.memory->map_part(offset, plan_.cells);
    if (!part) return tl::unexpected(part.error());
    if (auto written = write_rings(*lane, part->bytes()); !written) return written;
    const offload::DmaBuffer rings{part->bytes().first(plan_.rings_bytes),
                                   *memory_.memory->bus_address() + offset};
    const WorkerPause paused(all_workers());
    if (auto started = port.start_in(settings_, rings); !started) return started;
    if (keeper_) keeper_->keep(port.name, *port.device, port.removal.get());
    port.why =
        memory_.memory->source().to_string() + ", with its header and its rings: a peer device forwards";
    io_->add({port.id, *lane, port.nic.get(), &port.link_up});
    io_->look();
    host_->add(*lane, {port.id, registers->start, port.name, 0});
    publish();
    spdlog::info("{}: payloads wait in {}", port.name, port.why);
    return {};
}

void PeerDataplane::publish() {
    host_->publish();
    spdlog::debug("peer device: programs of generation {}", host_->generation());
}

void PeerDataplane::stop_port(TapPort& which) {
    auto& port = static_cast<NicPort&>(which);
    if (!port.started) return;
    const WorkerPause paused(all_workers());
    if (!memory_.memory->revoked()) {
        host_->remove(lanes_.at(port.name));
        publish();
        // The device is through with the NIC, or stands still: then its programs are too old for it to go on.
        (void)host_->wait_for_turn(std::chrono::milliseconds(settings_.peer->patience_ms));
    }
    io_->remove(port.id);
    if (keeper_) keeper_->drop(port.name);
    std::vector<offload::Slot> none;
    port.stop(none);
}

offload::PeerLaneCounters PeerDataplane::counted(uint16_t id) const {
    const auto* found = static_cast<const NicPort*>(port(id));
    const auto lane = found ? lanes_.find(found->name) : lanes_.end();
    if (!host_ || lane == lanes_.end()) return {};
    offload::PeerLaneCounters now = host_->counters(lane->second);
    const offload::PeerLaneCounters& before = before_.at(lane->second);
    for (auto counter : {&offload::PeerLaneCounters::rx_packets, &offload::PeerLaneCounters::rx_bytes,
                         &offload::PeerLaneCounters::tx_packets, &offload::PeerLaneCounters::tx_bytes,
                         &offload::PeerLaneCounters::forwarded, &offload::PeerLaneCounters::handed_over,
                         &offload::PeerLaneCounters::queue_full, &offload::PeerLaneCounters::egress_full,
                         &offload::PeerLaneCounters::rx_error, &offload::PeerLaneCounters::commits,
                         &offload::PeerLaneCounters::doorbells, &offload::PeerLaneCounters::stale})
        now.*counter -= before.*counter;
    return now;
}

Dataplane::Decided PeerDataplane::decided(uint16_t port) const {
    return {counted(port).forwarded, StagelessDataplane::counters(port).rx_packets};
}

// What the worker counts of a port is a part of what the device does.
pp_port_counters PeerDataplane::counters(uint16_t port) const {
    pp_port_counters values = StagelessDataplane::counters(port);
    const offload::PeerLaneCounters device = counted(port);
    values.rx_packets = device.rx_packets;
    values.rx_bytes = device.rx_bytes;
    values.tx_packets = device.tx_packets;
    values.tx_bytes = device.tx_bytes;
    values.verdict[PP_FORWARDED] += device.forwarded;
    values.verdict[PP_DROP_SPLIT_FULL] += device.queue_full;
    values.verdict[PP_DROP_EGRESS_FULL] += device.egress_full;
    values.verdict[PP_DROP_RX_ERROR] += device.rx_error;
    return values;
}

void PeerDataplane::reset_counters(uint16_t id) {
    StagelessDataplane::reset_counters(id);
    const auto* found = static_cast<const NicPort*>(port(id));
    if (found && lanes_.contains(found->name))
        before_.at(lanes_.at(found->name)) = host_->counters(lanes_.at(found->name));
}

std::optional<NicDetails> PeerDataplane::nic(uint16_t id) {
    const auto* port = static_cast<const NicPort*>(this->port(id));
    if (!port) return std::nullopt;
    NicDetails details;
    details.pci = port->address.to_string();
    details.model = port->nic->model();
    details.direct = port->direct;
    details.payload = port->why;
    const WorkerPause paused(all_workers());
    for (const auto& [name, value] : port->nic->statistics())
        details.statistics.emplace_back(name, value);
    const offload::PeerLaneCounters device = counted(id);
    details.statistics.insert(details.statistics.end(),
                              {{"peer_forwarded", device.forwarded},
                               {"peer_handed_over", device.handed_over},
                               {"peer_commits", device.commits},
                               {"peer_doorbells", device.doorbells},
                               {"peer_stale", device.stale},
                               {"peer_generation", memory_.memory->revoked() ? 0 : host_->generation()}});
    return details;
}

void PeerDataplane::poll() {
    StagelessDataplane::poll();
    if (keeper_) keeper_->look();
    const bool all = events_->poll([this](offload::PciAddress address) { memory_removed(address); });
    if (!all) spdlog::warn("uevents were lost: a device may have gone unnoticed");
    uint64_t rung = 0;
    for (const NicPort* port : nics())
        if (::read(port->removal.get(), &rung, sizeof rung) == sizeof rung) {
            spdlog::warn("{}: the kernel wants the NIC back", port->name);
            destroy_device(std::string(port->name));
            break;  // the others are asked next time
        }
}

void PeerDataplane::tick() {
    StagelessDataplane::tick();
    runs_ = true;
    for (NicPort* port : nics())
        port->tap.set_carrier(port->started && port->link_up.load(std::memory_order_relaxed));
    if (!memory_.memory->revoked()) watch_device();
}

void PeerDataplane::watch_device() {
    const bool silent = io_->device_is_silent();
    // Its programs were withdrawn, so that what it might still have held could be used again. It may have
    // gone on before this thread has seen that it stood still.
    owes_programs_ = io_->take_withdrawn() || owes_programs_;
    if (!silent && std::exchange(owes_programs_, false)) {
        spdlog::warn("peer device: goes on after more than {} ms; it gets its programs again",
                     settings_.peer->patience_ms);
        publish();
    }
    const PeerHost::State state = host_->state(silent);
    if (state == told_ || state.kind == PeerHost::State::loads) return;
    if (state.kind == PeerHost::State::silent)
        spdlog::warn("peer device: has not gone on for {} ms; nothing is forwarded",
                     settings_.peer->patience_ms);
    else if (state.kind == PeerHost::State::refuses)
        spdlog::error("peer device: does not take what it was given: {}", state.refusal);
    else
        spdlog::info("peer device: forwards");
    told_ = state;
}

void PeerDataplane::memory_removed(offload::PciAddress address) {
    if (memory_.memory->source().device != address) return;
    spdlog::error("{}: its device has gone; nothing is forwarded until a restart",
                  memory_.memory->source().to_string());
    if (auto revoked = memory_.memory->revoke(); !revoked) spdlog::error("{}", revoked.error().to_string());
}

// Programs first, then the NICs, then the mappings: nothing is written there any more.
void PeerDataplane::stop_use() {
    const WorkerPause paused(all_workers());
    host_->revoke();
    (void)host_->wait_for_turn(std::chrono::milliseconds(settings_.peer->patience_ms));
    std::vector<offload::Slot> none;
    for (NicPort* port : nics()) {
        if (!port->started) continue;
        if (keeper_) keeper_->drop(port->name);
        port->stop(none);
        port->started = true;  // as far as the control plane goes: it has its tap, and drops
        port->direct = false;
        port->why = "nowhere: the peer's memory has been revoked";
    }
    io_->revoke();
    if (!own_part_.become_private()) spdlog::critical("the FIB image cannot be kept: {}", "no memory");
}

}  // namespace pktpit::router
