// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/dataplane.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <vector>

#include "base/errno_text.h"
#include "router/dataplane/instance_lock.h"
#include "router/dataplane/run_directory.h"
#include "router/dataplane/run_state.h"
#include "router/loop/cpus.h"
#include "router/xdp/dispatcher.h"
#include "router/xdp/earlier_maps.h"
#include "router/xdp/lacking_checksums.h"
#include "router/xdp/vlan_tags.h"

namespace pktpit::router {
namespace {

// libbpf prints to stderr on its own; every error it reports reaches us as a return code with the verifier's
// log.
int silence(libbpf_print_level, const char*, va_list) {
    return 0;
}

}  // namespace

XdpDataplane::XdpDataplane(const std::string& instance, PinDirectory pins, Fd lock, Transmitter transmitter,
                           const config::Workers& workers)
    : instance_(instance),
      pins_(std::move(pins)),
      lock_(std::move(lock)),
      transmitter_(std::move(transmitter)),
      workers_(workers),
      worker_counters_(workers.count) {}

Result<std::unique_ptr<XdpDataplane>> XdpDataplane::open(const std::string& instance,
                                                         const fib::Capacity& capacity, bool dispatcher,
                                                         const config::Workers& workers,
                                                         PuntHandler on_punt) {
    libbpf_set_print(silence);
    if (auto usable = check_cpus(workers, usable_cpus()); !usable) return tl::unexpected(usable.error());
    auto lock = lock_instance(instance);
    if (!lock) return tl::unexpected(lock.error());
    auto pins = PinDirectory::open(instance);
    if (!pins) return tl::unexpected(pins.error());
    auto transmitter = Transmitter::open();
    if (!transmitter) return tl::unexpected(transmitter.error());
    std::unique_ptr<XdpDataplane> self(
        new XdpDataplane(instance, std::move(*pins), std::move(*lock), std::move(*transmitter), workers));
    self->dispatcher_ = dispatcher;
    self->stack_.emplace(self->pins_);
    if (auto adopted = self->adopt(); !adopted) return tl::unexpected(adopted.error());

    self->geometry_ = fib::plan_geometry(capacity);
    EarlierMaps earlier = adopt_maps(self->pins_);
    self->previous_ports_ = std::move(earlier.ports);
    auto maps = make_port_maps(self->geometry_, std::move(earlier.counts));
    if (!maps) return tl::unexpected(maps.error());
    self->maps_ = std::move(*maps);
    self->route_counters_ = std::make_unique<RouteCounterMaps>(
        self->maps_.route_counters.get(), self->maps_.counted_routes.get(), self->worker_counters_);
    auto shared = AutoPorts::open(self->maps_);
    if (!shared) return tl::unexpected(shared.error());
    self->auto_ = std::move(*shared);
    self->heartbeat_.emplace(*self->auto_->order());
    auto image = MappedImage::map(self->maps_.fib_image.get(), true);
    if (!image) return tl::unexpected(image.error());
    self->image_ = std::move(*image);
    auto guard = MappedImage::map(self->maps_.guard.get(), true);
    if (!guard) return tl::unexpected(guard.error());
    self->guard_memory_ = std::move(*guard);
    self->on_punt_ = std::move(on_punt);
    auto punts = PuntReader::open(self->maps_.punts.get(), self->on_punt_);
    if (!punts) return tl::unexpected(punts.error());
    self->punts_ = std::move(*punts);
    if (auto watched = self->watch_punts(); !watched) return tl::unexpected(watched.error());
    auto barrier = RcuBarrier::make();
    if (!barrier) return tl::unexpected(barrier.error());
    self->barrier_ = std::move(*barrier);
    self->targets_ = RedirectTargets::open();
    return self;
}

// What forwards goes on, unless it is taken down on purpose; a start that did not come to its end leaves what
// was there before.
XdpDataplane::~XdpDataplane() {
    if (committed_ && !take_down_) return;
    if (!committed_) stack_->undo();
    for (auto& [port, attached] : ports_)
        end(std::move(attached));
    if (!committed_ && !pins_.remove_if_empty()) return;
    pins_.remove_all();
    ::unlink(run_path(instance_, ".lock").c_str());
}

Result<void> XdpDataplane::adopt() {
    for (auto& [ifindex, link] : pins_.links())
        if (auto adopted = adopt_link(ifindex, std::move(link)); !adopted) return adopted;
    return moved_away_.empty() ? Result<void>() : check_namespace();
}

Result<void> XdpDataplane::adopt_link(uint32_t pinned_as, Fd link) {
    const std::string name = PinDirectory::link_name(pinned_as);
    const auto target = link_target(link.get());
    if (!target) return fail(pins_.path() + "/" + name, target.error().message);
    if (target->ifindex == 0) {
        pins_.remove_port(pinned_as);  // its device is gone
        return {};
    }
    const auto here = ask_attached_program(target->ifindex);
    if (!here) return tl::unexpected(here.error());
    // An ifindex means nothing outside its network namespace, and a device gets another when it moves.
    if (here->program_id != target->program_id || target->ifindex != pinned_as) {
        moved_away_.push_back(pinned_as);
        return {};
    }
    Earlier earlier{running_program(pinned_as, target->program_id), here->mode};
    earlier_.emplace(pinned_as, std::move(earlier));
    earlier_links_.emplace(pinned_as, std::move(link));
    return {};
}

// One of the two that are pinned, or of a daemon that pinned none: then there is no way back to it for one
// without CAP_SYS_ADMIN.
Fd XdpDataplane::running_program(uint32_t ifindex, uint32_t id) const {
    for (const auto& name : {PinDirectory::program_name(ifindex), PinDirectory::next_program_name(ifindex)})
        if (Fd program = pins_.get(name); program && program_id(program.get()) == id) return program;
    return Fd(bpf_prog_get_fd_by_id(id));
}

// Pinned before it runs, beside the one that runs: one of the two is always the one that does.
Result<void> XdpDataplane::swap(uint32_t ifindex, const Fd& link, const Fd& program,
                                const std::string& device) {
    if (auto pinned = pins_.put(PinDirectory::next_program_name(ifindex), program.get()); !pinned)
        return pinned;
    if (auto swapped = swap_program(link.get(), program.get(), device); !swapped) {
        pins_.remove(PinDirectory::next_program_name(ifindex));
        return swapped;
    }
    return committed_ ? settle_program(ifindex) : Result<void>();
}

// What runs has the name of what runs.
Result<void> XdpDataplane::settle_program(uint32_t ifindex) const {
    const Fd next = pins_.get(PinDirectory::next_program_name(ifindex));
    if (!next) return {};
    if (auto pinned = pins_.put(PinDirectory::program_name(ifindex), next.get()); !pinned) return pinned;
    pins_.remove(PinDirectory::next_program_name(ifindex));
    return {};
}

// A whole data path elsewhere is another router's. Single ports have been moved, which the instance's state
// tells for sure.
Result<void> XdpDataplane::check_namespace() const {
    const auto state = load_run_state(run_path(instance_, ".state"));
    const uint64_t current = current_network_namespace();
    const bool known = state && *state && (*state)->network_namespace != 0 && current != 0;
    if (known ? (*state)->network_namespace == current : !earlier_links_.empty()) {
        for (const uint32_t pinned_as : moved_away_)
            spdlog::warn("{}/{}: its device has been moved to another network namespace", pins_.path(),
                         PinDirectory::link_name(pinned_as));
        return {};
    }
    return fail(pins_.path(), "the data path pinned here is in another network namespace",
                "one network namespace an instance",
                "start this daemon there, give it another /instance (not \"" + instance_ +
                    "\"), or take it down: pktpit detach --instance " + instance_);
}

fib::Reclamation XdpDataplane::reclamation() {
    return fib::Reclamation([this] {
        barrier_.wait();
        epochs_.wait();
    });
}

Result<void> XdpDataplane::watch_punts() {
    epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    wakeup_ = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    for (const int descriptor : {punts_->descriptor(), wakeup_.get()}) {
        epoll_event event{};
        event.events = EPOLLIN;
        if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
            return fail("epoll", "cannot watch for punted frames: " + errno_text(errno));
    }
    return {};
}

void XdpDataplane::poll() {
    punts_->poll();
    if (sums_) sums_->poll();
    uint64_t rung = 0;
    const bool worker_rang = ::read(wakeup_.get(), &rung, sizeof rung) == sizeof rung && split_ != nullptr;
    if (worker_rang) split_->poll(on_punt_);
    if (!observer_) return;
    observer_->poll();
    if (worker_rang) split_->poll_observations(on_record_);
}

std::vector<WorkerState> XdpDataplane::workers() {
    if (!split_) return {};
    auto states = split_->workers();
    for (WorkerState& state : states) {
        state.counters = worker_counters_.of(state.index).all_ports();
        for (const auto& queue : state.queues)
            state.stood_in += heartbeat_->stands_in(queue.port, queue.queue);
    }
    return states;
}

pp_port_counters XdpDataplane::counters(uint16_t port) const {
    pp_port_counters sum = read_port_counters(maps_.counters.get(), port);
    add_counters(sum, worker_counters_.port(port));
    return sum;
}

PortProgram XdpDataplane::program_of(uint16_t port) const {
    PortProgram program{port};
    if (split_ports_.contains(port)) program.split_table = port_table_;
    if (auto_ports_.contains(port)) {
        program.split_table = hot_table_;
        program.cold_table = port_table_;
    }
    program.observed = observer_ != nullptr;
    program.watch_daemon = heartbeat_->watches_daemon();
    program.vrfs = vrfs_;
    program.sums = sums_ ? &sums_->maps() : nullptr;
    if (filter_memory_ && filters_.concerns(port)) program.filters = filter_memory_->shape;
    program.guards = guards_.of_port(port);
    program.completes_checksums = completing_.contains(port);
    if (asking_tags_.contains(port)) program.tags_of = devices_.at(port).first;
    return program;
}

void XdpDataplane::collect_traffic(HotChoice& choice) {
    auto_->collect(choice, worker_counters_);
}

Dataplane::Decided XdpDataplane::decided(uint16_t port) const {
    const pp_port_counters stage = read_port_counters(maps_.counters.get(), port);
    uint64_t for_host = 0;
    for (int verdict = PP_NONE + 1; verdict < PP_VERDICT_COUNT; verdict++)
        if (action_of(static_cast<pp_verdict>(verdict)) == PP_ACTION_HOST) for_host += stage.verdict[verdict];
    return {stage.rx_packets - std::min<uint64_t>(for_host, stage.rx_packets),
            worker_counters_.port(port).rx_packets};
}

Result<void> XdpDataplane::set_auto(uint16_t port, bool wanted) {
    if (wanted)
        if (auto begun = auto_->begin_sampling(maps_); !begun) return begun;
    for (size_t worker = 0; worker < worker_counters_.workers(); worker++)
        worker_counters_.of(worker).destinations().watch(port, wanted);
    if (wanted)
        auto_ports_.insert(port);
    else
        auto_ports_.erase(port);
    return {};
}

// Once there is a split port, every port has a socket to send by.
Result<void> XdpDataplane::set_split(uint16_t port, uint32_t ifindex, const config::Interface& settings) {
    const bool split = settings.forwarding != config::Forwarding::inline_;
    if (auto set = set_auto(port, settings.forwarding == config::Forwarding::automatic); !set) return set;
    if (devices_.contains(port) && split == split_ports_.contains(port)) return {};
    forget_sockets(port);
    if (!split && !split_) {
        devices_[port] = {ifindex, settings.name};
        return {};
    }
    if (!split_) {
        auto path =
            SplitPath::open({image_.memory().data(), &geometry_, &published_filters_, &published_guard_},
                            epochs_, worker_counters_, *auto_->order(), workers_, wakeup_.get());
        if (!path) return tl::unexpected(path.error());
        for (const auto& [other, device] : devices_)
            if (auto sender = (*path)->add(other, device.first, device.second, true); !sender)
                return tl::unexpected(sender.error());
        split_ = std::move(*path);
        if (observer_) split_->observe(observer_->wanted());
    }
    auto sockets = split_->add(port, ifindex, settings.name, !split);
    if (!sockets) return tl::unexpected(sockets.error());
    devices_[port] = {ifindex, settings.name};
    if (!split) return {};
    for (const auto& [queue, socket] : *sockets) {
        const uint32_t key = port * uint32_t{PP_PORT_QUEUES} + queue;
        if (bpf_map_update_elem(maps_.split_sockets.get(), &key, &socket, BPF_ANY) != 0)
            return fail(settings.name, "the port stage cannot have the socket: " + errno_text(errno));
        split_ports_[port].push_back(key);
    }
    return {};
}

void XdpDataplane::end_split(uint16_t port) {
    (void)set_auto(port, false);
    forget_sockets(port);
    if (devices_.erase(port) != 0 && split_) split_->remove(port);
}

// From here on its port stage decides by itself.
void XdpDataplane::forget_sockets(uint16_t port) {
    if (const auto found = split_ports_.find(port); found != split_ports_.end()) {
        for (const uint32_t key : found->second)
            bpf_map_delete_elem(maps_.split_sockets.get(), &key);
        split_ports_.erase(found);
    }
}

Result<void> XdpDataplane::prepare(uint16_t port, uint32_t ifindex, const config::Interface& settings) {
    if (!set_target(port, ifindex))
        return fail(settings.name, "cannot make it an egress port: " + errno_text(errno),
                    "a device that XDP can redirect to");
    auto split = set_split(port, ifindex, settings);
    auto program = split ? load_for(port, ifindex, settings) : Result<Fd>(tl::unexpected(split.error()));
    if (!program) {
        end_split(port);
        // One that runs goes on with the program that it has.
        if (!ports_.contains(port)) remove_tx_port(maps_, port);
        return tl::unexpected(program.error());
    }
    prepared_.insert_or_assign(port, std::move(*program));
    targets_stale_ = true;
    return {};
}

// A link keeps its mode, and in generic mode no driver is asked. Nor by a program in a dispatcher.
Result<Fd> XdpDataplane::load_for(uint16_t port, uint32_t ifindex, const config::Interface& settings) {
    asking_tags_.erase(port);
    completing_.erase(port);
    const bool linked = ports_.contains(port) || earlier_links_.contains(ifindex);
    const bool native = settings.xdp_mode == config::XdpMode::native ||
                        (settings.xdp_mode == config::XdpMode::automatic &&
                         !(linked && attached_program(ifindex).mode == AttachMode::generic));
    if (native && may_lack_checksums(settings.name)) completing_.insert(port);
    const VlanTags tags = native && !dispatcher_ ? vlan_tags_of(settings.name) : VlanTags::in_frame;
    if (tags == VlanTags::apart_by_peer || tags == VlanTags::stripped) {
        asking_tags_.insert(port);
        if (auto program = load_port_stage(maps_, geometry_, program_of(port))) return program;
        asking_tags_.erase(port);  // a kernel before 6.8, or without programs that are bound to a device
    }
    return load_port_stage(maps_, geometry_, program_of(port));
}

Result<Dataplane::Attachment> XdpDataplane::attach(uint16_t port, uint32_t ifindex,
                                                   const config::Interface& settings) {
    auto attached = attach_stage(port, ifindex, settings);
    if (attached && split_)
        split_->complete_checksums(port, attached->mode == AttachMode::generic || completing_.contains(port));
    return attached;
}

Result<Dataplane::Attachment> XdpDataplane::attach_stage(uint16_t port, uint32_t ifindex,
                                                         const config::Interface& settings) {
    if (!prepared_.contains(port))
        if (auto prepared = prepare(port, ifindex, settings); !prepared)
            return tl::unexpected(prepared.error());
    const std::string& device = settings.name;
    Attachment attachment;
    if (const auto running = ports_.find(port); running != ports_.end() && running->second.link) {
        const Fd program = std::move(prepared_.extract(port).mapped());
        if (auto swapped = swap(ifindex, running->second.link, program, device); !swapped)
            return tl::unexpected(swapped.error());
        attachment.mode = attached_program(ifindex).mode;
        attachment.warning = tags_warning(vlan_tags_of(device), attachment.mode == AttachMode::generic,
                                          asking_tags_.contains(port));
        return attachment;
    }
    if (dispatcher_ && attach_by_dispatcher(port, ifindex, device, settings.xdp_mode, attachment))
        return attachment;
    auto attached = attach_by_link(port, ifindex, device, settings.xdp_mode);
    if (attached) {
        attached->why_no_dispatcher = attachment.why_no_dispatcher;
        const VlanTags tags = vlan_tags_of(device);
        const bool generic = attached->mode == AttachMode::generic;
        attached->warning = tags_warning(tags, generic, asking_tags_.contains(port));
        // What forwards already goes on.
        if (generic && !attached->adopted && settings.generic_vlan == config::GenericVlan::refuse &&
            may_be_hidden(tags, generic, false)) {
            const std::string why = attached->why_generic;
            detach(port);
            return fail("/interfaces/" + device,
                        "not in generic mode" +
                            (why.empty() ? "" : " (native mode is refused: " + why + ")") + ": " +
                            attached->warning,
                        "a device whose frames have their VLAN tags in them, or native mode",
                        R"(where no tagged frames can come: "generic_vlan": "accept")");
        }
    } else if (committed_) {
        end_split(port);
        remove_tx_port(maps_, port);
    }  // else ports that run already may send by it, until all are given back
    return attached;
}

bool XdpDataplane::attach_by_dispatcher(uint16_t port, uint32_t ifindex, const std::string& device,
                                        config::XdpMode mode, Attachment& attachment) {
    const auto earlier = dispatched_port_stages(ifindex);
    const auto dispatch = [&](config::XdpMode way) {
        return dispatch_port(maps_, geometry_, program_of(port), ifindex, device, way);
    };
    auto dispatched = dispatch(completing_.contains(port) ? config::XdpMode::native : mode);
    if (!dispatched && mode == config::XdpMode::automatic && completing_.erase(port) != 0)
        dispatched = dispatch(mode);
    if (!dispatched) {
        attachment.why_no_dispatcher = dispatched.error().message;
        return false;
    }
    if (!committed_)
        earlier_dispatched_.emplace(ifindex, earlier);
    else
        for (const uint32_t program : earlier)
            undispatch(ifindex, program);
    attachment.mode = dispatched->mode;
    attachment.adopted = !earlier.empty();
    attachment.through_dispatcher = true;
    prepared_.erase(port);
    ports_.insert_or_assign(port, Port{ifindex, Fd(), dispatched->program_id, false});
    targets_stale_ = true;
    return true;
}

Result<Dataplane::Attachment> XdpDataplane::attach_by_link(uint16_t port, uint32_t ifindex,
                                                           const std::string& device, config::XdpMode mode) {
    Fd program = std::move(prepared_.extract(port).mapped());
    Attachment attachment;
    Port attached{ifindex, Fd(), 0, false};
    if (auto earlier = earlier_links_.find(ifindex); earlier != earlier_links_.end()) {
        attachment.mode = earlier_.at(ifindex).mode;
        const bool mode_fits = mode == config::XdpMode::automatic ||
                               (mode == config::XdpMode::native) == (attachment.mode == AttachMode::native);
        if (mode_fits) {
            if (auto swapped = swap(ifindex, earlier->second, program, device); !swapped)
                return tl::unexpected(swapped.error());
            attached.link = std::move(earlier->second);
            attached.taken_over = attachment.adopted = true;
        } else {
            pins_.remove_port(ifindex);
        }
        earlier_links_.erase(earlier);
    }
    if (!attached.link) {
        const auto fitting = [&] {
            return asking_tags_.contains(port) || completing_.contains(port) ? config::XdpMode::native : mode;
        };
        auto made = attach_port(program.get(), ifindex, device, fitting());
        // What is for native mode alone is given up, one after the other.
        while (!made && mode == config::XdpMode::automatic &&
               (asking_tags_.erase(port) != 0 || completing_.erase(port) != 0))
            if (auto other = load_port_stage(maps_, geometry_, program_of(port))) {
                program = std::move(*other);
                made = attach_port(program.get(), ifindex, device, fitting());
            }
        auto pinned = made ? pins_.put(PinDirectory::program_name(ifindex), program.get())
                           : Result<void>(tl::unexpected(made.error()));
        if (pinned) pinned = pins_.put(PinDirectory::link_name(ifindex), made->link.get());
        if (!pinned) {
            if (made) {
                made->link.reset();
                pins_.remove_port(ifindex);
            }  // else what is pinned here may be an earlier daemon's
            give_back(ifindex, Fd());
            return tl::unexpected(pinned.error());
        }
        attached.link = std::move(made->link);
        attachment.mode = made->mode;
        attachment.why_generic = made->why_generic;
    }
    ports_.insert_or_assign(port, std::move(attached));
    targets_stale_ = true;
    return attachment;
}

// Before commit() the device has back what ran on it before this start.
void XdpDataplane::end(Port port) {
    if (port.dispatched != 0) {
        undispatch(port.ifindex, port.dispatched);
        earlier_dispatched_.erase(port.ifindex);
        return;
    }
    if (!port.taken_over || !earlier_.contains(port.ifindex)) {
        pins_.remove_port(port.ifindex);
        port.link.reset();
    }
    give_back(port.ifindex, std::move(port.link));
}

// By the earlier link, or by another where that had to go for another mode.
void XdpDataplane::give_back(uint32_t ifindex, Fd link) {
    const auto found = earlier_.find(ifindex);
    if (found == earlier_.end() || earlier_links_.contains(ifindex)) return;
    const std::string device = "device " + std::to_string(ifindex);
    const auto run = [&]() -> Result<void> {
        const Fd& program = found->second.program;
        if (!program) return fail(device, "its program is not known");
        if (link) return swap_program(link.get(), program.get(), device);
        auto made = attach_earlier(ifindex, device, found->second);
        if (!made) return Result<void>(tl::unexpected(made.error()));
        link = std::move(*made);
        if (auto pinned = pins_.put(PinDirectory::program_name(ifindex), program.get()); !pinned)
            return pinned;
        return pins_.put(PinDirectory::link_name(ifindex), link.get());
    };
    auto back = run();
    if (!back) back = run();  // nobody is there to whom it could be refused
    if (back) pins_.remove(PinDirectory::next_program_name(ifindex));
    if (!back)
        spdlog::critical("what ran before this start cannot be put back: {}", back.error().to_string());
    if (link) earlier_links_.emplace(ifindex, std::move(link));
}

Result<Fd> XdpDataplane::attach_earlier(uint32_t ifindex, const std::string& device, const Earlier& earlier) {
    const auto mode =
        earlier.mode == AttachMode::generic ? config::XdpMode::generic : config::XdpMode::native;
    auto made = attach_port(earlier.program.get(), ifindex, device, mode);
    if (!made) return tl::unexpected(made.error());
    return std::move(made->link);
}

// All of them before any of this generation's ports ceases to be an egress port of the others.
void XdpDataplane::give_back_all() {
    if (committed_) return;
    bool given = false;
    for (auto at = ports_.begin(); at != ports_.end();) {
        const bool had_earlier = earlier_.contains(at->second.ifindex);
        given = given || had_earlier;
        if (had_earlier) end(std::move(at->second));
        at = had_earlier ? ports_.erase(at) : std::next(at);
    }
    if (given) barrier_.wait();
}

void XdpDataplane::detach(uint16_t port) {
    const auto found = ports_.find(port);
    const bool was_prepared = prepared_.erase(port) != 0;
    if (found == ports_.end() && !was_prepared && !devices_.contains(port)) return;
    const auto device = devices_.find(port);
    const uint32_t ifindex = device == devices_.end() ? 0 : device->second.first;
    remove_tx_port(maps_, port);
    if (found != ports_.end()) end(std::move(found->second));
    end_split(port);
    if (found != ports_.end()) ports_.erase(found);
    not_redirected_.erase(port);
    set_otherwise(port, PP_OTHERWISE_DAEMON);
    if (committed_) stack_->take_off(ifindex);  // else it may be an earlier daemon's
    targets_stale_ = true;
}

Result<std::vector<uint32_t>> XdpDataplane::commit() {
    if (auto pinned = pin_maps(pins_, maps_); !pinned) return tl::unexpected(pinned.error());
    if (auto pinned = sums_ ? sums_->pin(pins_) : Result<void>(); !pinned)
        return tl::unexpected(pinned.error());
    committed_ = true;
    if (sums_)
        sums_->settle();
    else
        SumMaps::unpin(pins_);
    // What cannot have its name now keeps the one that it has, by which it is found as well.
    for (const auto& [port, attached] : ports_)
        if (attached.link)
            if (auto settled = settle_program(attached.ifindex); !settled)
                spdlog::warn("{}", settled.error().to_string());
    std::vector<uint32_t> released;
    for (const auto& [ifindex, link] : earlier_links_) {
        pins_.remove_port(ifindex);
        released.push_back(ifindex);
    }
    for (const uint32_t pinned_as : moved_away_)
        pins_.remove_port(pinned_as);
    std::set<uint32_t> devices;
    for (const auto& [port, attached] : ports_)
        devices.insert(attached.ifindex);
    stack_->keep_only(devices);
    for (const auto& [ifindex, programs] : earlier_dispatched_)
        for (const uint32_t program : programs)
            undispatch(ifindex, program);
    earlier_links_.clear();
    moved_away_.clear();
    earlier_dispatched_.clear();
    earlier_.clear();
    return released;
}

void XdpDataplane::reset_counters(uint16_t port) {
    const uint32_t key = port;
    const std::vector<pp_port_counters> zero(static_cast<size_t>(libbpf_num_possible_cpus()));
    bpf_map_update_elem(maps_.counters.get(), &key, zero.data(), BPF_ANY);
    worker_counters_.reset_port(port);
    heartbeat_->forget(port);
}

bool XdpDataplane::transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) {
    const auto found = ports_.find(port);
    return found != ports_.end() && transmitter_.send(found->second.ifindex, parts);
}

}  // namespace pktpit::router
