// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/sums.h"

#include <arpa/inet.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>

#include <algorithm>
#include <bitset>
#include <cerrno>
#include <cstring>
#include <random>

#include "base/clock.h"
#include "base/errno_text.h"
#include "config/words.h"
#include "router/aggregation/state_message.h"
#include "router/xdp/pinned_values.h"

namespace pktpit::router {
namespace {

using std::chrono::nanoseconds;

constexpr unsigned datagrams_a_turn = 256;

uint32_t network_order(const IpAddress& address) {
    return htonl(address.v4_host_order());
}

uint8_t element_bytes(config::ElementType type) {
    return type == config::ElementType::bfp16 ? 2 : 4;
}

pa_type wire_type(config::ElementType type) {
    return type == config::ElementType::bfp16 ? PA_BFP16 : PA_INT32;
}

/// "192.0.2.11, 192.0.2.12"
std::string names_of(const config::AggregationGroup& settings, uint64_t workers) {
    std::string text;
    for (size_t i = 0; i < settings.workers.size(); i++)
        if ((workers >> i & 1) != 0) text += (text.empty() ? "" : ", ") + settings.workers[i].to_string();
    return text;
}

// Everything but what joins bring.
void describe(pp_sum_group& shared, const std::string& name, const config::AggregationGroup& settings,
              uint32_t first_slot, uint16_t epoch) {
    shared = {};
    shared.key = settings.key;
    shared.lanes = settings.type == config::ElementType::bfp16 ? 0x7fff7fff7fff7fff : 0x7fffffff7fffffff;
    shared.first_slot = first_slot;
    shared.slots = settings.slots;
    shared.element_bytes = element_bytes(settings.type);
    shared.elements = static_cast<uint16_t>(settings.chunk_bytes / shared.element_bytes);
    shared.workers = static_cast<uint16_t>(settings.workers.size());
    shared.udp_port = htons(settings.port);
    shared.epoch = epoch;
    shared.type = static_cast<uint8_t>(wire_type(settings.type));
    shared.timeout_ms = settings.timeout_ms;
    name.copy(shared.name, sizeof shared.name - 1);
    for (size_t i = 0; i < settings.workers.size(); i++)
        shared.worker[i].address = network_order(settings.workers[i]);
}

bool is_same(const pp_sum_group& shared, const std::string& name, const config::AggregationGroup& settings) {
    pp_sum_group wanted{};
    describe(wanted, name, settings, shared.first_slot, shared.epoch);
    const auto same_worker = [&](size_t i) { return shared.worker[i].address == wanted.worker[i].address; };
    bool same = shared.all != 0 && shared.key == wanted.key && shared.slots == wanted.slots &&
                shared.elements == wanted.elements && shared.workers == wanted.workers &&
                shared.udp_port == wanted.udp_port && shared.type == wanted.type &&
                shared.timeout_ms == wanted.timeout_ms &&
                std::strncmp(shared.name, wanted.name, sizeof shared.name) == 0;
    for (size_t i = 0; same && i < settings.workers.size(); i++)
        same = same_worker(i);
    return same && shared.first_slot + size_t{shared.slots} <= PP_SUM_SLOTS;
}

}  // namespace

struct Sums::Plan {
    struct New {
        std::string name;
        uint32_t number = 0;
        uint32_t first_slot = 0;
        std::shared_ptr<GroupSocket> socket;
        bool adopt = false;
    };
    std::vector<std::string> go;
    std::vector<New> come;
};

Result<std::unique_ptr<Sums>> Sums::open(const PinDirectory& pins, const Fd& counters,
                                         std::function<void()> grace) {
    auto maps = SumMaps::open(pins, counters);
    if (!maps) return tl::unexpected(maps.error());
    std::unique_ptr<Sums> self(new Sums());
    self->maps_ = std::move(*maps);
    self->grace_ = std::move(grace);
    self->epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (!self->epoll_) return fail("epoll", "cannot watch for workers: " + errno_text(errno));
    return self;
}

// A start that was refused: what an earlier daemon has left finds its groups, and no others.
Sums::~Sums() {
    if (settled_ || !maps_ || !maps_->adopted()) return;
    while (!groups_.empty())
        if (groups_.begin()->second.adopted)
            groups_.erase(groups_.begin());
        else
            remove(std::string(groups_.begin()->first));
}

bool Sums::is_earlier_port(uint16_t port) const {
    return std::ranges::any_of(unwanted_,
                               [&](uint32_t number) { return maps_->groups()[number].udp_port == port; });
}

void Sums::settle() {
    settled_ = true;
    for (const uint32_t number : unwanted_) {
        pp_sum_group& left = maps_->groups()[number];
        maps_->remove_port(left.udp_port);
        left.running = 0;
        left.all = 0;
        maps_->end_exits(number);
    }
    unwanted_.clear();
    for (const auto& [port, group] : later_ports_)
        if (auto set = maps_->set_port(port, group); !set) spdlog::error("{}", set.error().to_string());
    later_ports_.clear();
}

// Numbers of groups in maps that an earlier daemon has left, which are wanted as they are.
std::map<std::string, uint32_t> Sums::adoptable(const config::AggregationGroups& wanted) const {
    std::map<std::string, uint32_t> found;
    if (!maps_->adopted() || settled_) return found;
    for (const auto& [name, settings] : wanted)
        for (uint32_t number = 0; number < PP_SUM_GROUPS && !groups_.contains(name); number++)
            if (is_same(maps_->groups()[number], name, settings)) found.emplace(name, number);
    return found;
}

// Finds a place for what is new beside what stays, and opens its sockets: from here on nothing is refused but
// for want of memory.
Result<Sums::Plan> Sums::plan(const config::AggregationGroups& wanted) {
    Plan plan;
    std::array<bool, PP_SUM_GROUPS> numbers{};
    std::vector<bool> slots(PP_SUM_SLOTS);
    const auto occupy = [&](uint32_t number, uint32_t first, uint32_t count) {
        numbers[number] = true;
        std::fill_n(slots.begin() + first, count, true);
    };
    std::map<uint16_t, std::shared_ptr<GroupSocket>> sockets;
    for (const auto& [name, group] : groups_) {
        sockets.emplace(group.settings.port, group.socket);
        if (const auto kept = wanted.find(name); kept != wanted.end() && kept->second == group.settings)
            occupy(group.number, shared(group).first_slot, group.settings.slots);
        else
            plan.go.push_back(name);
    }
    for (const uint32_t number : unwanted_) {
        const SumSlots left = slots_of(maps_->groups()[number]);
        occupy(number, left.first, left.count);
    }
    const auto earlier = adoptable(wanted);
    for (const auto& [name, number] : earlier)
        occupy(number, maps_->groups()[number].first_slot, maps_->groups()[number].slots);
    for (const auto& [name, settings] : wanted) {
        if (groups_.contains(name) && std::ranges::find(plan.go, name) == plan.go.end()) continue;
        Plan::New one;
        one.name = name;
        if (const auto found = earlier.find(name); found != earlier.end()) {
            one.number = found->second;
            one.adopt = true;
        } else {
            const auto free_number = std::ranges::find(numbers, false);
            const auto room = std::search_n(slots.begin(), slots.end(), settings.slots, false);
            if (free_number == numbers.end() || room == slots.end())
                return fail("/aggregation/groups/" + name,
                            "no room for its slots in one piece beside the groups that go on",
                            std::to_string(settings.slots) + " slots that lie together",
                            "lower \"slots\", or restart pktpitd");
            one.number = static_cast<uint32_t>(free_number - numbers.begin());
            one.first_slot = static_cast<uint32_t>(room - slots.begin());
            occupy(one.number, one.first_slot, settings.slots);
        }
        auto& socket = sockets[settings.port];
        if (!socket) {
            auto opened = GroupSocket::open(settings.port);
            if (!opened) {
                Error error = opened.error();
                error.where = "/aggregation/groups/" + name + "/port";
                return tl::unexpected(std::move(error));
            }
            socket = std::make_shared<GroupSocket>(std::move(*opened));
            if (auto watched = watch(*socket); !watched) return tl::unexpected(watched.error());
        }
        one.socket = socket;
        plan.come.push_back(std::move(one));
    }
    return plan;
}

Result<void> Sums::watch(const GroupSocket& socket) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, socket.descriptor(), &event) == 0) return {};
    return fail("epoll", "cannot watch for workers: " + errno_text(errno));
}

Result<void> Sums::configure(const config::AggregationGroups& wanted) {
    if (groups_.empty() && maps_->adopted() && !settled_) {
        const auto earlier = adoptable(wanted);
        unwanted_.clear();
        for (uint32_t number = 0; number < PP_SUM_GROUPS; number++)
            if (maps_->groups()[number].all != 0 &&
                std::ranges::none_of(earlier, [&](const auto& one) { return one.second == number; }))
                unwanted_.push_back(number);
    }
    auto planned = plan(wanted);
    if (!planned) return tl::unexpected(planned.error());
    config::AggregationGroups before;
    for (const auto& [name, group] : groups_)
        before.emplace(name, group.settings);
    for (const std::string& name : planned->go)
        remove(name);
    grace_();
    for (Plan::New& one : planned->come) {
        const config::AggregationGroup& settings = wanted.at(one.name);
        auto added = one.adopt ? adopt(one.name, settings, one.number, one.socket)
                               : add(one.name, settings, one.number, one.first_slot, one.socket);
        if (added) continue;
        // No memory. The way back needs no more than there was.
        for (const auto& [name, settings_before] : before)
            if (!groups_.contains(name)) (void)configure(before);
        return added;
    }
    return {};
}

void Sums::remove(const std::string& name) {
    const auto found = groups_.find(name);
    if (found == groups_.end()) return;
    pp_sum_group& in_maps = shared(found->second);
    maps_->remove_port(in_maps.udp_port);
    in_maps.running = 0;
    in_maps.all = 0;
    maps_->end_exits(found->second.number);
    groups_.erase(found);
}

Result<void> Sums::add(const std::string& name, const config::AggregationGroup& settings, uint32_t number,
                       uint32_t first_slot, std::shared_ptr<GroupSocket> socket) {
    if (auto begun = maps_->begin_exits(number); !begun) return begun;
    std::random_device random;  // epochs of a daemon before this one are strangers
    const auto epoch = static_cast<uint16_t>(random());
    Group group{number, settings,
                Membership(static_cast<unsigned>(settings.workers.size()),
                           std::chrono::milliseconds(settings.timeout_ms), epoch),
                std::move(socket)};
    pp_sum_group& in_maps = shared(group);
    describe(in_maps, name, settings, first_slot, epoch);
    __atomic_store_n(&in_maps.all, group.membership.all(), __ATOMIC_RELEASE);
    if (is_earlier_port(in_maps.udp_port)) {
        later_ports_.push_back({in_maps.udp_port, number});
    } else if (auto set = maps_->set_port(in_maps.udp_port, number); !set) {
        in_maps.all = 0;
        maps_->end_exits(number);
        return set;
    }
    groups_.emplace(name, std::move(group));
    return {};
}

// The stage has gone on adding; what it knows of the workers is in the maps.
Result<void> Sums::adopt(const std::string& name, const config::AggregationGroup& settings, uint32_t number,
                         std::shared_ptr<GroupSocket> socket) {
    if (auto begun = maps_->begin_exits(number); !begun) return begun;
    const pp_sum_group& in_maps = maps_->groups()[number];
    Group& group =
        groups_
            .emplace(name, Group{number, settings,
                                 Membership(in_maps.workers, std::chrono::milliseconds(settings.timeout_ms),
                                            in_maps.epoch),
                                 std::move(socket), true, in_maps.chunks})
            .first->second;
    const nanoseconds now(monotonic_nanoseconds());
    for (unsigned worker = 0; worker < in_maps.workers; worker++) {
        const pp_sum_worker& one = in_maps.worker[worker];
        if (one.device != 0)
            if (auto set = maps_->set_exit(number, worker, one.device); !set)
                spdlog::warn("{}", set.error().to_string());
        if (in_maps.running) group.membership.resume(worker, one.incarnation, now);
    }
    if (in_maps.running) spdlog::info("aggregation group {}: epoch {} goes on", name, in_maps.epoch);
    return {};
}

void Sums::poll() {
    for (auto& [name, group] : groups_)
        group.socket->receive(
            datagrams_a_turn,
            [&, &name = name, &group = group](const WorkerPeer& peer, std::span<const uint8_t> datagram) {
                heard(name, group, peer, datagram);
            });
}

// The stage has let it pass: source and key are right, unless it came by a device that is no port.
void Sums::heard(const std::string& name, Group& group, const WorkerPeer& peer,
                 std::span<const uint8_t> datagram) {
    const auto message = read_worker_message(datagram);
    pp_sum_group& in_maps = shared(group);
    if (!message || message->key != group.settings.key || message->worker >= group.settings.workers.size())
        return;
    pp_sum_worker& worker = in_maps.worker[message->worker];
    if (peer.address != worker.address || peer.port != worker.udp_port) return;
    const nanoseconds now(monotonic_nanoseconds());
    const bool was_running = group.membership.running();
    const uint16_t epoch = group.membership.epoch();
    if (message->kind == PA_JOIN) {
        group.membership.join(message->worker, message->incarnation, now);
        worker.incarnation = group.membership.incarnation(message->worker);
        if (worker.device != worker.ifindex) {
            worker.device = worker.ifindex;
            if (auto set = maps_->set_exit(group.number, message->worker, worker.device); !set)
                spdlog::warn("aggregation group {}: worker {} gets its results by asking again: {}", name,
                             group.settings.workers[message->worker].to_string(), set.error().to_string());
        }
    } else if (message->kind == PA_ALIVE) {
        group.membership.alive(message->worker, now);
    } else {
        group.membership.leave(message->worker);
    }
    show_membership(name, group, was_running, epoch);
    if (message->kind != PA_LEAVE) tell(group, uint64_t{1} << message->worker);
}

void Sums::tick(nanoseconds now) {
    const bool second = ++ticks_ % 10 == 0;
    for (auto& [name, group] : groups_) {
        const pp_sum_group& in_maps = shared(group);
        for (unsigned worker = 0; worker < in_maps.workers; worker++)
            group.membership.alive(worker, nanoseconds(in_maps.worker[worker].heard));
        const bool was_running = group.membership.running();
        const uint16_t epoch = group.membership.epoch();
        group.membership.look(now);
        show_membership(name, group, was_running, epoch);
        tell(group, group.membership.to_be_told(now));
        if (!second) continue;
        group.chunks_per_second = static_cast<double>(in_maps.chunks - group.chunks_before);
        group.chunks_before = in_maps.chunks;
    }
}

void Sums::show_membership(const std::string& name, Group& group, bool was_running, uint16_t epoch_before) {
    const Membership& now = group.membership;
    pp_sum_group& in_maps = shared(group);
    if (now.running() == was_running && now.epoch() == epoch_before) return;
    if (was_running) {
        __atomic_store_n(&in_maps.running, 0, __ATOMIC_RELEASE);
        if (now.lost() != 0)
            spdlog::warn("aggregation group {}: epoch {} ends with {}, silent or started anew", name,
                         epoch_before, names_of(group.settings, now.lost()));
        else
            spdlog::info("aggregation group {}: all workers have left epoch {}", name, epoch_before);
    }
    if (now.running())
        open_epoch(name, group);
    else
        tell(group, now.to_be_told(nanoseconds(monotonic_nanoseconds())));
}

// No stage is at a slot of the last epoch any more when the slots are emptied.
void Sums::open_epoch(const std::string& name, Group& group) {
    grace_();
    pp_sum_group& in_maps = shared(group);
    for (pp_sum_slot& slot : maps_->slots().subspan(in_maps.first_slot, in_maps.slots)) {
        slot.lock = 0;
        for (pp_sum_version& version : slot.version)
            version.seen = version.served = 0;
    }
    in_maps.epoch = group.membership.epoch();
    __atomic_store_n(&in_maps.running, 1, __ATOMIC_RELEASE);
    spdlog::info("aggregation group {}: all {} workers are there, epoch {}", name, in_maps.workers,
                 in_maps.epoch);
    tell(group, group.membership.all());
}

void Sums::tell(Group& group, uint64_t workers) {
    const Membership& now = group.membership;
    const pp_sum_group& in_maps = shared(group);
    for (unsigned worker = 0; worker < in_maps.workers; worker++) {
        const pp_sum_worker& one = in_maps.worker[worker];
        if ((workers >> worker & 1) == 0 || one.udp_port == 0) continue;
        pa_state state{};
        state.incarnation = (now.joined() >> worker & 1) != 0 ? now.incarnation(worker) : 0;
        state.joined = now.joined();
        state.lost = now.lost();
        state.timeout_ms = in_maps.timeout_ms;
        state.workers = in_maps.workers;
        state.slots = in_maps.slots;
        state.elements = in_maps.elements;
        state.phase = now.running() ? PA_RUNNING : PA_FORMING;
        state.type = in_maps.type;
        group.socket->send({one.address, one.udp_port, one.router},
                           write_state(in_maps.key, now.epoch(), static_cast<uint8_t>(worker), state));
    }
}

std::vector<AggregationState> Sums::state(nanoseconds now) const {
    std::vector<AggregationState> all;
    for (const auto& [name, group] : groups_) {
        const pp_sum_group& in_maps = shared(group);
        AggregationState one;
        one.name = name;
        one.type = config::to_string(group.settings.type);
        one.udp_port = group.settings.port;
        one.slots = in_maps.slots;
        one.running = group.membership.running();
        one.epoch = group.membership.epoch();
        one.chunks = in_maps.chunks;
        one.chunks_per_second = group.chunks_per_second;
        one.answered = in_maps.answered;
        if (one.running)
            for (const pp_sum_slot& slot : maps_->slots().subspan(in_maps.first_slot, in_maps.slots))
                for (const pp_sum_version& version : slot.version)
                    one.slots_in_use += version.seen != 0 && version.seen != in_maps.all;
#define PP_SUM_DROP_SHOW(id, text, meaning) one.drops.emplace_back(text, in_maps.drops[PP_SUM_##id]);
        PP_SUM_DROPS(PP_SUM_DROP_SHOW)
#undef PP_SUM_DROP_SHOW
        for (unsigned worker = 0; worker < in_maps.workers; worker++) {
            const pp_sum_worker& shown = in_maps.worker[worker];
            const bool joined = (group.membership.joined() >> worker & 1) != 0;
            const nanoseconds heard = std::max(group.membership.heard(worker), nanoseconds(shown.heard));
            one.workers.push_back(
                {.address = group.settings.workers[worker].to_string(),
                 .joined = joined,
                 .lost = (group.membership.lost() >> worker & 1) != 0,
                 .port = joined ? shown.port : uint16_t{0},
                 .packets = shown.packets,
                 .again = shown.again,
                 .last = shown.last,
                 .silent_ms = static_cast<uint64_t>(
                     joined && now > heard
                         ? std::chrono::duration_cast<std::chrono::milliseconds>(now - heard).count()
                         : 0)});
        }
        all.push_back(std::move(one));
    }
    return all;
}

}  // namespace pktpit::router
