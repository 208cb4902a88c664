#include "router/dpdk/dataplane.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <thread>

#include "router/dataplane/instance_lock.h"
#include "router/dataplane/run_directory.h"
#include "router/loop/cpus.h"

namespace pktpit::router {
namespace {

constexpr uint32_t mbufs_a_port = 4096;  ///< beside its rings: what drivers keep, the worker's cache
constexpr uint32_t spare_ports = 2;      ///< that a reload may add
constexpr uint32_t most_mbufs = (1U << 22) - 1;
constexpr size_t eal_memory = size_t{48} << 20;  ///< what EAL and drivers take for themselves
constexpr size_t queued_per_poll = 256;
constexpr size_t tap_frames_per_poll = 64;
constexpr size_t largest_frame = 16384;
constexpr std::chrono::milliseconds link_poll_period{10};
constexpr int most_link_polls = 100;  // a second; what takes longer comes later

uint32_t mbufs_for(const config::Config& config) {
    if (config.dpdk.mbufs != 0) return config.dpdk.mbufs;
    const auto ports = static_cast<uint32_t>(
        std::ranges::count_if(config.interfaces, [](const auto& entry) { return !entry.second.parent; }));
    const uint64_t wanted = uint64_t{ports + spare_ports} *
                            (config.dpdk.rx_descriptors + config.dpdk.tx_descriptors + mbufs_a_port);
    // One below a power of two is what a mempool's ring holds without waste.
    return static_cast<uint32_t>(std::min<uint64_t>(wanted, most_mbufs));
}

}  // namespace

Result<std::unique_ptr<DpdkDataplane>> DpdkDataplane::open(const config::Config& config,
                                                           const fib::Capacity& capacity,
                                                           PuntHandler on_punt) {
    if (auto usable = check_cpus(config.workers, usable_cpus()); !usable)
        return tl::unexpected(usable.error());
    auto lock = lock_instance(config.instance);
    if (!lock) return tl::unexpected(lock.error());
    std::unique_ptr<DpdkDataplane> self(new DpdkDataplane(config, std::move(*lock), std::move(on_punt)));
    if (auto done = self->set_up(config, capacity); !done) return tl::unexpected(done.error());
    return self;
}

DpdkDataplane::~DpdkDataplane() {
    for (auto& [name, port] : ports_)
        stop(*port);
    for (const auto& thread : threads_)
        thread->worker.reset();
    ports_.clear();  // before the pools that their drivers take from
    others_.clear();
    payload_.reset();
    packets_.reset();
    eal_.reset();
    ::unlink(run_path(instance_, ".lock").c_str());
}

Result<void> DpdkDataplane::set_up(const config::Config& config, const fib::Capacity& capacity) {
    geometry_ = fib::plan_geometry(capacity);
    auto image = fib::HugeMemory::map(geometry_.image_bytes);
    if (!image) return tl::unexpected(image.error());
    image_ = std::move(*image);
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    for_daemon_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    watch(for_daemon_.get());

    const uint32_t mbufs = mbufs_for(config);
    if (auto started = start_eal(mbufs); !started) return started;
    auto packets = make_packet_pool("pktpit-packets", mbufs, settings_.slot_bytes);
    if (!packets) return tl::unexpected(packets.error());
    packets_ = std::move(*packets);
    for (size_t i = 0; i < settings_.devices.size(); i++) {
        auto device = EthDevice::open(settings_.devices[i], "/dpdk/devices/" + std::to_string(i));
        if (!device) return tl::unexpected(device.error());
        others_.push_back(std::move(*device));
    }
    for (const auto& [name, interface] : config.interfaces)
        if (!interface.parent)
            if (auto made = create_device(interface); !made) return made;
    if (auto done = set_up_payload(); !done) return done;
    // Links take their time, and come up while the tables are filled; who receives them comes later.
    for (const auto& [name, port] : ports_)
        if (auto started = start_device(*port); !started) return started;
    wait_for_links();
    return start_workers();
}

// Routes over a port whose link is down are not in the FIB, and a large table takes a second to go there: it
// is to be loaded once, with the links as they will be.
void DpdkDataplane::wait_for_links() {
    for (int waited = 0; waited < most_link_polls; waited++) {
        bool all = true;
        for (const auto& [name, port] : ports_) {
            port->show_link();
            all = all && port->device->link_up();
        }
        if (all) return;
        std::this_thread::sleep_for(link_poll_period);
    }
}

Result<void> DpdkDataplane::start_workers() {
    const ImageView image{image_.bytes().data(), &geometry_};
    for (unsigned i = 0; i < workers_.count; i++) {
        auto thread = std::make_unique<Thread>();
        thread->queues.for_daemon_wakeup = Fd(fcntl(for_daemon_.get(), F_DUPFD_CLOEXEC, 0));
        thread->io = std::make_unique<EthPacketIo>(packets_.get(), payload_ ? &payload_->memory() : nullptr,
                                                   counters_.of(i));
        thread->worker =
            std::make_unique<Worker>(*thread->io, image, epochs_, counters_.of(i), thread->queues,
                                     workers_.polling, Worker::placement(workers_, i));
        thread->worker->watch_interrupt(thread->io->sleep_descriptor());
        thread->worker->resume();
        threads_.push_back(std::move(thread));
    }
    return {};
}

std::vector<Worker*> DpdkDataplane::all_workers() const {
    std::vector<Worker*> workers;
    for (const auto& thread : threads_)
        workers.push_back(thread->worker.get());
    return workers;
}

Result<void> DpdkDataplane::start_eal(uint32_t mbufs) {
    EalPlan plan;
    plan.prefix = "pktpit-" + instance_;
    plan.cpu = a_cpu_of_ours();
    plan.memory = pool_bytes(mbufs, settings_.slot_bytes) + eal_memory;
    plan.options = settings_.eal;
    const size_t free = free_hugepage_bytes();
    plan.hugepages = settings_.memory == config::DpdkMemory::hugepages ||
                     (settings_.memory == config::DpdkMemory::automatic && free >= plan.memory);
    if (!plan.hugepages && settings_.memory == config::DpdkMemory::automatic)
        spdlog::info(
            "{} MiB of hugepages are free, DPDK wants {}: it takes ordinary pages, which are slower "
            "(echo {} > /proc/sys/vm/nr_hugepages)",
            free >> 20, plan.memory >> 20, (plan.memory >> 21) + 1);
    auto eal = Eal::start(plan);
    if (!eal) return tl::unexpected(eal.error());
    eal_ = std::move(*eal);
    return {};
}

Result<void> DpdkDataplane::set_up_payload() {
    if (settings_.payload_memory.kind == config::MemoryKind::hugepages) return {};
    std::vector<rte_device*> devices;
    bool copies = false;  // some driver cannot send from there
    for (const auto& [name, port] : ports_) {
        const bool physical = config::DpdkDevice::parse(port->text).pci;
        if (physical) devices.push_back(port->device->bus_device());
        copies = copies || !physical;
    }
    auto payload = PayloadMemory::open(settings_.payload_memory, "pktpit-payloads", settings_.slot_bytes,
                                       std::move(devices), copies);
    if (!payload) return tl::unexpected(payload.error());
    payload_ = std::move(*payload);
    spdlog::info("payload memory: {}; the CPU's mapping is {}", payload_->memory().source().to_string(),
                 copies ? "read-only" : "PROT_NONE");
    return {};
}

Result<void> DpdkDataplane::create_device(const config::Interface& interface) {
    if (ports_.contains(interface.name)) return {};
    auto port = EthPort::open(interface, settings_.slot_bytes);
    if (!port) return tl::unexpected(port.error());
    watch((*port)->tap.descriptor());
    spdlog::info("{}: {} ({}), MAC address {}", interface.name, interface.device, (*port)->device->driver(),
                 (*port)->device->mac().to_string());
    ports_.emplace(interface.name, std::move(*port));
    return {};
}

void DpdkDataplane::destroy_device(const std::string& name) {
    const auto found = ports_.find(name);
    if (found == ports_.end()) return;
    stop(*found->second);
    ports_.erase(found);  // its tap leaves the epoll set as it closes
}

Result<void> DpdkDataplane::prepare(uint16_t id, uint32_t, const config::Interface& settings) {
    const auto found = ports_.find(settings.name);
    if (found == ports_.end())
        return fail("/interfaces/" + settings.name, "the device of this port is not there",
                    "a device that was opened", "");
    found->second->id = id;
    return {};
}

Result<Dataplane::Attachment> DpdkDataplane::attach(uint16_t id, uint32_t ifindex,
                                                    const config::Interface& settings) {
    if (auto prepared = prepare(id, ifindex, settings); !prepared) return tl::unexpected(prepared.error());
    EthPort& port = *ports_.at(settings.name);
    if (auto started = start(port); !started) return tl::unexpected(started.error());
    port.wanted = true;
    port.show_link();
    Attachment attachment;
    attachment.mode = AttachMode::user;
    return attachment;
}

Result<void> DpdkDataplane::start_device(const EthPort& port) {
    EthWishes wishes;
    wishes.rx_descriptors = static_cast<uint16_t>(settings_.rx_descriptors);
    wishes.tx_descriptors = static_cast<uint16_t>(settings_.tx_descriptors);
    wishes.mtu = port.mtu();
    wishes.interrupts = workers_.polling != config::Polling::busy;
    wishes.queues = static_cast<uint16_t>(workers_.count);
    EthDevice& device = *port.device;
    if (auto started = device.start(wishes, {packets_.get(), payload_ ? payload_->pool() : nullptr});
        !started)
        return started;
    if (device.plan().tx_queues >= workers_.count) return {};
    device.stop();
    return fail(port.where(),
                "the driver has " + std::to_string(device.plan().tx_queues) + " transmit queues here for " +
                    std::to_string(workers_.count) + " workers",
                "a queue for each worker",
                "the driver's argument for more queues (net_af_packet: qpairs), or fewer /workers");
}

Result<void> DpdkDataplane::start(EthPort& port) {
    if (port.started || !port.device) return {};
    if (auto started = start_device(port); !started) return started;
    const EthDevice& device = *port.device;
    const EthPlan& plan = device.plan();
    port.started = true;
    const WorkerPause paused(all_workers());
    // A receive queue has one worker; a port with fewer queues than workers begins with another one each
    // time.
    for (unsigned i = 0; i < threads_.size(); i++) {
        EthPacketIo::Port share{port.id, device.id(),        static_cast<uint16_t>(i),
                                {},      plan.multi_segment, device.has_interrupts()};
        for (uint16_t queue = 0; queue < plan.rx_queues; queue++)
            if ((queue + port.id) % threads_.size() == i) share.queues.push_back(queue);
        threads_[i]->io->add(share);
    }
    return {};
}

// The workers rest while the port is taken from them, and no longer: a driver takes its time to stop.
void DpdkDataplane::stop(EthPort& port) {
    if (!std::exchange(port.started, false)) return;
    {
        const WorkerPause paused(all_workers());
        for (const auto& thread : threads_)
            thread->io->remove(port.id);
    }
    if (port.device) port.device->stop();
}

void DpdkDataplane::detach(uint16_t id) {
    EthPort* port = by_id(id);
    if (!port) return;
    port->wanted = false;
    stop(*port);
}

void DpdkDataplane::reset_counters(uint16_t port) {
    const WorkerPause paused(all_workers());
    counters_.reset_port(port);
}

std::vector<WorkerState> DpdkDataplane::workers() {
    std::vector<WorkerState> states;
    for (unsigned i = 0; i < threads_.size(); i++) {
        WorkerState state;
        state.index = i;
        state.cpu = Worker::placement(workers_, i).cpu;
        state.polling = workers_.polling;
        state.counters = counters_.of(i).all_ports();
        for (const auto& port : threads_[i]->io->ports())
            for (const uint16_t queue : port.queues)
                state.queues.push_back({port.id, queue, false});
        states.push_back(std::move(state));
    }
    return states;
}

EthPort* DpdkDataplane::by_id(uint16_t id) const {
    for (const auto& [name, port] : ports_)
        if (port->id == id) return port.get();
    return nullptr;
}

std::optional<NicDetails> DpdkDataplane::nic(uint16_t id) {
    const EthPort* port = by_id(id);
    if (!port) return std::nullopt;
    NicDetails details;
    details.device = port->text;
    details.model = port->device ? port->device->driver() : "gone";
    details.payload = "the packet's buffer";
    if (payload_ && port->device) {
        details.direct = port->device->plan().split;
        details.payload = details.direct ? payload_->memory().source().to_string()
                                         : "the packet's buffer: the driver does not split receive buffers";
    }
    if (port->device) details.statistics = port->device->statistics();
    return details;
}

void DpdkDataplane::watch(int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void DpdkDataplane::poll() {
    uint64_t rung = 0;
    if (::read(for_daemon_.get(), &rung, sizeof rung) == sizeof rung) poll_queues();
    poll_observations();
    for (const auto& [name, port] : ports_)
        poll_tap(*port);
}

void DpdkDataplane::poll_queues() {
    bool more = false;
    for (const auto& thread : threads_) {
        FrameQueue& queue = thread->queues.for_daemon;
        queue.pop(queued_per_poll, [this](const pp_punt& punt, std::span<uint8_t> frame) {
            const auto verdict = static_cast<pp_verdict>(punt.verdict);
            if (action_of(verdict) == PP_ACTION_PUNT) return on_punt_(punt, frame);
            if (const EthPort* port = by_id(punt.port)) (void)port->tap.deliver(frame);
        });
        more = more || !queue.empty();
    }
    if (!more) return;
    const uint64_t one = 1;  // others are to have their turn before the rest
    [[maybe_unused]] const auto written = ::write(for_daemon_.get(), &one, sizeof one);
}

void DpdkDataplane::poll_tap(const EthPort& port) {
    std::array<uint8_t, largest_frame> frame;
    for (size_t count = 0; count < tap_frames_per_poll; count++) {
        const size_t length = port.tap.receive(frame);
        if (length == 0) return;
        const std::span<const uint8_t> whole(frame.data(), length);
        (void)transmit(port.id, {&whole, 1});
    }
}

bool DpdkDataplane::transmit(uint16_t id, std::span<const std::span<const uint8_t>> parts) {
    const EthPort* port = by_id(id);
    size_t length = 0;
    for (const auto& part : parts)
        length += part.size();
    if (!port || !port->started || length > settings_.slot_bytes + link_layer_bytes) return false;
    // Always by the same worker: what the host sends stays in order.
    if (!threads_.front()->queues.to_send.push({id, 0, 0, static_cast<uint32_t>(length)}, parts))
        return false;
    threads_.front()->worker->wake();
    return true;
}

void DpdkDataplane::tick() {
    poll_observations();
    for (auto& [name, port] : ports_) {
        if (!port->device || port->device->lost()) reopen(*port);
        port->follow_tap();
        port->show_link();
    }
}

// The Linux device below was deleted, perhaps to be made again: another device under the same name.
void DpdkDataplane::reopen(EthPort& port) {
    if (port.device) {
        spdlog::warn("{}: the Linux device below has gone", port.name);
        stop(port);
        port.device.reset();
        port.failure_told = true;  // that it is not there needs no second word
    }
    auto device = EthDevice::open(port.text, port.where());
    if (device) {
        port.device = std::move(*device);
        if (const auto mac = port.tap.mac(); mac && *mac != port.device->mac())
            (void)port.device->set_mac(*mac);
        Result<void> started = port.wanted ? start(port) : Result<void>();
        if (!started) {
            port.device.reset();
            device = tl::unexpected(started.error());
        }
    }
    if (device)
        spdlog::info("{}: the Linux device below is back", port.name);
    else if (!std::exchange(port.failure_told, true))
        spdlog::error("{}; trying again", device.error().to_string());
}

}  // namespace pktpit::router
