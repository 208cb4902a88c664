// SPDX-License-Identifier: BSD-3-Clause
// Observation on the `xdp` dataplane: other programs at the ports, rings to read from, and the worker's part.
// What else changes the programs while they run, and what is done now and then.
#include <sys/epoll.h>

#include <cerrno>

#include "base/clock.h"
#include "base/errno_text.h"
#include "router/dataplane/linux_below.h"
#include "router/xdp/dataplane.h"
#include "router/xdp/dispatcher.h"

namespace pktpit::router {

Result<void> XdpDataplane::observe(const std::optional<pp_observing>& wanted, ObservationHandler on_record) {
    if (!wanted) {
        end_observation();
        return {};
    }
    on_record_ = std::move(on_record);
    if (observer_) {
        if (auto changed = observer_->change(*wanted); !changed) return changed;
        if (split_) split_->observe(*wanted);
        return {};
    }
    auto opened =
        StageObserver::open(maps_, *wanted, [this](std::span<const uint8_t> record) { on_record_(record); });
    if (!opened) return tl::unexpected(opened.error());
    observer_ = std::move(*opened);
    epoll_event event{};
    event.events = EPOLLIN;
    Result<void> done;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, observer_->descriptor(), &event) != 0)
        done = fail("epoll", "cannot watch for what is observed: " + errno_text(errno));
    else
        done = swap_programs();
    if (done && split_) split_->observe(*wanted);
    if (!done) end_observation();
    return done;
}

void XdpDataplane::end_observation() {
    if (!observer_) return;
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, observer_->descriptor(), nullptr);
    if (split_) split_->observe(std::nullopt);
    observer_.reset();
    // One that cannot be swapped back goes on as it is: its records go nowhere.
    (void)swap_programs();
}

Result<void> XdpDataplane::swap_programs() {
    Result<void> all;
    for (auto& [port, attached] : ports_) {
        if (!attached.link) {
            if (auto swapped = swap_dispatched(port, attached); !swapped) all = swapped;
            continue;
        }
        auto program = load_port_stage(maps_, geometry_, program_of(port));
        auto swapped = program ? swap(attached.ifindex, attached.link, *program, devices_[port].second)
                               : Result<void>(tl::unexpected(program.error()));
        if (!swapped) all = swapped;
    }
    return all;
}

Result<void> XdpDataplane::swap_dispatched(uint16_t port, Port& attached) {
    const auto earlier = dispatched_port_stages(attached.ifindex);
    const bool generic = attached_program(attached.ifindex).mode == AttachMode::generic;
    const auto dispatched =
        dispatch_port(maps_, geometry_, program_of(port), attached.ifindex, devices_[port].second,
                      generic ? config::XdpMode::generic : config::XdpMode::native);
    if (!dispatched) return tl::unexpected(dispatched.error());
    for (const uint32_t program : earlier)
        undispatch(attached.ifindex, program);
    attached.dispatched = dispatched->program_id;
    return {};
}

Result<void> XdpDataplane::set_heartbeat(const config::Heartbeat& wanted) {
    const config::Heartbeat before = heartbeat_->settings();
    heartbeat_->configure(wanted);
    if (before.on_daemon_loss == wanted.on_daemon_loss) return {};
    auto swapped = swap_programs();
    if (!swapped) {
        heartbeat_->configure(before);
        (void)swap_programs();  // a port whose program cannot be exchanged either way does not look at `hold`
    }
    return swapped;
}

Result<void> XdpDataplane::set_vrfs(bool any) {
    if (vrfs_ == any) return {};
    vrfs_ = any;
    auto swapped = swap_programs();
    if (!swapped) {
        vrfs_ = !any;
        // One that cannot be exchanged either way looks for tables of interfaces that have none.
        (void)swap_programs();
    }
    return swapped;
}

void XdpDataplane::tick() {
    heartbeat_->beat(monotonic_nanoseconds());
    if (ticks_++ == 0) LinuxBelow::give_back_left(instance_);  // of a daemon with another dataplane
    std::map<uint16_t, std::string> split;
    for (const auto& [port, keys] : split_ports_)
        split.emplace(port, devices_[port].second);
    heartbeat_->tell(split, worker_counters_);
    if (split_) split_->tick();
    if (sums_) sums_->tick(std::chrono::nanoseconds(monotonic_nanoseconds()));
    constexpr uint64_t ask_all_every = 10;
    const bool told = targets_ && targets_->changed();
    if (told || ticks_ % ask_all_every == 0) targets_stale_ = true;
    if (!observer_) return;
    observer_->poll();
    if (split_) split_->poll_observations(on_record_);
}

void XdpDataplane::copy_returning() {
    for (const auto& [port, attached] : ports_)
        __atomic_store_n(&auto_->order()->copy_returning[port], uint8_t{1}, __ATOMIC_RELEASE);
    if (split_) split_->copy_returning();
}

uint64_t XdpDataplane::lost_observations(uint16_t port) const {
    return (observer_ ? observer_->lost(port) : 0) + (split_ ? split_->lost_observations(port) : 0);
}

}  // namespace pktpit::router
