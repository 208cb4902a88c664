// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/stageless.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "router/dataplane/instance_lock.h"
#include "router/dataplane/linux_below.h"
#include "router/dataplane/run_directory.h"
#include "router/loop/cpus.h"

namespace pktpit::router {
namespace {

constexpr size_t queued_per_poll = 256;
constexpr size_t tap_frames_per_poll = 64;
constexpr size_t observations_per_poll = 1024;
constexpr size_t largest_frame = 16384;
constexpr std::chrono::milliseconds link_poll_period{10};
// A second: what takes longer, as negotiation of a copper link does, comes as an event.
constexpr int most_link_polls = 100;

}  // namespace

Result<Fd> StagelessDataplane::lock(const config::Config& config) {
    if (auto usable = check_cpus(config.workers, usable_cpus()); !usable)
        return tl::unexpected(usable.error());
    return lock_instance(config.instance);
}

StagelessDataplane::StagelessDataplane(const config::Config& config, Fd lock, PuntHandler on_punt)
    : instance_(config.instance),
      lock_(std::move(lock)),
      on_punt_(std::move(on_punt)),
      workers_(config.workers),
      counters_(config.workers.count),
      for_daemon_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    watch(for_daemon_.get());
}

StagelessDataplane::~StagelessDataplane() {
    ::unlink(run_path(instance_, ".lock").c_str());
}

void StagelessDataplane::end() {
    for (const auto& thread : threads_)
        thread->worker.reset();
    threads_.clear();
    ports_.clear();
}

Result<void> StagelessDataplane::set_up_image(const fib::Capacity& capacity) {
    geometry_ = fib::plan_geometry(capacity);
    auto image = HugeMemory::map(geometry_.image_bytes);
    if (!image) return tl::unexpected(image.error());
    image_ = std::move(*image);
    image_bytes_ = image_.bytes();
    return {};
}

// Another block each time: no reader waits, and the old one goes when none is left in it.
Result<void> StagelessDataplane::set_filters(const FilterSet& set) {
    std::unique_ptr<FilterBlock> next;
    if (set.any()) {
        auto made = FilterBlock::make(set);
        if (!made) return tl::unexpected(made.error());
        next = std::move(*made);
        counters_.make_filter_counters();
    }
    published_filters_.store(next ? &next->view() : nullptr, std::memory_order_release);
    epochs_.wait();
    filters_ = std::move(next);
    return {};
}

// Entries change in place; the block stays, since a worker may be in it.
Result<void> StagelessDataplane::set_guards(const GuardSet& set) {
    if (!guard_ && set.any()) guard_ = std::make_unique<pp_guard>();
    if (guard_) write_guard(*guard_, guards_, set);
    guards_ = set;
    published_guard_.store(set.any() ? guard_.get() : nullptr, std::memory_order_release);
    return {};
}

std::vector<pp_filter_counters> StagelessDataplane::filter_counters(uint32_t first, uint32_t count) const {
    std::vector<pp_filter_counters> out;
    for (uint32_t i = 0; i < count; i++)
        out.push_back(counters_.filter(first + i));
    return out;
}

void StagelessDataplane::set_up_image(const pp_fib_geometry& geometry, std::span<std::byte> memory) {
    geometry_ = geometry;
    image_bytes_ = memory;
}

Worker& StagelessDataplane::add_worker(std::unique_ptr<PortIo> io) {
    const auto index = static_cast<unsigned>(threads_.size());
    auto thread = std::make_unique<Thread>();
    thread->queues.for_daemon_wakeup = Fd(fcntl(for_daemon_.get(), F_DUPFD_CLOEXEC, 0));
    thread->io = std::move(io);
    thread->worker = std::make_unique<Worker>(
        *thread->io, ImageView{image_bytes_.data(), &geometry_, &published_filters_, &published_guard_},
        epochs_, counters_.of(index), thread->queues, workers_.polling, Worker::placement(workers_, index));
    threads_.push_back(std::move(thread));
    return *threads_.back()->worker;
}

std::vector<Worker*> StagelessDataplane::all_workers() const {
    std::vector<Worker*> workers;
    workers.reserve(threads_.size());
    for (const auto& thread : threads_)
        workers.push_back(thread->worker.get());
    return workers;
}

void StagelessDataplane::wait_for_links() {
    for (int waited = 0; waited < most_link_polls; waited++) {
        if (show_links()) return;
        std::this_thread::sleep_for(link_poll_period);
    }
}

TapPort& StagelessDataplane::add_port(std::unique_ptr<TapPort> port) {
    watch(port->tap.descriptor());
    return *ports_.emplace(port->name, std::move(port)).first->second;
}

TapPort* StagelessDataplane::port(uint16_t id) const {
    for (const auto& [name, port] : ports_)
        if (port->id == id) return port.get();
    return nullptr;
}

TapPort* StagelessDataplane::port(const std::string& name) const {
    const auto found = ports_.find(name);
    return found == ports_.end() ? nullptr : found->second.get();
}

void StagelessDataplane::destroy_device(const std::string& name) {
    const auto found = ports_.find(name);
    if (found == ports_.end()) return;
    stop_port(*found->second);
    ports_.erase(found);  // its descriptors leave the epoll set as they close
}

Result<void> StagelessDataplane::prepare(uint16_t id, uint32_t, const config::Interface& settings) {
    TapPort* found = port(settings.name);
    if (!found)
        return fail("/interfaces/" + settings.name, "the device of this port is not there",
                    "a device that was opened", "");
    found->id = id;
    return {};
}

Result<Dataplane::Attachment> StagelessDataplane::attach(uint16_t id, uint32_t ifindex,
                                                         const config::Interface& settings) {
    if (auto prepared = prepare(id, ifindex, settings); !prepared) return tl::unexpected(prepared.error());
    if (auto started = start_port(*port(settings.name)); !started) return tl::unexpected(started.error());
    Attachment attachment;
    attachment.mode = AttachMode::user;
    return attachment;
}

void StagelessDataplane::detach(uint16_t id) {
    if (TapPort* found = port(id)) stop_port(*found);
}

void StagelessDataplane::reset_counters(uint16_t port) {
    const WorkerPause paused(all_workers());
    counters_.reset_port(port);
}

std::vector<WorkerState> StagelessDataplane::workers() {
    std::vector<WorkerState> states;
    for (unsigned i = 0; i < threads_.size(); i++) {
        WorkerState state;
        state.index = i;
        state.cpu = Worker::placement(workers_, i).cpu;
        state.polling = workers_.polling;
        state.counters = counters_.of(i).all_ports();
        state.queues = queues_of(i);
        states.push_back(std::move(state));
    }
    return states;
}

Result<void> StagelessDataplane::observe(const std::optional<pp_observing>& wanted,
                                         ObservationHandler on_record) {
    on_record_ = std::move(on_record);
    for (const auto& thread : threads_)
        thread->worker->observe(wanted);
    return {};
}

uint64_t StagelessDataplane::lost_observations(uint16_t port) const {
    uint64_t lost = 0;
    for (const auto& thread : threads_)
        if (const PacketObserver* observer = thread->worker->observer()) lost += observer->lost(port);
    return lost;
}

// What is left waits for the next call, at the latest the next tick's.
void StagelessDataplane::poll_observations() {
    for (const auto& thread : threads_)
        if (PacketObserver* observer = thread->worker->observer())
            observer->pop(observations_per_poll, on_record_);
}

void StagelessDataplane::watch(int descriptor) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = descriptor;
    epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event);
}

void StagelessDataplane::poll() {
    uint64_t rung = 0;
    if (::read(for_daemon_.get(), &rung, sizeof rung) == sizeof rung) poll_queues();
    poll_observations();
    for (const auto& [name, port] : ports_)
        poll_tap(*port);
}

void StagelessDataplane::tick() {
    if (!std::exchange(looked_for_left_, true)) LinuxBelow::give_back_left(instance_);
    poll_observations();
}

void StagelessDataplane::copy_returning() {
    for (const auto& thread : threads_)
        thread->worker->copy_returning();
}

void StagelessDataplane::poll_queues() {
    bool more = false;
    for (const auto& thread : threads_) {
        FrameQueue& queue = thread->queues.for_daemon;
        queue.pop(queued_per_poll, [this](const pp_punt& punt, std::span<uint8_t> frame) {
            const auto verdict = static_cast<pp_verdict>(punt.verdict);
            if (punt.copy != 0 || action_of(verdict) == PP_ACTION_PUNT) return on_punt_(punt, frame);
            if (const TapPort* from = port(punt.port)) (void)from->tap.deliver(frame);
        });
        more = more || !queue.empty();
    }
    if (!more) return;
    const uint64_t one = 1;  // others are to have their turn before the rest
    [[maybe_unused]] const auto written = ::write(for_daemon_.get(), &one, sizeof one);
}

void StagelessDataplane::poll_tap(const TapPort& port) {
    std::array<uint8_t, largest_frame> frame;
    for (size_t count = 0; count < tap_frames_per_poll; count++) {
        const size_t length = port.tap.receive(frame);
        if (length == 0) return;
        const std::span<const uint8_t> whole(frame.data(), length);
        (void)transmit(port.id, {&whole, 1});
    }
}

bool StagelessDataplane::transmit(uint16_t id, std::span<const std::span<const uint8_t>> parts) {
    const TapPort* to = port(id);
    size_t length = 0;
    for (const auto& part : parts)
        length += part.size();
    if (!to || !to->started || length > longest_frame() || threads_.empty()) return false;
    // Always by the same worker: what the host sends stays in order.
    Thread& first = *threads_.front();
    if (!first.queues.to_send.push({id, 0, 0, static_cast<uint32_t>(length)}, parts)) return false;
    first.worker->wake();
    return true;
}

}  // namespace pktpit::router
