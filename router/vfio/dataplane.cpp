#include "router/vfio/dataplane.h"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <thread>

#include "router/dataplane/instance_lock.h"
#include "router/dataplane/run_directory.h"
#include "router/loop/cpus.h"

namespace pktpit::router {
namespace {

// Slots in main memory beside those of payloads that wait there: frames of the host and of the slow path, and
// the payloads of ports that do not reach the peer memory.
constexpr uint32_t main_slots_beside_peer = 4096;
constexpr uint32_t most_slots = 65536;
constexpr size_t queued_per_poll = 256;
constexpr std::chrono::milliseconds link_poll_period{10};
constexpr int most_link_polls =
    100;  // a second; negotiation of a copper link takes longer, and comes as an event
constexpr size_t tap_frames_per_poll = 64;
constexpr size_t largest_frame = 16384;

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

bool asked_to_leave_payload_unmapped() {
    return std::getenv("PKTPIT_TEST_LEAVE_PAYLOAD_UNMAPPED") != nullptr;
}

}  // namespace

Result<std::unique_ptr<VfioDataplane>> VfioDataplane::open(const config::Config& config,
                                                           const fib::Capacity& capacity,
                                                           PuntHandler on_punt) {
    if (auto usable = check_cpus(config.workers, usable_cpus()); !usable)
        return tl::unexpected(usable.error());
    auto lock = lock_instance(config.instance);
    if (!lock) return tl::unexpected(lock.error());
    std::unique_ptr<VfioDataplane> self(new VfioDataplane(config, std::move(*lock), std::move(on_punt)));
    if (auto done = self->set_up(config, capacity); !done) return tl::unexpected(done.error());
    return self;
}

VfioDataplane::~VfioDataplane() {
    if (worker_) {
        worker_->pause();
        for (auto& [name, port] : ports_)
            stop(*port);
    }
    worker_.reset();
    ::unlink(run_path(instance_, ".lock").c_str());
}

Result<void> VfioDataplane::set_up(const config::Config& config, const fib::Capacity& capacity) {
    geometry_ = fib::plan_geometry(capacity);
    auto image = fib::HugeMemory::map(geometry_.image_bytes);
    if (!image) return tl::unexpected(image.error());
    image_ = std::move(*image);
    auto tree = offload::PciTree::live();
    if (!tree) return tl::unexpected(tree.error());
    tree_ = std::move(*tree);
    auto container = offload::VfioContainer::open();
    if (!container) return tl::unexpected(container.error());
    container_ = std::move(*container);
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    queues_.for_daemon_wakeup = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    watch(queues_.for_daemon_wakeup.get());

    // The container has no address space before it has a device.
    for (const auto& [name, interface] : config.interfaces)
        if (!interface.parent)
            if (auto made = create_device(interface); !made) return made;
    wait_for_links();
    if (auto done = set_up_iova_space(); !done) return done;
    if (auto done = set_up_slots(config); !done) return done;
    for (auto& [name, port] : ports_)
        choose_payload_place(*port, config.interfaces.at(name).payload);
    io_ = std::make_unique<NicPacketIo>(*slots_, payload_.memory.get(), counters_);
    auto events = DeviceEvents::open();
    if (!events) return tl::unexpected(events.error());
    events_ = std::make_unique<DeviceEvents>(std::move(*events));
    watch(events_->descriptor());
    worker_ = std::make_unique<Worker>(*io_, ImageView{image_.bytes().data(), &geometry_}, epochs_, counters_,
                                       queues_, workers_.polling, Worker::placement(workers_, 0));
    worker_->resume();
    return {};
}

// Routes over a port whose link is down are not in the FIB, and a large table takes a second to go there: it
// is to be loaded once, with the links as they will be.
void VfioDataplane::wait_for_links() {
    for (int waited = 0; waited < most_link_polls; waited++) {
        bool all = true;
        for (const auto& [name, port] : ports_) {
            const bool up = port->nic->link().up;
            port->tap.set_carrier(up);
            all = all && up;
        }
        if (all) return;
        std::this_thread::sleep_for(link_poll_period);
    }
}

Result<void> VfioDataplane::set_up_iova_space() {
    auto usable = container_->usable_ranges();
    if (!usable) return tl::unexpected(usable.error());
    iova_space_ = std::make_unique<offload::IovaSpace>(std::move(*usable));
    reserve_device_windows(*iova_space_, tree_);
    return {};
}

Result<void> VfioDataplane::set_up_slots(const config::Config& config) {
    auto payload = open_payload_memory(settings_.payload_memory, tree_, *container_);
    if (!payload) return tl::unexpected(payload.error());
    payload_ = std::move(*payload);
    const uint64_t slot_bytes = settings_.slot_bytes;
    uint32_t peer_slots = 0;
    uint64_t main_slots = main_slots_beside_peer;
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
        if (auto mapped = memory->map_for(*container_, *place); !mapped) return mapped;
        if (asked_to_leave_payload_unmapped()) {
            spdlog::warn("PKTPIT_TEST_LEAVE_PAYLOAD_UNMAPPED is set: the IOMMU will refuse every payload");
            memory->unmap();
        }
        memory->on_revoke([this] { stop_payload_use(); });
    } else {
        main_slots = std::min<uint64_t>(source_of(settings_.payload_memory).bytes / slot_bytes, most_slots);
        spdlog::warn("payload memory is main memory: no P2P, every payload crosses the root complex twice");
    }
    auto payloads = take_main_memory(main_slots * slot_bytes, !payload_.memory, *iova_space_, *container_);
    if (!payloads) return tl::unexpected(payloads.error());
    auto cells =
        take_main_memory((main_slots + peer_slots) * header_cell_bytes, false, *iova_space_, *container_);
    if (!cells) return tl::unexpected(cells.error());
    slots_ = std::make_unique<SlotMemory>(
        settings_.slot_bytes, SlotMemory::Shared{std::move(cells->mapping), cells->iova},
        SlotMemory::Shared{std::move(payloads->mapping), payloads->iova}, static_cast<uint32_t>(main_slots),
        payload_.memory.get(), peer_slots);
    if (!payload_.memory) return {};
    // Frames from peer memory to a port that does not reach it are copied by the CPU, which has to read them.
    bool bounces = false;
    for (const auto& [name, port] : ports_) {
        choose_payload_place(*port, config.interfaces.at(name).payload);
        bounces = bounces || !port->direct;
    }
    spdlog::info("payload memory: {}, {} slots of {} bytes; the CPU's mapping is {}",
                 payload_.memory->source().to_string(), peer_slots, slot_bytes,
                 bounces ? "read-only" : "PROT_NONE");
    return payload_.memory->seal(bounces);
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

Result<void> VfioDataplane::create_device(const config::Interface& interface) {
    if (ports_.contains(interface.name)) return {};
    auto port = NicPort::open(interface, tree_, *container_);
    if (!port) return tl::unexpected(port.error());
    watch((*port)->tap.descriptor());
    watch((*port)->removal.get());
    if (slots_) choose_payload_place(**port, interface.payload);
    if (slots_ && payload_.memory && !payload_.memory->revoked() && !(*port)->direct) {
        const WorkerPause paused(*worker_);
        if (auto readable = payload_.memory->seal(true); !readable) return readable;
    }
    spdlog::info("{}: {} at {}, MAC address {}", interface.name, (*port)->nic->model(), interface.pci,
                 (*port)->nic->mac().to_string());
    ports_.emplace(interface.name, std::move(*port));
    return {};
}

void VfioDataplane::destroy_device(const std::string& name) {
    const auto found = ports_.find(name);
    if (found == ports_.end()) return;
    if (found->second->started) {
        const WorkerPause paused(*worker_);
        stop(*found->second);
    }
    ports_.erase(found);  // its descriptors leave the epoll set as they close
}

Result<void> VfioDataplane::prepare(uint16_t id, uint32_t, const config::Interface& settings) {
    const auto found = ports_.find(settings.name);
    if (found == ports_.end())
        return fail("/interfaces/" + settings.name, "the NIC of this port is not there",
                    "a NIC that was opened", "");
    found->second->id = id;
    return {};
}

Result<Dataplane::Attachment> VfioDataplane::attach(uint16_t id, uint32_t ifindex,
                                                    const config::Interface& settings) {
    if (auto prepared = prepare(id, ifindex, settings); !prepared) return tl::unexpected(prepared.error());
    if (auto started = start(*ports_.at(settings.name)); !started) return tl::unexpected(started.error());
    Attachment attachment;
    attachment.mode = AttachMode::user;
    return attachment;
}

Result<void> VfioDataplane::start(NicPort& port) {
    if (port.started) return {};
    auto memory = take_main_memory(port.ring_bytes(settings_), false, *iova_space_, *container_);
    if (!memory) return tl::unexpected(memory.error());
    const WorkerPause paused(*worker_);
    if (auto started = port.start(settings_, workers_.polling, {std::move(memory->mapping), memory->iova});
        !started) {
        release_rings(port);
        return started;
    }
    io_->add({port.id, port.nic.get(), port.direct, false, &port.link_up});
    io_->look();
    worker_->watch_interrupt(port.interrupt.get());
    spdlog::info("{}: payloads wait in {}", port.name, port.why);
    return {};
}

// The worker is paused.
void VfioDataplane::stop(NicPort& port) {
    if (!port.started) return;
    io_->remove(port.id);
    worker_->unwatch_interrupt(port.interrupt.get());
    std::vector<offload::Slot> left;
    port.stop(left);
    io_->take_back(left);
    release_rings(port);
}

// The NIC does no DMA any more, or never did.
void VfioDataplane::release_rings(NicPort& port) {
    (void)container_->unmap(port.rings.iova, port.rings.mapping.bytes().size());
    iova_space_->free(port.rings.iova, port.rings.mapping.bytes().size());
    port.rings.mapping.reset();
}

void VfioDataplane::detach(uint16_t id) {
    NicPort* port = by_id(id);
    if (!port || !port->started) return;
    const WorkerPause paused(*worker_);
    stop(*port);
}

Result<std::vector<uint32_t>> VfioDataplane::commit() {
    return std::vector<uint32_t>{};
}

void VfioDataplane::reset_counters(uint16_t port) {
    const WorkerPause paused(*worker_);
    counters_.reset_port(port);
}

NicPort* VfioDataplane::by_id(uint16_t id) const {
    for (const auto& [name, port] : ports_)
        if (port->id == id) return port.get();
    return nullptr;
}

std::optional<NicDetails> VfioDataplane::nic(uint16_t id) {
    NicPort* port = by_id(id);
    if (!port) return std::nullopt;
    NicDetails details;
    details.pci = port->address.to_string();
    details.model = port->nic->model();
    details.direct = port->direct;
    details.payload = port->why;
    if (port->direct)
        for (const auto& [name, other] : ports_)
            if (!other->direct) details.bounced_to.push_back(name);
    const WorkerPause paused(*worker_);
    for (const auto& [name, value] : port->nic->statistics())
        details.statistics.emplace_back(name, value);
    const offload::NicErrors& errors = port->nic->errors();
    details.statistics.insert(details.statistics.end(), {{"hardware_split", errors.hardware_split},
                                                         {"unsplit", errors.unsplit},
                                                         {"rx_error_frames", errors.rx_error_frames},
                                                         {"rx_too_long", errors.rx_too_long},
                                                         {"rx_bad_descriptor", errors.rx_bad_descriptor},
                                                         {"tx_bad_completion", errors.tx_bad_completion},
                                                         {"dead_reads", errors.dead_reads}});
    return details;
}

std::vector<WorkerState> VfioDataplane::workers() {
    WorkerState state;
    state.cpu = Worker::placement(workers_, 0).cpu;
    state.polling = workers_.polling;
    state.counters = counters_.all_ports();
    for (const auto& [name, port] : ports_)
        if (port->started) state.queues.push_back({port->id, 0, true});
    return {state};
}

void VfioDataplane::watch(int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void VfioDataplane::poll() {
    uint64_t rung = 0;
    if (::read(queues_.for_daemon_wakeup.get(), &rung, sizeof rung) == sizeof rung) poll_queue();
    poll_observations();
    for (const auto& [name, port] : ports_)
        poll_tap(*port);
    const bool all = events_->poll([this](offload::PciAddress address) { device_removed(address); });
    if (!all) spdlog::warn("uevents were lost: a device may have gone unnoticed");
    for (const auto& [name, port] : ports_)
        if (::read(port->removal.get(), &rung, sizeof rung) == sizeof rung) {
            spdlog::warn("{}: the kernel wants the NIC back", name);
            destroy_device(name);
            break;  // the iterator has gone with it; the others are asked next time
        }
}

void VfioDataplane::poll_queue() {
    queues_.for_daemon.pop(queued_per_poll, [this](const pp_punt& punt, std::span<uint8_t> frame) {
        const auto verdict = static_cast<pp_verdict>(punt.verdict);
        if (action_of(verdict) == PP_ACTION_PUNT) return on_punt_(punt, frame);
        if (const NicPort* port = by_id(punt.port)) (void)port->tap.deliver(frame);
    });
    if (queues_.for_daemon.empty()) return;
    const uint64_t one = 1;  // others are to have their turn before the rest
    [[maybe_unused]] const auto written = ::write(queues_.for_daemon_wakeup.get(), &one, sizeof one);
}

void VfioDataplane::poll_tap(NicPort& port) {
    std::array<uint8_t, largest_frame> frame;
    for (size_t count = 0; count < tap_frames_per_poll; count++) {
        const size_t length = port.tap.receive(frame);
        if (length == 0) return;
        const std::span<const uint8_t> whole(frame.data(), length);
        (void)transmit(port.id, {&whole, 1});
    }
}

bool VfioDataplane::transmit(uint16_t id, std::span<const std::span<const uint8_t>> parts) {
    const NicPort* port = by_id(id);
    size_t length = 0;
    for (const auto& part : parts)
        length += part.size();
    if (!port || !port->started || length > header_bytes + settings_.slot_bytes) return false;
    if (!queues_.to_send.push({id, 0, 0, static_cast<uint32_t>(length)}, parts)) return false;
    worker_->wake();
    return true;
}

void VfioDataplane::tick() {
    poll_observations();
    for (const auto& [name, port] : ports_)
        port->tap.set_carrier(port->started && port->link_up.load(std::memory_order_relaxed));
}

void VfioDataplane::device_removed(offload::PciAddress address) {
    if (!payload_.memory || payload_.memory->source().device != address) return;
    spdlog::error("{}: its device has gone; packets with payload are dropped until a restart",
                  payload_.memory->source().to_string());
    payload_.memory->revoke();
}

// Every NIC forgets its buffers there, and starts again with ones in main memory: what the host and the slow
// path get still arrives, and what would be forwarded is dropped under its name. P2P that silently turned
// into bounces would be the wrong surprise.
void VfioDataplane::stop_payload_use() {
    const WorkerPause paused(*worker_);
    std::vector<NicPort*> restarted;
    for (auto& [name, port] : ports_) {
        if (!port->started) continue;
        stop(*port);
        restarted.push_back(port.get());
    }
    slots_->drop_peer();
    for (NicPort* port : restarted) {
        const bool lost = std::exchange(port->direct, false);
        if (lost) port->why = "nowhere: the payload memory has been revoked";
        auto memory = take_main_memory(port->ring_bytes(settings_), false, *iova_space_, *container_);
        auto started =
            memory ? port->start(settings_, workers_.polling, {std::move(memory->mapping), memory->iova})
                   : Result<void>(tl::unexpected(memory.error()));
        if (!started) {
            spdlog::error("{}", started.error().to_string());
            if (memory) release_rings(*port);
            continue;
        }
        io_->add({port->id, port->nic.get(), false, lost, &port->link_up});
        worker_->watch_interrupt(port->interrupt.get());
    }
}

}  // namespace pktpit::router
