// SPDX-License-Identifier: BSD-3-Clause
// Samples on their way to collectors on the loopback device. That the bytes are sFlow's is for an independent
// decoder to say (tests/e2e/test_sflow.py).
#include "router/sflow/exporter.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "base/socket_address.h"
#include "tests/until.h"

namespace pktpit::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A collector at a free port of this machine.
class FakeCollector {
  public:
    FakeCollector() : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        const SocketAddress here(IpAddress::parse("127.0.0.1").value(), 0);
        EXPECT_EQ(::bind(socket_.get(), here.get(), here.size), 0);
        sockaddr_in bound{};
        socklen_t size = sizeof bound;
        EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&bound), &size), 0);
        port_ = ntohs(bound.sin_port);
    }
    [[nodiscard]] config::SflowCollector address() const {
        return {IpAddress::parse("127.0.0.1").value(), port_};
    }
    /// What has come so far; `least` datagrams are waited for.
    std::vector<std::vector<uint8_t>> take(size_t least = 0) {
        std::vector<std::vector<uint8_t>> all;
        for (;;) {
            if (all.size() < least && !pktpit::test::readable(socket_.get())) return all;
            std::vector<uint8_t> bytes(65536);
            const auto got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
            if (got < 0) return all;
            bytes.resize(static_cast<size_t>(got));
            all.push_back(std::move(bytes));
        }
    }

  private:
    Fd socket_;
    uint16_t port_ = 0;
};

uint32_t word(const std::vector<uint8_t>& bytes, size_t index) {
    uint32_t value = 0;
    std::memcpy(&value, &bytes.at(index * 4), 4);
    return ntohl(value);
}
// Words of a datagram of an IPv4 agent.
constexpr size_t sequence_word = 4, samples_word = 6, first_sample = 7;

struct Rig {
    pp_port_counters counters{};
    uint64_t lost = 0;
    SflowExporter exporter{{[this](uint16_t) { return counters; }, [this](uint16_t) { return lost; }},
                           std::chrono::steady_clock::now()};
    std::vector<uint8_t> bytes = std::vector<uint8_t>(200, 7);

    explicit Rig(const std::vector<config::SflowCollector>& collectors, uint32_t one_in = 1) {
        config::Sflow settings;
        settings.collectors = collectors;
        settings.agent = IpAddress::parse("192.0.2.1").value();
        EXPECT_TRUE(exporter.configure(settings));
        exporter.set_ports({{1, {11, true, one_in}}, {2, {12, true, 0}}});
    }
    Observation seen(pp_verdict verdict = PP_FORWARDED) {
        Observation one;
        one.port = 1;
        one.egress_port = 2;
        one.verdict = verdict;
        one.frame_length = one.end_length = 200;
        one.slice = std::span<const uint8_t>(bytes).first(128);
        one.frame = bytes;
        return one;
    }
    void tick(SflowExporter::Time at = {}) { exporter.tick(at); }
};

TEST(SflowExporter, SamplesFillDatagramsAndLeaveWithTheTick) {
    FakeCollector collector, other;
    Rig rig({collector.address(), other.address()});
    rig.tick();  // counters
    collector.take(1);
    rig.counters.rx_packets = 77;
    rig.lost = 5;
    for (int i = 0; i < 20; i++)
        rig.exporter.observe(rig.seen(), 1);
    rig.tick();
    const auto datagrams = collector.take(2);
    ASSERT_GE(datagrams.size(), 2u);
    uint32_t samples = 0;
    for (size_t i = 0; i < datagrams.size(); i++) {
        EXPECT_LE(datagrams[i].size(), SflowDatagram::most_bytes);
        EXPECT_EQ(datagrams[i].size() % 4, 0u);
        EXPECT_EQ(word(datagrams[i], sequence_word), 2 + i);
        samples += word(datagrams[i], samples_word);
    }
    EXPECT_EQ(samples, 20u);
    const auto& first = datagrams.front();
    EXPECT_EQ(word(first, first_sample + 5), 77u);  // pool
    EXPECT_EQ(word(first, first_sample + 6), 5u);   // drops
    EXPECT_EQ(word(first, first_sample + 7), 11u);  // input
    EXPECT_EQ(word(first, first_sample + 8), 12u);  // output
    EXPECT_EQ(other.take(datagrams.size() + 1).size(), datagrams.size() + 1);
    EXPECT_EQ(rig.exporter.counts().flow_samples, 20u);
}

TEST(SflowExporter, OfWhatIsObservedForOthersItTakesItsShare) {
    FakeCollector collector;
    Rig rig({collector.address()}, 10);
    constexpr uint32_t packets = 9'000;
    for (uint32_t i = 0; i < packets; i++) {
        rig.exporter.observe(rig.seen(), 1);
        if (i % 900 == 0) rig.tick();
    }
    EXPECT_NEAR(static_cast<double>(rig.exporter.counts().flow_samples), packets / 10.0, 150);
    Observation unsampled = rig.seen();
    unsampled.port = 2;
    const uint64_t before = rig.exporter.counts().flow_samples;
    for (uint32_t i = 0; i < 100; i++)
        rig.exporter.observe(unsampled, 1);
    EXPECT_EQ(rig.exporter.counts().flow_samples, before);
}

TEST(SflowExporter, MoreThanItTakesIsCountedAsDropped) {
    FakeCollector collector;
    Rig rig({collector.address()});
    for (uint32_t i = 0; i < SflowExporter::most_per_tick + 30; i++)
        rig.exporter.observe(rig.seen(), 1);
    EXPECT_EQ(rig.exporter.counts().flow_samples, SflowExporter::most_per_tick);
    EXPECT_EQ(rig.exporter.counts().skipped, 30u);
    rig.tick();
    collector.take();
    rig.exporter.observe(rig.seen(), 1);
    rig.tick();
    const auto datagrams = collector.take(1);
    ASSERT_EQ(datagrams.size(), 1u);
    EXPECT_EQ(word(datagrams[0], first_sample + 6), 30u);
}

TEST(SflowExporter, CountersComeWhenItIsTime) {
    FakeCollector collector;
    Rig rig({collector.address()});
    rig.counters.rx_packets = 10;
    rig.counters.rx_bytes = 1000;
    SflowExporter::Time now{};
    rig.tick(now);
    auto datagrams = collector.take(1);
    ASSERT_EQ(datagrams.size(), 1u);  // of the sampled port alone
    EXPECT_EQ(word(datagrams[0], samples_word), 1u);
    EXPECT_EQ(word(datagrams[0], first_sample + 14), 1040u);  // octets, with FCS
    rig.tick(now + seconds(29));
    EXPECT_TRUE(collector.take().empty());
    rig.tick(now + seconds(30));
    EXPECT_EQ(collector.take(1).size(), 1u);
}

TEST(SflowExporter, ACollectorThatIsGoneIsCountedAndNotWaitedFor) {
    config::SflowCollector gone;
    {
        FakeCollector collector;
        gone = collector.address();
    }
    FakeCollector there;
    Rig rig({gone, {IpAddress::parse("255.255.255.255").value(), 6343}, there.address()});
    for (int i = 0; i < 5000; i++) {
        rig.exporter.observe(rig.seen(), 1);
        if (i % 500 == 0) rig.tick();
    }
    rig.tick();
    EXPECT_EQ(rig.exporter.counts().flow_samples, 5000u);
    EXPECT_GT(rig.exporter.counts().not_sent, 500u);  // a broadcast needs a permission that it does not have
    EXPECT_FALSE(there.take(1).empty());
}

TEST(SflowExporter, OutputsSayWhatBecameOfThePacket) {
    EXPECT_EQ(sflow_output_of(PP_HOST_LOCAL).value, 0x3fffffffu);
    EXPECT_EQ(sflow_output_of(PP_DROP_FILTER).value, 0x40000000u | 258);
    EXPECT_EQ(sflow_output_of(PP_DROP_POLICE).value, 0x40000000u | 261);
    EXPECT_EQ(sflow_output_of(PP_PUNT_TTL_EXPIRED).value, 0x40000000u | 257);
    EXPECT_EQ(sflow_output_of(PP_DROP_BLACKHOLE).value, 0x40000000u | 256);
    EXPECT_EQ(sflow_output_of(PP_PUNT_NO_NEIGHBOUR).value, 0u);
}

TEST(SflowExporter, OffTakesNothing) {
    Rig rig({});
    EXPECT_FALSE(rig.exporter.is_on());
    rig.exporter.observe(rig.seen(), 1);
    rig.tick();
    EXPECT_EQ(rig.exporter.counts().flow_samples, 0u);
}

}  // namespace
}  // namespace pktpit::router
