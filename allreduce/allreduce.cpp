// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/allreduce.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

#include "allreduce/bfp16_message.h"
#include "allreduce/datagram_socket.h"
#include "allreduce/int32_message.h"
#include "allreduce/ring.h"
#include "allreduce/stream.h"

namespace pktpit::allreduce {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds ask_every{100};

std::vector<uint8_t> say(pa_kind kind, const Options& options, uint16_t epoch, uint64_t incarnation) {
    pa_header header{};
    header.magic = PA_MAGIC;
    header.kind = static_cast<uint8_t>(kind);
    header.key = options.key;
    header.epoch = epoch;
    header.worker = static_cast<uint8_t>(options.worker);
    const pa_join join{incarnation};
    std::vector<uint8_t> datagram(sizeof header + (kind == PA_JOIN ? sizeof join : 0));
    std::memcpy(datagram.data(), &header, sizeof header);
    if (kind == PA_JOIN) std::memcpy(datagram.data() + sizeof header, &join, sizeof join);
    return datagram;
}

uint64_t draw() {
    std::random_device random;
    return (uint64_t{random()} << 32 | random()) | 1;
}

}  // namespace

class Worker::Impl {
  public:
    explicit Impl(Options given) : options(std::move(given)) {}
    ~Impl() {
        stop_signs_of_life();
        // Twice, since nobody answers it.
        for (int i = 0; i < 2 && way == Way::router; i++)
            socket.send_now(say(PA_LEAVE, options, stream->epoch().number, 0));
    }

    Outcome join();
    Outcome take_ring(const std::string& why);
    template <class Number, class Make>
    uint64_t begin(std::span<const Number> in, std::span<Number> out, pa_type type, const Make& make);
    Outcome wait(uint64_t begun, milliseconds longest);
    void add_counts();

    Options options;
    Way way = Way::none;
    DatagramSocket socket;
    std::unique_ptr<Stream> stream;
    Ring ring;
    uint64_t ring_sums = 0;
    Outcome ring_failure;
    Counts before;  ///< of epochs that are over

  private:
    bool opened(std::span<const uint8_t> datagram);
    void heard(std::span<const uint8_t> datagram, Clock::time_point now);
    void begin_signs_of_life(milliseconds every);
    void stop_signs_of_life();

    uint64_t incarnation_ = 0;
    pa_state state_{};
    uint16_t epoch_ = 0;
    bool router_answers_ = false;
    std::optional<uint64_t> lost_;  ///< the epoch is over, with these workers
    std::mutex mutex_;
    std::condition_variable stop_;
    bool stopping_ = false;
    std::thread signs_of_life_;
};

// While joining: the router's word, and whether the epoch is open.
bool Worker::Impl::opened(std::span<const uint8_t> datagram) {
    const auto header = read_header(datagram);
    if (!header || header->kind != PA_STATE || header->key != options.key ||
        header->worker != options.worker || datagram.size() < sizeof *header + sizeof(pa_state))
        return false;
    std::memcpy(&state_, datagram.data() + sizeof *header, sizeof state_);
    epoch_ = header->epoch;
    router_answers_ = true;
    return state_.phase == PA_RUNNING && state_.incarnation == incarnation_ &&
           std::has_single_bit(state_.slots) && state_.elements != 0;
}

Outcome Worker::Impl::join() {
    stop_signs_of_life();
    add_counts();
    stream.reset();
    way = Way::none;
    lost_.reset();
    if (auto why = socket.open(options.router, options.port, options.bind,
                               {options.lose, options.duplicate, options.delay, options.seed});
        !why.empty())
        return {Failure::setup, why};
    incarnation_ = draw();
    router_answers_ = false;
    const auto begun = Clock::now();
    auto asked = begun - ask_every;
    for (bool open = false; !open;) {
        const auto now = Clock::now();
        if (!router_answers_ && now - begun >= options.router_timeout)
            return take_ring("no answer from " + options.router + ":" + std::to_string(options.port));
        if (now - begun >= options.join_timeout) {
            std::string missing;
            for (unsigned one = 0; one < state_.workers; one++)
                if ((state_.joined >> one & 1) == 0)
                    missing += (missing.empty() ? "" : ", ") + std::to_string(one);
            return {Failure::workers, "not all workers have come; missing: " + missing};
        }
        if (now - asked >= ask_every) {
            socket.send_now(say(PA_JOIN, options, 0, incarnation_));
            asked = now;
        }
        socket.receive(ask_every / 4,
                       [&](std::span<const uint8_t> datagram) { open = opened(datagram) || open; });
    }
    if (options.workers != 0 && options.workers != state_.workers)
        return {Failure::setup, "the group has " + std::to_string(state_.workers) + " workers, " +
                                    std::to_string(options.workers) + " are expected"};
    stream = std::make_unique<Stream>(Epoch{options.key, epoch_, static_cast<uint8_t>(options.worker),
                                            state_.workers, state_.slots, state_.elements,
                                            static_cast<pa_type>(state_.type)});
    stream->limit_window(socket.room_for_results());
    way = Way::router;
    begin_signs_of_life(milliseconds(std::max(10U, state_.timeout_ms / 4)));
    return {};
}

Outcome Worker::Impl::take_ring(const std::string& why) {
    if (options.peers.empty()) return {Failure::no_router, why + ", and no peers are given for a ring"};
    if (options.log) options.log(why + ": workers add among themselves, by a ring over TCP");
    if (auto failed = ring.open(options.peers, options.worker, options.join_timeout); !failed.empty())
        return {Failure::peer, failed};
    way = Way::ring;
    ring_failure = {};
    return {};
}

void Worker::Impl::begin_signs_of_life(milliseconds every) {
    stopping_ = false;
    signs_of_life_ = std::thread([this, every, sign = say(PA_ALIVE, options, epoch_, 0)] {
        std::unique_lock lock(mutex_);
        while (!stop_.wait_for(lock, every, [this] { return stopping_; }))
            socket.send_now(sign);
    });
}

void Worker::Impl::stop_signs_of_life() {
    if (!signs_of_life_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    stop_.notify_all();
    signs_of_life_.join();
}

void Worker::Impl::add_counts() {
    if (!stream) return;
    const StreamCounts& now = stream->counts();
    before.sent += now.sent;
    before.again += now.again;
    before.results += now.results;
    before.repeated += now.repeated;
    before.ignored += now.ignored;
}

// The ring has one sum at a time, which is done when it has begun.
template <class Number, class Make>
uint64_t Worker::Impl::begin(std::span<const Number> in, std::span<Number> out, pa_type type,
                             const Make& make) {
    if (in.size() != out.size()) return not_begun;
    if (way == Way::ring) {
        if (in.data() != out.data()) std::copy(in.begin(), in.end(), out.begin());
        if (ring_failure)
            if (auto why = ring.sum(out); !why.empty()) ring_failure = {Failure::peer, why};
        return ring_sums++;
    }
    if (way == Way::none || stream->epoch().type != type) return not_begun;
    return stream->add(make(stream->epoch()));
}

void Worker::Impl::heard(std::span<const uint8_t> datagram, Clock::time_point now) {
    const auto header = read_header(datagram);
    if (header && header->kind == PA_STATE) {
        (void)opened(datagram);
        const bool over = state_.phase != PA_RUNNING || epoch_ != stream->epoch().number ||
                          state_.incarnation != incarnation_;
        if (over && header->key == options.key) lost_ = state_.lost;
        return;
    }
    stream->receive(datagram, now);
}

Outcome Worker::Impl::wait(uint64_t begun, milliseconds longest) {
    if (way == Way::none) return {Failure::setup, "join() first"};
    if (begun == not_begun)
        return {Failure::setup, "vectors of different lengths, or of another type than the group's elements"};
    if (way == Way::ring) return ring_failure;
    const auto start = Clock::now();
    auto progress = start;
    while (!stream->done(begun)) {
        if (lost_) {
            Outcome outcome{Failure::worker_lost,
                            "the epoch is over: a worker is lost, or has started anew; join() again"};
            for (unsigned one = 0; one < PA_MAX_WORKERS; one++)
                if ((*lost_ >> one & 1) != 0) outcome.lost.push_back(one);
            way = Way::none;
            return outcome;
        }
        const auto now = Clock::now();
        if (now - start >= longest)
            return {Failure::too_late, "no sum within " + std::to_string(longest.count()) + " ms"};
        if (now - progress >= options.silence) {
            way = Way::none;
            return {Failure::no_router, "the router has fallen silent"};
        }
        while (const size_t length = stream->next(now, socket.room()))
            socket.push(length);
        socket.flush();
        const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(stream->wake_at(now) - now);
        socket.receive(rest, [&](std::span<const uint8_t> datagram) {
            progress = Clock::now();
            heard(datagram, progress);
        });
    }
    return {};
}

Worker::Worker(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Worker::~Worker() = default;

Outcome Worker::join() {
    return impl_->join();
}
Way Worker::way() const {
    return impl_->way;
}
unsigned Worker::epoch() const {
    return impl_->stream ? impl_->stream->epoch().number : 0;
}
unsigned Worker::workers() const {
    if (impl_->way == Way::ring) return static_cast<unsigned>(impl_->options.peers.size());
    return impl_->stream ? impl_->stream->epoch().workers : 0;
}

uint64_t Worker::begin(std::span<const int32_t> in, std::span<int32_t> out) {
    return impl_->begin(in, out, PA_INT32, [&](const Epoch& epoch) {
        return std::make_unique<Int32Message>(in, out, epoch.elements);
    });
}

uint64_t Worker::begin(std::span<const float> in, std::span<float> out) {
    return impl_->begin(in, out, PA_BFP16, [&](const Epoch& epoch) {
        return std::make_unique<Bfp16Message>(in, out, epoch.elements, epoch.slots, epoch.workers);
    });
}

Outcome Worker::wait(uint64_t begun, milliseconds longest) {
    return impl_->wait(begun, longest);
}

Outcome Worker::sum(std::span<const int32_t> in, std::span<int32_t> out) {
    return wait(begin(in, out));
}

Outcome Worker::sum(std::span<const float> in, std::span<float> out) {
    return wait(begin(in, out));
}

Counts Worker::counts() const {
    Counts all = impl_->before;
    if (!impl_->stream) return all;
    const StreamCounts& now = impl_->stream->counts();
    return {all.sent + now.sent, all.again + now.again, all.results + now.results,
            all.repeated + now.repeated, all.ignored + now.ignored};
}

}  // namespace pktpit::allreduce
