// SPDX-License-Identifier: BSD-3-Clause
// The port stage as the router of workers' streams, packet by packet: sums bit for bit, strangers counted and
// without effect, and a port without aggregation.
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>

#include "allreduce/bfp16_message.h"
#include "allreduce/int32_message.h"
#include "bpf/aggregation_abi.h"
#include "tests/differential/bpf_calls.h"
#include "tests/differential/router_stage.h"
#include "tests/sanitized.h"
#include "tests/unit/allreduce/bfp16_reference.h"
#include "tests/unit/allreduce/lossy_network.h"

namespace pktpit::test {
namespace {

namespace ar = allreduce;
namespace forward = router::test;
using ar::test::Answer;
using ar::test::Datagram;

constexpr uint16_t udp_port = 5005;
constexpr uint64_t key = 0xfeedface12345678;
constexpr std::array<uint16_t, 2> aggregation_egress{1, 2};
constexpr uint32_t lowest_worker = 0x0a630001;  // 10.99.0.1

std::string address_of(size_t worker) {
    return "10.99.0." + std::to_string(worker + 1);
}

/// A group in the maps, as the daemon writes it, and frames of its workers.
class Stage {
  public:
    explicit Stage(uint16_t workers, uint16_t slots, uint16_t elements, pa_type type = PA_INT32)
        : stage(fib::plan_geometry(forward::small_capacity()), first_port, aggregation_egress,
                {.aggregation = true}),
          image(stage.memory(), stage.geometry(), [] {}) {
        forward::fill_test_router(image, stage.memory().data());
        const size_t bytes = sizeof(pp_sum_group) * PP_SUM_GROUPS;
        groups =
            reinterpret_cast<pp_sum_group*>(mapped(stage.map(PP_MAP_SUM_GROUPS), bytes, "groups").data());
        const uint16_t big_endian = htons(udp_port);
        const uint32_t number = 3;
        group = groups + number;
        bpf_map_update_elem(stage.map(PP_MAP_SUM_PORTS), &big_endian, &number, BPF_ANY);
        const int exits = bpf_map_create(BPF_MAP_TYPE_DEVMAP, "exits", 4, 8, PA_MAX_WORKERS, nullptr);
        bpf_map_update_elem(stage.map(PP_MAP_SUM_EXITS), &number, &exits, BPF_ANY);
        close(exits);
        epoch = {.key = key,
                 .number = 9,
                 .worker = 0,
                 .workers = workers,
                 .slots = slots,
                 .elements = elements,
                 .type = type};
        const bool halves = type == PA_BFP16;
        group->key = key;
        group->lanes = halves ? 0x7fff7fff7fff7fff : 0x7fffffff7fffffff;
        group->element_bytes = halves ? 2 : 4;
        group->type = type;
        group->first_slot = 1000;
        group->slots = slots;
        group->elements = elements;
        group->workers = workers;
        group->udp_port = big_endian;
        group->epoch = 9;
        group->running = 1;
        for (uint32_t worker = 0; worker < workers; worker++)
            group->worker[worker].address = htonl(lowest_worker + worker);
        group->all = workers == 64 ? ~uint64_t{0} : (uint64_t{1} << workers) - 1;
    }
    ~Stage() { munmap(groups, sizeof(pp_sum_group) * PP_SUM_GROUPS); }
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;

    static Bytes frame_of(size_t worker, const Datagram& datagram, const char* to = "192.0.2.1",
                          uint16_t to_port = udp_port) {
        Bytes udp(8);
        const auto put = [&](size_t at, size_t value) {
            udp[at] = static_cast<uint8_t>(value >> 8);
            udp[at + 1] = static_cast<uint8_t>(value);
        };
        put(0, 40000 + worker);
        put(2, to_port);
        put(4, 8 + datagram.size());
        udp.insert(udp.end(), datagram.begin(), datagram.end());
        return forward::frame(forward::arriving,
                              forward::Ipv4{.source = address_of(worker), .destination = to, .payload = udp});
    }
    Outcome run(size_t worker, const Datagram& datagram) { return stage.run(1, frame_of(worker, datagram)); }
    static Datagram datagram_of(const Bytes& frame) { return {frame.begin() + 42, frame.end()}; }
    [[nodiscard]] uint64_t drops() const {
        uint64_t all = 0;
        for (const uint64_t one : group->drops)
            all += one;
        return all;
    }
    /// A router for streams. A redirect to all is as the egress program does it, with its copies addressed.
    ar::test::Router as_router() {
        return [this](size_t worker, const Datagram& datagram) {
            const uint64_t answered = group->answered;
            const Outcome outcome = run(worker, datagram);
            std::vector<Answer> answers;
            EXPECT_NE(outcome.action, XDP_PASS);
            if (group->answered != answered) return std::vector<Answer>{{worker, datagram_of(outcome.frame)}};
            if (outcome.action == XDP_REDIRECT)
                for (size_t to = 0; to < group->workers; to++) {
                    answers.push_back({to, datagram_of(outcome.frame)});
                    answers.back().datagram[offsetof(pa_header, worker)] = static_cast<uint8_t>(to);
                }
            return answers;
        };
    }

    LoadedPortStage stage;
    fib::FibImage image;
    pp_sum_group* groups = nullptr;
    pp_sum_group* group = nullptr;
    ar::Epoch epoch;
};

using Aggregation = StageTest;

/// The workers' ends of a stage's streams.
struct Streams {
    explicit Streams(const Stage& stage) {
        for (uint16_t worker = 0; worker < stage.epoch.workers; worker++) {
            ar::Epoch epoch = stage.epoch;
            epoch.worker = static_cast<uint8_t>(worker);
            all.push_back(streams.emplace_back(std::make_unique<ar::Stream>(epoch)).get());
        }
    }
    std::vector<std::unique_ptr<ar::Stream>> streams;
    std::vector<ar::Stream*> all;
};

/// What a network holds back for long enough is of a chunk long done.
void expect_only_stale_drops(const Stage& stage) {
    for (int drop = 0; drop < PP_SUM_DROP_COUNT; drop++)
        EXPECT_TRUE(drop == PP_SUM_STALE || stage.group->drops[drop] == 0) << drop;
}

/// The datagram with a header that is changed.
template <class Change>
Datagram with_header(Datagram datagram, const Change& change) {
    pa_header header{};
    std::memcpy(&header, datagram.data(), sizeof header);
    change(header);
    std::memcpy(datagram.data(), &header, sizeof header);
    return datagram;
}

Bytes part(const Bytes& frame, long from, long to) {
    return {frame.begin() + from, frame.begin() + to};
}

Datagram add(const Stage& stage, size_t worker, uint32_t chunk, const std::vector<int32_t>& elements) {
    ar::Epoch epoch = stage.epoch;
    const uint32_t slots = epoch.slots;
    pa_header header{PA_MAGIC,
                     PA_ADD,
                     static_cast<uint8_t>(PA_INT32 | ((chunk & slots) != 0 ? PA_VERSION_BIT : 0)),
                     chunk,
                     key,
                     epoch.number,
                     static_cast<uint16_t>(chunk % slots),
                     static_cast<uint16_t>(elements.size()),
                     static_cast<uint8_t>(worker),
                     0};
    Datagram datagram(sizeof header + elements.size() * 4);
    std::memcpy(datagram.data(), &header, sizeof header);
    std::memcpy(datagram.data() + sizeof header, elements.data(), elements.size() * 4);
    return datagram;
}

std::vector<int32_t> sum_of(const std::vector<std::vector<int32_t>>& vectors, size_t) {
    std::vector<int32_t> sum(vectors.at(0).size());
    for (const auto& vector : vectors)
        std::ranges::transform(sum, vector, sum.begin(), [](int32_t a, int32_t b) {
            return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
        });
    return sum;
}

std::vector<float> sum_of(const std::vector<std::vector<float>>& vectors, size_t elements) {
    return ar::test::bfp16_sum(vectors, elements);
}

void fill(std::vector<int32_t>& vector, size_t, std::mt19937& random) {
    for (int32_t& one : vector)
        one = static_cast<int32_t>(random());
}

void fill(std::vector<float>& vector, size_t elements, std::mt19937& random) {
    vector = ar::test::any_floats(vector.size(), elements, true, random);
}

std::unique_ptr<ar::Message> message_of(std::span<const int32_t> in, std::span<int32_t> out,
                                        const ar::Epoch& epoch) {
    return std::make_unique<ar::Int32Message>(in, out, epoch.elements);
}

std::unique_ptr<ar::Message> message_of(std::span<const float> in, std::span<float> out,
                                        const ar::Epoch& epoch) {
    return std::make_unique<ar::Bfp16Message>(in, out, epoch.elements, epoch.slots, epoch.workers);
}

/// So many chunks, at the least; 1,000,000 take minutes.
uint64_t chunks_wanted() {
    const char* given = std::getenv("PKTPIT_SUM_CHUNKS");
    return given ? std::strtoull(given, nullptr, 10) : rounds_of(4000U);
}

struct Shape {
    uint16_t workers, slots, elements;
};

/// Until there have been so many chunks: message after message of so many, two under way, each sum compared
/// at each worker.
template <class Number>
void run_job(const Shape& shape, const ar::test::Faults& faults, size_t blocks, uint64_t chunks) {
    constexpr size_t messages = 2;
    const auto [workers, slots, elements] = shape;
    Stage stage(workers, slots, elements, std::is_same_v<Number, float> ? PA_BFP16 : PA_INT32);
    std::mt19937 random(workers * 1000U + elements);
    const Streams streams(stage);
    ar::test::LossyNetwork network(streams.all, stage.as_router(), faults, elements);
    using Vectors = std::vector<std::vector<Number>>;
    uint64_t compared = 0;
    while (stage.group->chunks < chunks) {
        std::array<Vectors, messages> in, out;
        for (size_t message = 0; message < messages; message++) {
            in[message].assign(workers, std::vector<Number>(blocks * elements - random() % elements));
            out[message] = in[message];
            for (auto& vector : in[message])
                fill(vector, elements, random);
            for (size_t worker = 0; worker < workers; worker++)
                streams.all[worker]->add(
                    message_of(in[message][worker], out[message][worker], streams.all[worker]->epoch()));
        }
        ASSERT_TRUE(network.run());
        for (size_t message = 0; message < messages; message++) {
            const std::vector<Number> sum = sum_of(in[message], elements);
            for (const auto& one : out[message]) {
                ASSERT_EQ(std::memcmp(one.data(), sum.data(), sum.size() * sizeof(Number)), 0)
                    << "after " << stage.group->chunks << " chunks";
                compared += sum.size();
            }
        }
    }
    EXPECT_GT(network.lost(), 0U);
    uint64_t sent = 0, again = 0, twice = 0;
    for (size_t worker = 0; worker < workers; worker++) {
        sent += streams.all[worker]->counts().sent;
        again += streams.all[worker]->counts().again;
        twice += stage.group->worker[worker].again;
    }
    EXPECT_EQ(sent, stage.group->chunks * workers) << "each chunk is whole once";
    EXPECT_GT(again, 0U);
    EXPECT_GT(twice, 0U);
    expect_only_stale_drops(stage);
    std::cout << workers << " workers, " << stage.group->chunks << " chunks, " << compared
              << " elements compared; for each chunk "
              << static_cast<double>(again) / static_cast<double>(sent) << " sent again, " << network.lost()
              << " datagrams lost\n";
}

class AggregationOf : public StageTest, public testing::WithParamInterface<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, AggregationOf,
                         testing::Values(Shape{1, 1, 2}, Shape{2, 2, 64}, Shape{4, 8, 64}, Shape{4, 32, 256},
                                         Shape{4, 16, 362}, Shape{16, 4, 362}, Shape{64, 2, 62}),
                         [](const auto& of) {
                             return std::to_string(of.param.workers) + "_workers_" +
                                    std::to_string(of.param.slots) + "_slots_" +
                                    std::to_string(of.param.elements) + "_elements";
                         });

TEST_P(AggregationOf, sums_are_bit_exact_under_loss_duplicates_and_reordering) {
    run_job<int32_t>(GetParam(), {.loss = 0.02, .duplicates = 0.05, .late = 0.2},
                     GetParam().workers > 16 ? 20 : 60, 1);
}

/// 1 % loss and 1 % duplicates either way, and reordering.
constexpr ar::test::Faults some_faults{.loss = 0.01, .duplicates = 0.01, .late = 0.1};
class AggregationJob : public StageTest, public testing::WithParamInterface<uint16_t> {};
INSTANTIATE_TEST_SUITE_P(Workers, AggregationJob, testing::Values(uint16_t{4}, uint16_t{16}));

TEST_P(AggregationJob, every_worker_gets_every_sum_of_integers_bit_for_bit) {
    run_job<int32_t>({GetParam(), 32, 18}, some_faults, 400, chunks_wanted());
}

TEST_P(AggregationJob, every_worker_gets_every_sum_of_block_floating_point_bit_for_bit) {
    run_job<float>({GetParam(), 32, 36}, some_faults, 400, chunks_wanted());
}

// Carries from lane to lane are what could go wrong: mantissas of all bits, and the extremes among them.
TEST_F(Aggregation, sixteen_bit_mantissas_are_added_each_by_itself_and_the_largest_exponent_comes_back) {
    constexpr uint16_t workers = 5, elements = 68;
    Stage stage(workers, 4, elements, PA_BFP16);
    std::mt19937 random(16);
    for (uint32_t chunk = 0; chunk < 200; chunk++) {
        std::vector<int16_t> sum(elements);
        int8_t largest = INT8_MIN;
        Outcome last;
        for (size_t worker = 0; worker < workers; worker++) {
            std::vector<int32_t> words(elements / 2);
            std::vector<int16_t> values(elements);
            for (size_t i = 0; i < values.size(); i++) {
                constexpr std::array<int16_t, 4> extremes{-1, 1, INT16_MIN, INT16_MAX};
                values[i] = random() % 4 == 0 ? extremes[random() % 4] : static_cast<int16_t>(random());
                sum[i] =
                    static_cast<int16_t>(static_cast<uint16_t>(sum[i]) + static_cast<uint16_t>(values[i]));
            }
            std::memcpy(words.data(), values.data(), elements * sizeof(int16_t));
            last = stage.run(worker, with_header(add(stage, worker, chunk, words), [&](pa_header& header) {
                                 header.type =
                                     static_cast<uint8_t>(PA_BFP16 | (header.type & PA_VERSION_BIT));
                                 header.count = elements;
                                 header.exponent = static_cast<int8_t>(random());
                                 largest = std::max(largest, header.exponent);
                             }));
        }
        const Datagram result = Stage::datagram_of(last.frame);
        pa_header header{};
        std::memcpy(&header, result.data(), sizeof header);
        EXPECT_EQ(header.kind, PA_RESULT);
        EXPECT_EQ(header.exponent, largest);
        EXPECT_EQ(std::memcmp(result.data() + sizeof header, sum.data(), elements * sizeof(int16_t)), 0);
    }
    EXPECT_EQ(stage.group->chunks, 200U);
}

TEST_F(Aggregation, the_last_worker_to_come_leaves_as_the_sum_and_a_duplicate_is_answered) {
    Stage stage(3, 4, 64);
    const Outcome first = stage.run(0, add(stage, 0, 0, {1, 2, INT32_MAX, -1}));
    EXPECT_EQ(first.action, XDP_DROP);
    EXPECT_EQ(first.verdict, PP_AGGREGATED);
    EXPECT_EQ(first.verdicts_counted, 1);
    EXPECT_EQ(stage.run(1, add(stage, 1, 0, {10, 20, 1, -1})).action, XDP_DROP);
    EXPECT_EQ(stage.run(1, add(stage, 1, 0, {10, 20, 1, -1})).action, XDP_DROP)
        << "there already, and not whole yet";
    const Outcome last = stage.run(2, add(stage, 2, 0, {100, 200, 0, 5}));
    EXPECT_EQ(last.action, XDP_REDIRECT);
    EXPECT_EQ(last.verdict, PP_AGGREGATED);
    const std::vector<int32_t> sum{111, 222, INT32_MIN, 3};
    const auto elements_of = [](const Bytes& frame) {
        std::vector<int32_t> elements(4);
        std::memcpy(elements.data(), frame.data() + 66, 16);
        return elements;
    };
    EXPECT_EQ(elements_of(last.frame), sum);
    const Outcome again = stage.run(1, add(stage, 1, 0, {10, 20, 1, -1}));
    EXPECT_EQ(again.action, XDP_REDIRECT);
    EXPECT_EQ(again.ingress.tx_packets, 1U);
    EXPECT_EQ(elements_of(again.frame), sum);
    // A right frame, back to where it came from.
    const Bytes sent = Stage::frame_of(1, add(stage, 1, 0, {10, 20, 1, -1}));
    EXPECT_EQ(part(again.frame, 0, 6), part(sent, 6, 12));
    EXPECT_EQ(part(again.frame, 6, 12), part(sent, 0, 6));
    EXPECT_EQ(part(again.frame, 26, 30), part(sent, 30, 34)) << "source address";
    EXPECT_EQ(part(again.frame, 30, 34), part(sent, 26, 30)) << "destination";
    EXPECT_EQ(part(again.frame, 34, 36), part(sent, 36, 38)) << "ports";
    EXPECT_EQ(forward::checksum_of(again.frame.data() + 14, 20), 0);
    EXPECT_EQ(stage.group->answered, 1U);
    EXPECT_EQ(stage.group->worker[1].again, 2U);
    EXPECT_EQ(stage.group->worker[2].last, 1U);
}

TEST_F(Aggregation, strangers_are_counted_by_reason_and_change_no_sum) {
    Stage stage(2, 4, 64);
    const std::vector<int32_t> elements{1, 2, 3, 4};
    ASSERT_EQ(stage.run(0, add(stage, 0, 0, elements)).action, XDP_DROP);
    const auto slot = [&] {
        Bytes bytes(sizeof(pp_sum_slot));
        const uint32_t at = 1000;
        check(bpf_map_lookup_elem(stage.stage.map(PP_MAP_SUM_SLOTS), &at, bytes.data()), "slot");
        return bytes;
    };
    const Bytes before_them = slot();
    const auto refused = [&](pp_sum_drop why, const Bytes& frame) {
        const uint64_t before = stage.group->drops[why], all = stage.drops();
        const Outcome outcome = stage.stage.run(1, frame);
        EXPECT_EQ(outcome.action, XDP_DROP);
        EXPECT_EQ(outcome.verdict, PP_DROP_AGGREGATION);
        EXPECT_EQ(stage.group->drops[why], before + 1);
        EXPECT_EQ(stage.drops(), all + 1);
    };
    const auto changed = [&](auto change, size_t worker = 1, size_t longer = 0) {
        Datagram datagram = with_header(add(stage, 1, 0, elements), change);
        datagram.resize(datagram.size() + longer);
        return Stage::frame_of(worker, datagram);
    };
    refused(PP_SUM_SOURCE, changed([](pa_header&) {}, 5));
    refused(PP_SUM_SOURCE, changed([](pa_header& header) { header.worker = 0; }));
    refused(PP_SUM_SOURCE, changed([](pa_header& header) { header.worker = 2; }, 2));
    refused(PP_SUM_SOURCE, changed([](pa_header& header) { header.worker = 255; }));
    for (int bit = 0; bit < 64; bit++)
        refused(PP_SUM_KEY, changed([&](pa_header& header) { header.key ^= uint64_t{1} << bit; }));
    refused(PP_SUM_EPOCH, changed([](pa_header& header) { header.epoch--; }));
    refused(PP_SUM_EPOCH, changed([](pa_header& header) { header.epoch++; }));
    refused(PP_SUM_TYPE, changed([](pa_header& header) { header.type = PA_BFP16; }));
    refused(PP_SUM_TYPE, changed([](pa_header& header) { header.kind = PA_RESULT; }));
    refused(PP_SUM_TYPE, changed([](pa_header& header) { header.kind = 77; }));
    for (const uint16_t count : std::to_array<uint16_t>({0, 1, 3, 2, 6, 66, 65535}))
        refused(PP_SUM_LENGTH, changed([&](pa_header& header) { header.count = count; }));
    refused(PP_SUM_LENGTH, changed([](pa_header&) {}, 1, 1));
    refused(PP_SUM_LENGTH, changed([](pa_header& header) { header.count += 2; }, 1, 8));
    refused(PP_SUM_SLOT, changed([](pa_header& header) { header.slot = 1; }));
    refused(PP_SUM_SLOT, changed([](pa_header& header) { header.slot = 65535; }));
    refused(PP_SUM_SLOT, changed([](pa_header& header) { header.type |= PA_VERSION_BIT; }));
    refused(PP_SUM_AHEAD, changed([](pa_header& header) { header.chunk = 8; }));
    refused(PP_SUM_AHEAD,
            changed([](pa_header& header) { header.chunk = 4, header.type |= PA_VERSION_BIT; }));
    refused(PP_SUM_STALE,
            changed([](pa_header& header) { header.chunk = uint32_t(-4), header.type |= PA_VERSION_BIT; }));
    refused(PP_SUM_FORM, changed([](pa_header& header) { header.magic++; }));
    refused(PP_SUM_FORM, Stage::frame_of(1, Datagram(10)));
    Bytes fragment = changed([](pa_header&) {});
    fragment[20] = 0x20;  // more fragments
    fragment[24] = fragment[25] = 0;
    const uint16_t sum = forward::checksum_of(fragment.data() + 14, 20);
    fragment[24] = static_cast<uint8_t>(sum >> 8), fragment[25] = static_cast<uint8_t>(sum);
    refused(PP_SUM_FORM, fragment);
    stage.group->running = 0;
    refused(PP_SUM_EPOCH, changed([](pa_header&) {}));
    stage.group->running = 1;

    EXPECT_EQ(slot(), before_them);
    EXPECT_EQ(stage.run(1, add(stage, 1, 0, elements)).action, XDP_REDIRECT) << "the worker itself is none";
}

TEST_F(Aggregation, other_packets_for_the_host_and_what_workers_say_to_the_daemon_pass) {
    Stage stage(2, 4, 64);
    const Datagram datagram = add(stage, 1, 0, {1, 2});
    EXPECT_EQ(stage.stage.run(1, Stage::frame_of(1, datagram, "192.0.2.1", 53)).action, XDP_PASS);
    const forward::Ipv4 tcp{.destination = "192.0.2.1", .protocol = 6};
    EXPECT_EQ(stage.stage.run(1, forward::frame(forward::arriving, tcp)).action, XDP_PASS);
    Datagram join = datagram;
    join[2] = PA_JOIN;
    const Outcome outcome = stage.run(1, join);
    EXPECT_EQ(outcome.action, XDP_PASS);
    EXPECT_EQ(outcome.verdict, PP_HOST_LOCAL);
    const pp_sum_worker& worker = stage.group->worker[1];
    EXPECT_EQ(worker.udp_port, htons(40001));
    EXPECT_EQ(worker.port, 1);
    EXPECT_EQ(worker.router, htonl(0xc0000201));
    EXPECT_EQ(std::memcmp(worker.mac, forward::peer.data(), 6), 0);
    EXPECT_EQ(std::memcmp(worker.router_mac, forward::port1.data(), 6), 0);
    EXPECT_GT(worker.heard, 0U);
    join[8] ^= 1;  // another key
    EXPECT_EQ(stage.run(1, join).verdict, PP_DROP_AGGREGATION);
    // To another router than this one it is transit.
    EXPECT_EQ(stage.stage.run(1, Stage::frame_of(1, datagram, "10.1.0.9")).verdict, PP_FORWARDED);
}

TEST_F(Aggregation, a_slot_that_another_cpu_holds_is_not_touched) {
    Stage stage(2, 4, 64);
    pp_sum_slot slot{};
    slot.lock = 1;
    const uint32_t at = 1000;
    ASSERT_EQ(bpf_map_update_elem(stage.stage.map(PP_MAP_SUM_SLOTS), &at, &slot, BPF_ANY), 0);
    EXPECT_EQ(stage.run(1, add(stage, 1, 0, {1, 2})).verdict, PP_DROP_AGGREGATION);
    EXPECT_EQ(stage.group->drops[PP_SUM_BUSY], 1U);
    slot.lock = 0;
    ASSERT_EQ(bpf_map_update_elem(stage.stage.map(PP_MAP_SUM_SLOTS), &at, &slot, BPF_ANY), 0);
    EXPECT_EQ(stage.run(1, add(stage, 1, 0, {1, 2})).verdict, PP_AGGREGATED);
}

TEST_F(Aggregation, a_port_without_it_has_no_instruction_of_it) {
    const auto geometry = fib::plan_geometry(forward::small_capacity());
    const LoadedPortStage plain(geometry, first_port, first_port);
    const LoadedPortStage adding(geometry, first_port, first_port, {.aggregation = true});
    for (const char* map : {PP_MAP_SUM_GROUPS, PP_MAP_SUM_PORTS, PP_MAP_SUM_SLOTS, PP_MAP_SUM_EXITS}) {
        EXPECT_FALSE(plain.refers_to(1, map)) << map;
        EXPECT_TRUE(adding.refers_to(1, map)) << map;
    }
    // That is how a port that needs no branch for it is recognised: all else is alike.
    EXPECT_TRUE(plain.refers_to(1, PP_MAP_FIB_IMAGE));
    EXPECT_TRUE(adding.refers_to(1, PP_MAP_FIB_IMAGE));
}

}  // namespace
}  // namespace pktpit::test
