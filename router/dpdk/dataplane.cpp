// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/dataplane.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/loop/cpus.h"

namespace pktpit::router {
namespace {

constexpr uint32_t mbufs_a_port = 4096;  ///< beside its rings: what drivers keep, the worker's cache
constexpr uint32_t spare_ports = 2;      ///< that a reload may add
constexpr uint32_t most_mbufs = (1U << 22) - 1;
constexpr size_t eal_memory = size_t{48} << 20;  ///< what EAL and drivers take for themselves

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
    auto held = lock(config);
    if (!held) return tl::unexpected(held.error());
    std::unique_ptr<DpdkDataplane> self(new DpdkDataplane(config, std::move(*held), std::move(on_punt)));
    if (auto done = self->set_up(config, capacity); !done) return tl::unexpected(done.error());
    return self;
}

DpdkDataplane::~DpdkDataplane() {
    for (EthPort* port : devices())
        stop(*port);
    end();  // before the pools that the ports' drivers take from
    others_.clear();
    payload_.reset();
    packets_.reset();
    eal_.reset();
}

Result<void> DpdkDataplane::set_up(const config::Config& config, const fib::Capacity& capacity) {
    if (auto done = set_up_image(capacity); !done) return done;
    const uint32_t mbufs = mbufs_for(config);
    if (auto started = start_eal(mbufs); !started) return started;
    auto packets = make_packet_pool("pktpit-packets", mbufs, settings_.slot_bytes);
    if (!packets) return tl::unexpected(packets.error());
    packets_ = std::move(*packets);
    for (size_t i = 0; i < settings_.devices.size(); i++) {
        auto device = EthDevice::open(settings_.devices[i], "/dpdk/devices/" + std::to_string(i), instance());
        if (!device) return tl::unexpected(device.error());
        others_.push_back(std::move(*device));
    }
    for (const auto& [name, interface] : config.interfaces)
        if (!interface.parent)
            if (auto made = create_device(interface); !made) return made;
    if (auto done = set_up_payload(); !done) return done;
    // Links take their time, and come up while the tables are filled; who receives them comes later.
    for (const EthPort* port : devices())
        if (auto started = start_device(*port); !started) return started;
    wait_for_links();
    start_workers();
    return {};
}

bool DpdkDataplane::show_links() {
    bool all = true;
    for (EthPort* port : devices()) {
        port->show_link();
        all = all && port->device->link_up();
    }
    return all;
}

void DpdkDataplane::start_workers() {
    for (unsigned i = 0; i < worker_settings().count; i++) {
        auto made =
            std::make_unique<EthPacketIo>(packets_.get(), payload_ ? &payload_->memory() : nullptr,
                                          counters_of(i), ImageView{image_memory().data(), &geometry()});
        ios_.push_back(made.get());
        Worker& worker = add_worker(std::move(made));
        worker.watch_interrupt(ios_.back()->sleep_descriptor());
        worker.resume();
    }
}

Result<void> DpdkDataplane::start_eal(uint32_t mbufs) {
    EalPlan plan;
    plan.prefix = "pktpit-" + instance();
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
    std::vector<rte_device*> physical_devices;
    bool copies = false;  // some driver cannot send from there
    for (const EthPort* port : devices()) {
        const bool physical = config::DpdkDevice::parse(port->text).pci;
        if (physical) physical_devices.push_back(port->device->bus_device());
        copies = copies || !physical;
    }
    auto payload = PayloadMemory::open(settings_.payload_memory, "pktpit-payloads", settings_.slot_bytes,
                                       std::move(physical_devices), copies);
    if (!payload) return tl::unexpected(payload.error());
    payload_ = std::move(*payload);
    spdlog::info("payload memory: {}; the CPU's mapping is {}", payload_->memory().source().to_string(),
                 copies ? "read-only" : "PROT_NONE");
    return {};
}

Result<void> DpdkDataplane::create_device(const config::Interface& interface) {
    if (port(interface.name)) return {};
    auto made = EthPort::open(interface, settings_.slot_bytes, instance());
    if (!made) return tl::unexpected(made.error());
    spdlog::info("{}: {} ({}), MAC address {}", interface.name, interface.device, (*made)->device->driver(),
                 (*made)->device->mac().to_string());
    add_port(std::move(*made));
    return {};
}

Result<void> DpdkDataplane::start_port(TapPort& which) {
    auto& port = static_cast<EthPort&>(which);
    if (auto started = start(port); !started) return started;
    port.wanted = true;
    port.show_link();
    return {};
}

void DpdkDataplane::stop_port(TapPort& which) {
    auto& port = static_cast<EthPort&>(which);
    port.wanted = false;
    stop(port);
}

Result<void> DpdkDataplane::start_device(const EthPort& port) {
    EthWishes wishes;
    wishes.rx_descriptors = static_cast<uint16_t>(settings_.rx_descriptors);
    wishes.tx_descriptors = static_cast<uint16_t>(settings_.tx_descriptors);
    wishes.mtu = port.mtu();
    wishes.interrupts = worker_settings().polling != config::Polling::busy;
    wishes.queues = static_cast<uint16_t>(worker_settings().count);
    EthDevice& device = *port.device;
    if (auto started = device.start(wishes, {packets_.get(), payload_ ? payload_->pool() : nullptr});
        !started)
        return started;
    if (device.plan().tx_queues >= worker_settings().count) return {};
    device.stop();
    return fail(port.where(),
                "the driver has " + std::to_string(device.plan().tx_queues) + " transmit queues here for " +
                    std::to_string(worker_settings().count) + " workers",
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
    for (unsigned i = 0; i < ios_.size(); i++) {
        EthPacketIo::Port share{port.id, device.id(),        static_cast<uint16_t>(i),
                                {},      plan.multi_segment, device.has_interrupts()};
        share.tags_put_back = device.driver() == "net_af_packet";
        for (uint16_t queue = 0; queue < plan.rx_queues; queue++)
            if ((queue + port.id) % ios_.size() == i) share.queues.push_back(queue);
        ios_[i]->add(share);
    }
    return {};
}

// The workers rest while the port is taken from them, and no longer: a driver takes its time to stop.
void DpdkDataplane::stop(EthPort& port) {
    if (!std::exchange(port.started, false)) return;
    {
        const WorkerPause paused(all_workers());
        for (EthPacketIo* io : ios_)
            io->remove(port.id);
    }
    if (port.device) port.device->stop();
}

std::vector<WorkerState::Queue> DpdkDataplane::queues_of(unsigned worker) const {
    std::vector<WorkerState::Queue> queues;
    for (const auto& port : ios_[worker]->ports())
        for (const uint16_t queue : port.queues)
            queues.push_back({port.id, queue, false});
    return queues;
}

size_t DpdkDataplane::longest_frame() const {
    return settings_.slot_bytes + link_layer_bytes;
}

std::optional<NicDetails> DpdkDataplane::nic(uint16_t id) {
    const auto* port = static_cast<const EthPort*>(this->port(id));
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

void DpdkDataplane::tick() {
    StagelessDataplane::tick();
    for (EthPort* port : devices()) {
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
    auto device = EthDevice::open(port.text, port.where(), instance());
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
