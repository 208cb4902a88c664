// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/split_path.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace pktpit::router {
namespace {

constexpr size_t punts_per_poll = 256;
constexpr size_t observations_per_poll = 1024;

}  // namespace

SplitPath::SplitPath(PacketMemory memory, const config::Workers& settings)
    : memory_(std::move(memory)), settings_(settings), returns_(settings.count, PacketMemory::slots) {}

Result<std::unique_ptr<SplitPath>> SplitPath::open(const ImageView& image, fib::Epochs& epochs,
                                                   WorkerCounterSet& counters, pp_order& order,
                                                   const config::Workers& workers, int wakeup) {
    auto memory = PacketMemory::map(workers.count);
    if (!memory) return tl::unexpected(memory.error());
    std::unique_ptr<SplitPath> self(new SplitPath(std::move(*memory), workers));
    for (unsigned i = 0; i < workers.count; i++) {
        auto thread = std::make_unique<Thread>();
        thread->queues.for_daemon_wakeup = Fd(fcntl(wakeup, F_DUPFD_CLOEXEC, 0));
        thread->io = std::make_unique<SocketIo>(i, self->memory_, self->returns_, counters.of(i), order);
        thread->worker = std::make_unique<Worker>(*thread->io, image, epochs, counters.of(i), thread->queues,
                                                  workers.polling, Worker::placement(workers, i));
        thread->worker->resume();
        self->threads_.push_back(std::move(thread));
    }
    return self;
}

// Threads before what they work on.
SplitPath::~SplitPath() {
    for (const auto& thread : threads_)
        thread->worker.reset();
}

std::vector<Worker*> SplitPath::all() const {
    std::vector<Worker*> workers;
    for (const auto& thread : threads_)
        workers.push_back(thread->worker.get());
    return workers;
}

unsigned SplitPath::least_busy() const {
    std::vector<size_t> queues(threads_.size());
    for (const auto& [port, sockets] : ports_)
        for (const auto& socket : sockets->sockets())
            if (socket->receives) queues[socket->worker]++;
    return static_cast<unsigned>(std::ranges::min_element(queues) - queues.begin());
}

uint16_t SplitPath::take_number() {
    uint16_t number = 1;
    while (!numbers_.insert(number).second)
        number++;
    return number;
}

// Sockets are opened while the workers run; only handing them over stops them.
Result<std::map<uint32_t, int>> SplitPath::add(uint16_t port, uint32_t ifindex, const std::string& device,
                                               bool egress_only) {
    const auto workers = static_cast<uint32_t>(threads_.size());
    const QueueCount there = queues_of(device);
    if (!egress_only && there.receive > PP_PORT_QUEUES)
        return fail(device, "it has " + std::to_string(there.receive) + " receive queues",
                    "at most " + std::to_string(PP_PORT_QUEUES) + " on a split port",
                    "ethtool -L " + device + " combined " + std::to_string(PP_PORT_QUEUES));
    const uint32_t queues = egress_only ? std::min({there.receive, there.transmit, workers}) : there.receive;

    auto found = ports_.find(port);
    if (found != ports_.end() && found->second->device().ifindex != ifindex) {
        remove(port);
        found = ports_.end();
    }
    const bool is_new = found == ports_.end();
    if (is_new)
        found =
            ports_
                .emplace(port,
                         std::make_unique<DeviceSockets>(
                             DeviceSockets::Device{device, ifindex, port, workers, least_busy(), egress_only},
                             memory_))
                .first;
    DeviceSockets& sockets = *found->second;
    auto opened = sockets.extend(queues, [this] { return take_number(); });
    if (!opened) {
        if (is_new) ports_.erase(found);
        count_numbers();
        return tl::unexpected(opened.error());
    }
    hand_over(port, sockets, !egress_only);
    tick();
    std::map<uint32_t, int> descriptors;
    for (const auto& socket : sockets.sockets())
        if (socket->receives) descriptors.emplace(socket->rings->queue, socket->descriptor());
    return descriptors;
}

void SplitPath::hand_over(uint16_t port, const DeviceSockets& sockets, bool receiving) {
    const WorkerPause paused(all());
    for (const auto& socket : sockets.sockets()) {
        if (!socket->receives) continue;
        // One that was filled once is emptied before it rests.
        socket->filling = receiving;
        if (receiving) threads_[socket->worker]->worker->watch_interrupt(socket->descriptor());
    }
    for (const auto& thread : threads_)
        thread->io->add(port, sockets);
}

void SplitPath::remove(uint16_t port) {
    const auto found = ports_.find(port);
    if (found == ports_.end()) return;
    std::unique_ptr<DeviceSockets> sockets = std::move(found->second);
    ports_.erase(found);
    std::map<uint32_t, std::vector<offload::Slot>> left;  // by queue
    {
        const WorkerPause paused(all());
        for (const auto& thread : threads_)
            thread->io->remove(port);
        for (const auto& socket : sockets->sockets())
            if (socket->receives) threads_[socket->worker]->worker->unwatch_interrupt(socket->descriptor());
        for (const auto& rings : sockets->rings())
            for (const auto& thread : threads_) {
                const auto slots = thread->io->retire(rings->number);
                left[rings->queue].insert(left[rings->queue].end(), slots.begin(), slots.end());
            }
    }
    const uint32_t ifindex = sockets->device().ifindex;
    sockets.reset();
    for (auto& [queue, slots] : left)
        retired_.add(ifindex, queue, std::move(slots));
    count_numbers();
    tick();
}

bool SplitPath::any_zero_copy() const {
    return std::ranges::any_of(ports_, [](const auto& port) { return port.second->zero_copy(); });
}

void SplitPath::complete_checksums(uint16_t port, bool wanted) {
    const auto found = ports_.find(port);
    if (found == ports_.end()) return;
    const WorkerPause paused(all());
    for (const auto& socket : found->second->sockets())
        socket->completes_checksums = wanted;
}

void SplitPath::count_numbers() {
    numbers_.clear();
    for (const auto& [port, sockets] : ports_)
        for (const auto& rings : sockets->rings())
            numbers_.insert(rings->number);
}

// A queue that a new socket of ours is on is the old one's no more.
bool SplitPath::has(uint32_t ifindex, uint32_t queue) const {
    return std::ranges::any_of(ports_, [&](const auto& entry) {
        return entry.second->device().ifindex == ifindex && entry.second->rings().size() > queue;
    });
}

void SplitPath::tick() {
    if (retired_.empty()) return;
    const auto slots = retired_.take_free([this](uint32_t ifindex, uint32_t queue) {
        return has(ifindex, queue) || queue_is_free(ifindex, queue);
    });
    for (unsigned i = 0; i < threads_.size(); i++) {
        std::vector<offload::Slot> own;
        std::ranges::copy_if(slots, std::back_inserter(own),
                             [i](offload::Slot slot) { return slot.region == i; });
        if (own.empty()) continue;
        const WorkerPause paused(*threads_[i]->worker);
        threads_[i]->io->reclaim(own);
    }
}

// The host's own frames never come this way: the port stage knows the host's addresses.
void SplitPath::poll(const Dataplane::PuntHandler& on_punt) {
    bool more = false;
    for (const auto& thread : threads_) {
        thread->queues.for_daemon.pop(punts_per_poll, on_punt);
        more = more || !thread->queues.for_daemon.empty();
    }
    if (!more) return;
    const uint64_t one = 1;  // others are to have their turn before the rest
    [[maybe_unused]] const auto written =
        ::write(threads_.front()->queues.for_daemon_wakeup.get(), &one, sizeof one);
}

void SplitPath::copy_returning() {
    for (Worker* worker : all())
        worker->copy_returning();
}

std::vector<WorkerState> SplitPath::workers() {
    std::vector<WorkerState> states;
    for (unsigned i = 0; i < threads_.size(); i++) {
        WorkerState state;
        state.index = i;
        state.cpu = Worker::placement(settings_, i).cpu;
        state.polling = settings_.polling;
        for (const auto& [port, sockets] : ports_)
            for (const auto& socket : sockets->sockets())
                if (socket->worker == i && socket->filling)
                    state.queues.push_back({port, socket->rings->queue, sockets->zero_copy()});
        const WorkerPause paused(*threads_[i]->worker);
        state.slots = threads_[i]->io->slots();
        states.push_back(std::move(state));
    }
    return states;
}

void SplitPath::observe(const std::optional<pp_observing>& wanted) {
    for (const auto& thread : threads_)
        thread->worker->observe(wanted);
}

// What is left waits for the next call, at the latest the next tick's.
void SplitPath::poll_observations(const Dataplane::ObservationHandler& on_record) {
    for (const auto& thread : threads_)
        if (PacketObserver* observer = thread->worker->observer())
            observer->pop(observations_per_poll, on_record);
}

uint64_t SplitPath::lost_observations(uint16_t port) const {
    uint64_t lost = 0;
    for (const auto& thread : threads_)
        if (const PacketObserver* observer = thread->worker->observer()) lost += observer->lost(port);
    return lost;
}

}  // namespace pktpit::router
