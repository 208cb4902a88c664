// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/dataplane.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "router/vfio/keeper.h"

namespace pktpit::router {
namespace {

// Slots in main memory beside those of payloads that wait there: frames of the host and of the slow path, and
// the payloads of ports that do not reach the peer memory.
constexpr uint32_t main_slots_beside_peer = 4096;
constexpr uint32_t most_slots = 65536;

// Addresses that PCI bridges and root complexes route to devices: main memory put there would never arrive.
void reserve_device_windows(offload::IovaSpace& space, const offload::PciTree& tree) {
    for (const offload::PciFunction* function : tree.functions())
        for (const offload::PciBar& bar : function->bars)
            if (bar.memory && bar.bytes != 0) space.reserve({bar.start, bar.start + bar.bytes - 1});
    for (const offload::PciFunction* function : tree.functions()) {
        if (!function->bridge) continue;
        for (const offload::BridgeWindow& window : {function->bridge->memory, function->bridge->prefetchable})
            if (window.base <= window.limit) space.reserve({window.base, window.limit});
    }
}

// The BAR that the memory lies in: a controller memory buffer's is told by its controller, not configured.
unsigned bar_of(const offload::PciTree& tree, const offload::PeerMemory& memory) {
    const auto address = memory.bus_address();
    if (const auto* function = tree.find(memory.source().device); function && address)
        for (const offload::PciBar& bar : function->bars)
            if (*address >= bar.start && *address - bar.start < bar.bytes) return bar.index;
    return memory.source().bar;
}

constexpr uint32_t least_slots = config::Vfio::least_slots;

std::string in_mib(uint64_t bytes) {
    constexpr uint64_t mib = 1 << 20;
    return std::to_string((bytes + mib - 1) / mib) + " MiB";
}

bool is_present(const std::string& pci) {
    const auto address = offload::PciAddress::parse(pci);
    std::error_code error;
    return address && std::filesystem::exists("/sys/bus/pci/devices/" + address->to_string(), error);
}

bool asked_to_leave_payload_unmapped() {
    return std::getenv("PKTPIT_TEST_LEAVE_PAYLOAD_UNMAPPED") != nullptr;
}

}  // namespace

Result<std::unique_ptr<VfioDataplane>> VfioDataplane::open(const config::Config& config,
                                                           const fib::Capacity& capacity,
                                                           PuntHandler on_punt) {
    auto held = lock(config);
    if (!held) return tl::unexpected(held.error());
    if (auto let_go = end_earlier_keeper(config.instance); !let_go) return tl::unexpected(let_go.error());
    std::unique_ptr<VfioDataplane> self(new VfioDataplane(config, std::move(*held), std::move(on_punt)));
    if (auto done = self->set_up(config, capacity); !done) return tl::unexpected(done.error());
    return self;
}

VfioDataplane::~VfioDataplane() {
    for (NicPort* port : nics())
        stop_port(*port);
    end();  // before the slots and the container that they work on
}

Result<void> VfioDataplane::set_up(const config::Config& config, const fib::Capacity& capacity) {
    if (auto done = set_up_image(capacity); !done) return done;
    auto tree = offload::PciTree::live();
    if (!tree) return tl::unexpected(tree.error());
    tree_ = std::move(*tree);

    // There are no address spaces before there are devices.
    for (const auto& [name, interface] : config.interfaces)
        if (!interface.parent)
            if (auto made = create_device(interface); !made) return made;
    wait_for_links();
    if (auto done = set_up_iova_space(); !done) return done;
    if (auto done = set_up_slots(config); !done) return done;
    if (auto enough = check_slots(nullptr); !enough) return enough;
    tell_shares();
    auto events = DeviceEvents::open();
    if (!events) return tl::unexpected(events.error());
    events_ = std::make_unique<DeviceEvents>(std::move(*events));
    watch(events_->descriptor());
    auto io = std::make_unique<NicPacketIo>(*slots_, payload_.memory.get(), counters_of(0));
    io_ = io.get();
    add_worker(std::move(io)).resume();
    return {};
}

bool VfioDataplane::show_links() {
    bool all = true;
    for (NicPort* port : nics()) {
        const bool up = port->nic->link().up;
        port->tap.set_carrier(up);
        all = all && up;
    }
    return all;
}

Result<void> VfioDataplane::set_up_iova_space() {
    // A slot has the same address for every NIC.
    std::vector<offload::IovaRange> usable{{0, ~offload::Iova{0}}};
    for (const NicPort* port : nics()) {
        auto ranges = port->device->container()->usable_ranges();
        if (!ranges) return tl::unexpected(ranges.error());
        usable = intersection(usable, *ranges);
    }
    iova_space_ = std::make_unique<offload::IovaSpace>(std::move(usable));
    reserve_device_windows(*iova_space_, tree_);
    return {};
}

Result<void> VfioDataplane::set_up_slots(const config::Config& config) {
    auto payload = open_payload_memory(settings_.payload_memory, tree_, containers_);
    if (!payload) return tl::unexpected(payload.error());
    payload_ = std::move(*payload);
    const uint64_t slot_bytes = settings_.slot_bytes;
    uint32_t peer_slots = 0;
    uint64_t main_slots = main_slots_beside_peer;
    offload::Iova peer_iova = 0;
    if (offload::PeerMemory* memory = payload_.memory.get()) {
        peer_slots = static_cast<uint32_t>(std::min<uint64_t>(memory->bytes() / slot_bytes, most_slots));
        const auto iova = memory->bus_address();
        const bool fits = iova && iova_space_->usable({*iova, *iova + memory->bytes() - 1});
        const auto place = fits ? iova : iova_space_->allocate(memory->bytes(), 2 << 20);
        if (!fits)
            spdlog::warn(
                "{}: cannot be mapped at its bus address, so a switch cannot route to it: payloads go "
                "through the root complex",
                memory->source().to_string());
        if (!place) return fail("/vfio/payload_memory", "the IOMMU has no addresses left for it", "", "");
        peer_iova = *place;
        memory->on_revoke([this] { stop_payload_use(); });
    } else {
        main_slots = std::min<uint64_t>(source_of(settings_.payload_memory).bytes / slot_bytes, most_slots);
        main_slots -= main_slots % slots_of_whole_pages;  // behind them begin the other region's cells
        spdlog::warn("payload memory is main memory: no P2P, every payload crosses the root complex twice");
    }
    auto payloads = take_main_memory(main_slots * slot_bytes, !payload_.memory, *iova_space_, nullptr);
    if (!payloads) return tl::unexpected(payloads.error());
    auto cells =
        take_main_memory((main_slots + peer_slots) * header_cell_bytes, false, *iova_space_, nullptr);
    if (!cells) return tl::unexpected(cells.error());
    // Frames from peer memory to a port that does not reach it are copied by the CPU, which has to read them.
    bool bounces = false;
    for (NicPort* port : nics()) {
        choose_payload_place(*port, config.interfaces.at(port->name).payload);
        bounces = bounces || !port->direct;
    }
    const auto [all_ports, direct_ports] = ports_of_domains();
    const auto main_count = static_cast<uint32_t>(main_slots);
    // The daemon's own quarter: it sends from there, and payloads are bounced to it.
    slots_ = std::make_unique<SlotMemory>(
        settings_.slot_bytes, SlotMemory::Shared{std::move(cells->mapping), cells->iova},
        SlotMemory::Shared{std::move(payloads->mapping), payloads->iova},
        SlotMemory::Region{main_count, share_slots(main_count, main_count / 4, all_ports)},
        payload_.memory.get(), peer_iova,
        SlotMemory::Region{peer_slots, share_slots(peer_slots, 0, direct_ports)});
    domains_ = std::make_unique<SlotDomains>(*slots_);
    for (NicPort* port : nics())
        if (auto reached = let_reach_slots(*port); !reached) return reached;
    if (!payload_.memory) return {};
    if (asked_to_leave_payload_unmapped()) {
        spdlog::warn("PKTPIT_TEST_LEAVE_PAYLOAD_UNMAPPED is set: the IOMMU will refuse every payload");
        if (auto unmapped = payload_.memory->unmap(); !unmapped) return unmapped;
    }
    spdlog::info("payload memory: {}, {} slots of {} bytes; the CPU's mapping is {}",
                 payload_.memory->source().to_string(), peer_slots, slot_bytes,
                 bounces ? "read-only" : "PROT_NONE");
    return payload_.memory->seal(bounces);
}

// Of each IOMMU domain: all, and those that are direct.
std::array<std::vector<uint32_t>, 2> VfioDataplane::ports_of_domains() const {
    std::map<unsigned, std::array<uint32_t, 2>> ports;  // by IOMMU group
    for (const NicPort* port : nics()) {
        auto& [all, direct] = ports[port->device->container()->iommu_group()];
        all++;
        direct += port->direct ? 1 : 0;
    }
    std::array<std::vector<uint32_t>, 2> counts;
    for (const auto& [group, of_group] : ports)
        for (size_t i = 0; i < counts.size(); i++)
            counts[i].push_back(of_group[i]);
    return counts;
}

// No worker runs, or it is paused.
Result<void> VfioDataplane::let_reach_slots(NicPort& port) {
    const auto& container = port.device->container();
    const auto place = domains_->admit(container, port.direct);
    if (!place) return tl::unexpected(place.error());
    port.part = place->part;
    const uint32_t slots = slots_->pool(port.region(), port.part).count();
    if (place->shared)
        spdlog::warn(
            "{}: IOMMU group {} may write the same {} slots as another: they were shared out at the start, "
            "among fewer",
            port.name, container->iommu_group(), slots);
    else
        spdlog::info("{}: IOMMU group {} may write its rings and {} slots", port.name,
                     container->iommu_group(), slots);
    return {};
}

void VfioDataplane::choose_payload_place(NicPort& port, config::PayloadPlace wanted) const {
    port.direct = false;
    if (!payload_.memory) {
        port.why = "main memory: no payload memory is configured";
    } else if (wanted == config::PayloadPlace::bounce) {
        port.why = "main memory, bounced: \"payload\" is \"bounce\"";
    } else {
        const auto& source = payload_.memory->source();
        const auto verdict =
            offload::p2p_verdict(tree_, port.address, source.device, bar_of(tree_, *payload_.memory));
        port.direct = verdict.possible && !payload_.memory->revoked();
        port.why = verdict.possible ? source.to_string() + ", " + std::string(to_string(verdict.way))
                                    : "main memory, bounced: " + verdict.why;
    }
}

Result<void> VfioDataplane::check_slots(const NicPort* coming) const {
    std::array<uint64_t, 2> ports{};
    for (const NicPort* port : nics())
        ports[port->region()]++;
    if (coming) ports[coming->region()]++;
    const auto refuse = [&](uint8_t region, uint64_t slots, uint64_t sharing) {
        return fail("/vfio/payload_memory",
                    std::to_string(slots) + " slots of " + std::to_string(settings_.slot_bytes) +
                        " bytes for the payloads of " + std::to_string(sharing) + " ports",
                    "at least " + std::to_string(least_slots) +
                        " a port: " + in_mib(sharing * least_slots * settings_.slot_bytes),
                    region == SlotMemory::peer_memory
                        ? "a larger memory, smaller slot_bytes, or \"payload\": \"bounce\" at some ports"
                        : "a larger size_mib, or smaller slot_bytes");
    };
    for (const uint8_t region : {SlotMemory::main_memory, SlotMemory::peer_memory})
        if (slots_->has(region) && slots_->slots(region) < ports[region] * least_slots)
            return refuse(region, slots_->slots(region), ports[region]);
    if (!coming || !coming->direct) return {};
    // It may have to share a part that was made for fewer ports.
    const auto sharing = 1 + static_cast<uint64_t>(std::ranges::count_if(nics(), [&](const NicPort* port) {
                             return port->direct && port->part == coming->part;
                         }));
    const uint64_t part = slots_->pool(SlotMemory::peer_memory, coming->part).count();
    if (part < sharing * least_slots) return refuse(SlotMemory::peer_memory, part, sharing);
    return {};
}

void VfioDataplane::tell_shares() const {
    if (!slots_->has(SlotMemory::peer_memory)) return;
    const auto direct = static_cast<uint32_t>(
        std::ranges::count_if(nics(), [](const NicPort* port) { return port->direct; }));
    if (direct == 0) return;
    const uint32_t all = slots_->slots(SlotMemory::peer_memory);
    const uint32_t share = all / direct;
    if (share < settings_.rx_descriptors)
        spdlog::warn(
            "payload memory: {} slots for {} ports, {} each: fewer than their {} receive descriptors, so "
            "bursts "
            "are lost sooner; {} would be enough",
            all, direct, share, settings_.rx_descriptors,
            in_mib(uint64_t{direct} * settings_.rx_descriptors * settings_.slot_bytes));
}

Result<void> VfioDataplane::create_device(const config::Interface& interface) {
    if (port(interface.name)) return {};
    // A NIC may have come since.
    if (auto now = offload::PciTree::live()) tree_ = std::move(*now);
    auto opened = NicPort::open(interface, tree_, containers_);
    if (!opened) return tl::unexpected(opened.error());
    NicPort& made = **opened;
    if (slots_) {
        choose_payload_place(made, interface.payload);
        const WorkerPause paused(all_workers());
        if (auto reached = let_reach_slots(made); !reached) return reached;
        if (auto enough = check_slots(&made); !enough) return enough;
        if (payload_.memory && !payload_.memory->revoked() && !made.direct)
            if (auto readable = payload_.memory->seal(true); !readable) return readable;
    }
    spdlog::info("{}: {} at {}, MAC address {}", interface.name, made.nic->model(), interface.pci,
                 made.nic->mac().to_string());
    watch(made.removal.get());
    add_port(std::move(*opened));
    wanted_.insert_or_assign(interface.name, Wanted{interface, {}});
    return {};
}

void VfioDataplane::destroy_device(const std::string& name) {
    wanted_.erase(name);
    StagelessDataplane::destroy_device(name);
}

// One that was taken out and put back. The control plane hears of its tap as of any device that comes.
void VfioDataplane::take_back_what_has_come() {
    for (auto& [name, wanted] : wanted_) {
        if (port(name) || !is_present(wanted.interface.pci)) continue;
        const config::Interface interface = wanted.interface;
        if (auto made = create_device(interface); made) {
            spdlog::info("{}: the NIC is there again", interface.name);
        } else if (std::string why = made.error().to_string(); why != wanted.told) {
            spdlog::error("{}: the NIC is there again, and cannot be had: {}", name, why);
            wanted.told = std::move(why);
        }
        return;  // the others next time: the map has changed
    }
}

Result<void> VfioDataplane::start_port(TapPort& which) {
    auto& port = static_cast<NicPort&>(which);
    if (port.started) return {};
    auto memory =
        take_main_memory(port.ring_bytes(settings_), false, *iova_space_, port.device->container().get());
    if (!memory) return tl::unexpected(memory.error());
    const WorkerPause paused(all_workers());
    if (auto started =
            port.start(settings_, worker_settings().polling, {std::move(memory->mapping), memory->iova});
        !started) {
        release_rings(port);
        return started;
    }
    port.out_of_step = false;
    io_->add({port.id, port.nic.get(), port.direct, false, &port.link_up, &port.out_of_step, port.part});
    io_->look();
    all_workers().front()->watch_interrupt(port.interrupt.get());
    spdlog::info("{}: payloads wait in {}", port.name, port.why);
    return {};
}

// The worker is paused.
void VfioDataplane::stop(NicPort& port) {
    if (!port.started) return;
    io_->remove(port.id);
    all_workers().front()->unwatch_interrupt(port.interrupt.get());
    std::vector<offload::Slot> left;
    port.stop(left);
    io_->take_back(left);
    release_rings(port);
}

// The NIC does no DMA any more, or never did.
void VfioDataplane::release_rings(NicPort& port) {
    if (auto released = give_main_memory_back(std::move(port.rings.mapping), port.rings.iova, *iova_space_,
                                              *port.device->container());
        !released)
        spdlog::error("{}: {}", port.name, released.error().to_string());
    port.rings = {};
}

void VfioDataplane::stop_port(TapPort& which) {
    auto& port = static_cast<NicPort&>(which);
    if (!port.started) return;
    const WorkerPause paused(all_workers());
    stop(port);
}

std::optional<NicDetails> VfioDataplane::nic(uint16_t id) {
    const auto* port = static_cast<const NicPort*>(this->port(id));
    if (!port) return std::nullopt;
    NicDetails details;
    details.pci = port->address.to_string();
    details.model = port->nic->model();
    details.direct = port->direct;
    details.payload = port->why;
    if (port->direct)
        for (const NicPort* other : nics())
            if (!other->direct) details.bounced_to.push_back(other->name);
    const WorkerPause paused(all_workers());
    for (const auto& [name, value] : port->nic->statistics())
        details.statistics.emplace_back(name, value);
    const offload::NicErrors& errors = port->nic->errors();
    details.statistics.insert(details.statistics.end(), {{"hardware_split", errors.hardware_split},
                                                         {"unsplit", errors.unsplit},
                                                         {"rx_error_frames", errors.rx_error_frames},
                                                         {"rx_too_long", errors.rx_too_long},
                                                         {"rx_bad_descriptor", errors.rx_bad_descriptor},
                                                         {"tx_bad_completion", errors.tx_bad_completion},
                                                         {"dead_reads", errors.dead_reads},
                                                         {"resets", port->resets}});
    return details;
}

std::vector<WorkerState::Queue> VfioDataplane::queues_of(unsigned) const {
    std::vector<WorkerState::Queue> queues;
    for (const NicPort* port : nics())
        if (port->started) queues.push_back({port->id, 0, true});
    return queues;
}

size_t VfioDataplane::longest_frame() const {
    return header_bytes + settings_.slot_bytes;
}

void VfioDataplane::poll() {
    StagelessDataplane::poll();
    const bool all = events_->poll([this](offload::PciAddress address) { device_removed(address); });
    if (!all) spdlog::warn("uevents were lost: a device may have gone unnoticed");
    uint64_t rung = 0;
    for (const NicPort* port : nics())
        if (::read(port->removal.get(), &rung, sizeof rung) == sizeof rung) {
            spdlog::warn("{}: the kernel wants the NIC back", port->name);
            StagelessDataplane::destroy_device(std::string(port->name));
            break;  // the others are asked next time
        }
}

void VfioDataplane::tick() {
    StagelessDataplane::tick();
    constexpr unsigned ticks_per_second = 10;
    if (++ticks_ % ticks_per_second == 0) take_back_what_has_come();
    reset_out_of_step();
    for (NicPort* port : nics())
        port->tap.set_carrier(port->started && port->link_up.load(std::memory_order_relaxed));
}

void VfioDataplane::device_removed(offload::PciAddress address) {
    if (!payload_.memory || payload_.memory->source().device != address) return;
    spdlog::error("{}: its device has gone; packets with payload are dropped until a restart",
                  payload_.memory->source().to_string());
    if (auto revoked = payload_.memory->revoke(); !revoked) spdlog::error("{}", revoked.error().to_string());
}

// The worker is paused, and the port was stopped.
Result<void> VfioDataplane::start_again(NicPort& port, bool payload_lost) {
    auto memory =
        take_main_memory(port.ring_bytes(settings_), false, *iova_space_, port.device->container().get());
    if (!memory) return tl::unexpected(memory.error());
    if (auto started =
            port.start(settings_, worker_settings().polling, {std::move(memory->mapping), memory->iova});
        !started) {
        release_rings(port);
        return started;
    }
    port.out_of_step = false;
    io_->add(
        {port.id, port.nic.get(), port.direct, payload_lost, &port.link_up, &port.out_of_step, port.part});
    all_workers().front()->watch_interrupt(port.interrupt.get());
    return {};
}

// NIC and driver disagree about where in the ring they are: nothing that is in it will come.
void VfioDataplane::reset_out_of_step() {
    for (NicPort* port : nics()) {
        if (!port->started || !port->out_of_step.load(std::memory_order_relaxed)) continue;
        const WorkerPause paused(all_workers());
        const bool payload_lost = io_->payload_lost(port->id);
        stop(*port);
        port->resets++;
        auto reset = port->nic->reset();
        if (reset) reset = start_again(*port, payload_lost);
        if (reset)
            spdlog::warn("{}: its receive ring was out of step: the NIC was reset ({} times so far)",
                         port->name, port->resets);
        else
            spdlog::error("{}: its receive ring was out of step, and the NIC cannot be started again: {}",
                          port->name, reset.error().to_string());
    }
}

// Every NIC forgets its buffers there, and starts again with ones in main memory: what the host and the slow
// path get still arrives, and what would be forwarded is dropped under its name. P2P that silently turned
// into bounces would be the wrong surprise.
void VfioDataplane::stop_payload_use() {
    const WorkerPause paused(all_workers());
    std::vector<NicPort*> restarted;
    for (NicPort* port : nics()) {
        if (!port->started) continue;
        stop(*port);
        restarted.push_back(port);
    }
    slots_->drop_peer();
    for (NicPort* port : restarted) {
        const bool lost = std::exchange(port->direct, false);
        if (lost) port->why = "nowhere: the payload memory has been revoked";
        if (auto started = start_again(*port, lost); !started)
            spdlog::error("{}", started.error().to_string());
    }
}

}  // namespace pktpit::router
