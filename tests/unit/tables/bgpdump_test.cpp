// SPDX-License-Identifier: BSD-3-Clause
// Random MRT files read by us and by bgpdump: the same routes and updates, line by line.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "fib/tables/best_path.h"
#include "fib/tables/writing.h"
#include "tests/unit/tables/collect.h"
#include "tests/unit/tables/mrt_bytes.h"

namespace pktpit::fib {
namespace {

using namespace pktpit::test;  // NOLINT

/// Of a line of `bgpdump -m`.
enum Field { kind, time, letter, peer_address, peer_as, prefix, as_path, origin, next_hop, local_pref, med };

class BgpdumpTest : public testing::Test {
  protected:
    void SetUp() override {
        if (std::system("command -v bgpdump >/dev/null 2>&1") != 0)
            GTEST_SKIP() << "bgpdump is not installed: nothing to compare with";
        std::filesystem::create_directories(folder_);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string write(std::string_view bytes) {
        const std::string path = folder_ + "/mrt";
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }

    /// Lines of `bgpdump -m`, split at '|'.
    static std::vector<Lines> dump(const std::string& path) {
        std::vector<Lines> lines;
        std::FILE* output = ::popen(("bgpdump -q -m '" + path + "' 2>/dev/null").c_str(), "r");
        char text[65536];
        while (std::fgets(text, sizeof(text), output)) {
            text[std::strcspn(text, "\n")] = '\0';
            std::istringstream fields(text);
            Lines line;
            for (std::string field; std::getline(fields, field, '|');)
                line.push_back(field);
            // Behind the prefix of an ADD-PATH line stands the path identifier.
            const size_t mark = line[kind].find("_AP");
            if (mark != std::string::npos && line.size() > as_path) {
                line[kind].erase(mark);
                line.erase(line.begin() + as_path);
            }
            // bgpdump writes "::" for one group of zeros as well, RFC 5952 does not.
            if (line.size() > prefix && line[prefix].find(':') != std::string::npos)
                line[prefix] = net(line[prefix]).to_string();
            if (line.size() > next_hop && line[next_hop].find(':') != std::string::npos)
                line[next_hop] = addr(line[next_hop]).to_string();
            lines.push_back(std::move(line));
        }
        EXPECT_EQ(::pclose(output), 0);
        return lines;
    }

    std::string folder_ = testing::TempDir() + "pktpit-bgpdump-" + std::to_string(getpid());
};

/// Random pieces of what a collector sees.
class Generator {
  public:
    explicit Generator(unsigned seed) : random_(seed) {}

    uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
    IpAddress address(Family family) {
        IpAddress result;
        result.family = family;
        for (unsigned i = 0; i < result.size(); i++)
            result.bytes[i] = static_cast<uint8_t>(random_());
        result.bytes[0] = family == Family::ipv4 ? static_cast<uint8_t>(1 + below(200)) : 0x20;
        if (below(4) == 0) std::fill(result.bytes.begin() + 2, result.bytes.begin() + result.size() - 1, 0);
        return result;
    }
    Prefix prefix(Family family) {
        const IpAddress any = address(family);
        return Prefix::of(any, below(any.bits() + 1));
    }
    Prefix new_prefix(Family family) {
        for (;;) {
            const Prefix result = prefix(family);
            if (std::ranges::find(used_, result) != used_.end()) continue;
            used_.push_back(result);
            return result;
        }
    }
    std::vector<TestPeer> peers(size_t count) {
        std::vector<TestPeer> result;
        for (size_t i = 0; i < count; i++)
            result.push_back({address(below(3) ? Family::ipv4 : Family::ipv6),
                              i % 3 == 0 ? 4200000000u + static_cast<uint32_t>(i) : 1000 + below(60000)});
        return result;
    }
    TestAttributes attributes() {
        TestAttributes result;
        result.origin = static_cast<uint8_t>(below(3));
        result.path = {{2, {}}};
        for (uint32_t i = 0, length = 1 + below(5); i < length; i++)
            result.path[0].numbers.push_back(1 + below(3));
        if (below(5) == 0) result.path.push_back({1, {7, 8, 9}});
        if (below(3)) result.med = below(4);
        if (below(6) == 0) result.local_pref = 90 + below(20);
        if (below(3) == 0) result.others += attribute(0xc0, 8, Bytes().u32(random_()));  // COMMUNITIES
        if (below(9) == 0) result.others += attribute(0xc0, 7, Bytes().u32(1).u32(0xc0000201));  // AGGREGATOR
        if (below(9) == 0) result.others += attribute(0x40, 6, "");  // ATOMIC_AGGREGATE
        if (below(9) == 0) result.others += attribute(0xc0, 32, std::string(12 * (1 + below(40)), 'x'));
        return result;
    }
    std::vector<IpAddress> ipv6_hops() {
        std::vector<IpAddress> hops = {address(Family::ipv6)};
        if (below(2)) hops.push_back(addr("fe80::1234"));
        return hops;
    }

  private:
    std::mt19937 random_;
    std::vector<Prefix> used_;
};

std::string random_table(Generator& random, const std::vector<TestPeer>& peers, size_t records,
                         bool add_path) {
    std::string bytes = peer_index_table(peers, "view");
    for (size_t i = 0; i < records; i++) {
        const Family family = random.below(2) ? Family::ipv4 : Family::ipv6;
        std::vector<TestEntry> entries;
        for (uint16_t peer = 0; peer < static_cast<uint16_t>(peers.size()); peer++) {
            if (random.below(3) == 0) continue;
            TestEntry entry{peer, random.below(1000), random.attributes()};
            if (family == Family::ipv4) {
                entry.attributes.next_hop = random.address(family);
            } else if (random.below(3)) {
                entry.attributes.mp_reach = abbreviated_reach(random.ipv6_hops());
            } else {
                entry.attributes.mp_reach = full_reach(2, 1, random.ipv6_hops(), "");
            }
            entries.push_back(entry);
        }
        if (!entries.empty()) bytes += rib(random.new_prefix(family), entries, add_path);
    }
    return bytes;
}

TEST_F(BgpdumpTest, TablesPeerByPeer) {
    for (const bool add_path : {false, true}) {
        Generator random(add_path ? 2 : 1);
        const auto peers = random.peers(8);
        const std::string path = write(random_table(random, peers, 2000, add_path));
        const auto dumped = dump(path);
        ASSERT_GT(dumped.size(), 5000u);
        size_t compared = 0;
        for (size_t peer = 0; peer < peers.size(); peer++) {
            Lines expected;
            for (const Lines& line : dumped) {
                ASSERT_GT(line.size(), med);
                ASSERT_EQ(line[kind], "TABLE_DUMP2");
                if (line[peer_address] == peers[peer].address.to_string() &&
                    line[peer_as] == std::to_string(peers[peer].as))
                    expected.push_back(line[prefix] + " " + line[next_hop]);
            }
            ReadOutcome ours;
            ours.finish(read_table(path, of_peer(std::to_string(peer)), collector(ours.lines)));
            ASSERT_TRUE(ours.good) << ours.error.to_string();
            for (std::string& line : ours.lines)
                line.erase(0, line.find(' ') + 1);
            ASSERT_EQ(ours.lines, expected) << "peer " << peer;
            compared += expected.size();
        }
        EXPECT_EQ(compared, dumped.size());
        std::printf("%zu entries agree with bgpdump\n", compared);
    }
}

/// What the rule of best_path.h chooses among the entries as bgpdump prints them.
std::string best_of(const std::vector<const Lines*>& entries, const std::vector<TestPeer>& peers) {
    std::vector<PathCandidate> candidates;
    Lines hops;
    for (const Lines* line : entries) {
        PathCandidate candidate;
        std::istringstream words((*line)[as_path]);
        for (std::string word; words >> word;) {
            if (candidate.as_path_length++ == 0)
                candidate.neighbour_as = static_cast<uint32_t>(std::stoul(word));
        }
        candidate.origin = (*line)[origin] == "IGP" ? 0 : (*line)[origin] == "EGP" ? 1 : 2;
        // bgpdump prints 0 for a LOCAL_PREF that is not there; the generator never writes 0.
        candidate.local_pref = static_cast<uint32_t>(std::stoul((*line)[local_pref]));
        if (candidate.local_pref == 0) candidate.local_pref = 100;
        candidate.med = static_cast<uint32_t>(std::stoul((*line)[med]));
        for (uint32_t i = 0; i < peers.size(); i++)
            if ((*line)[peer_address] == peers[i].address.to_string()) candidate.peer = i;
        candidate.next_hop = addr((*line)[next_hop]);
        candidates.push_back(candidate);
    }
    return best_path(candidates).next_hop.to_string();
}

TEST_F(BgpdumpTest, TheBestEntryOfATable) {
    Generator random(3);
    const auto peers = random.peers(8);
    const std::string path = write(random_table(random, peers, 3000, false));
    std::map<std::string, std::vector<const Lines*>> entries;
    Lines order;
    const auto dumped = dump(path);
    for (const Lines& line : dumped) {
        auto& of_prefix = entries[line.at(prefix)];
        if (of_prefix.empty()) order.push_back(line[prefix]);
        of_prefix.push_back(&line);
    }
    Lines expected;
    for (const std::string& name : order)
        expected.push_back(name + " " + best_of(entries[name], peers));
    ReadOutcome ours;
    ours.finish(read_table(path, {}, collector(ours.lines)));
    ASSERT_TRUE(ours.good) << ours.error.to_string();
    for (std::string& line : ours.lines)
        line.erase(0, line.find(' ') + 1);
    ASSERT_GT(expected.size(), 2500u);
    EXPECT_EQ(ours.lines, expected);
}

/// Subtypes: those that bgpdump reads.
std::string random_updates(Generator& random, size_t records) {
    const auto peers = random.peers(6);
    std::string bytes;
    for (size_t i = 0; i < records; i++) {
        TestPeer peer = peers[random.below(static_cast<uint32_t>(peers.size()))];
        const bool add_path = random.below(4) == 0;
        const bool wide = peer.as > 0xffff || random.below(2);
        const uint16_t subtype = add_path ? (wide ? 9 : 8) : (wide ? 4 : 1);
        const auto some = [&](Family family) {
            std::string nlri;
            for (uint32_t n = random.below(4); n > 0; n--)
                nlri += prefixes({random.prefix(family)},
                                 add_path ? std::optional(random.below(99)) : std::nullopt);
            return nlri;
        };
        const std::string withdrawn = random.below(2) ? some(Family::ipv4) : "";
        std::string announced;
        TestAttributes attributes = random.attributes();
        attributes.local_pref.reset();
        if (random.below(3)) {
            attributes.next_hop = random.address(Family::ipv4);
            announced = some(Family::ipv4);
        }
        if (random.below(3) == 0) attributes.mp_unreach = unreach(2, 1, some(Family::ipv6));
        if (random.below(3) == 0)
            attributes.mp_reach = full_reach(2, 1, random.ipv6_hops(), some(Family::ipv6));
        const std::string message = random.below(20) == 0
                                        ? bgp_message(4, "")
                                        : bgp_update(withdrawn, attributes.encode(wide), announced);
        const uint32_t seconds = 1470009600 + static_cast<uint32_t>(i / 10);
        bytes += random.below(3) == 0 ? bgp4mp_et(seconds, random.below(1000000), peer, message, subtype)
                                      : bgp4mp(seconds, peer, message, subtype);
        if (random.below(30) == 0) {
            // Idle to Connect, of one peer.
            bytes += mrt(seconds, 16, 0,
                         Bytes().u16(1).u16(2).u16(0).u16(1).u32(0xc0000201).u32(0xc0000202).u16(1).u16(2));
        }
    }
    return bytes;
}

TEST_F(BgpdumpTest, Updates) {
    Generator random(4);
    const std::string path = write(random_updates(random, 4000));
    Lines expected;
    for (const Lines& line : dump(path)) {
        ASSERT_GT(line.size(), letter);
        if (line[letter] == "STATE") continue;
        ASSERT_GT(line.size(), prefix);
        std::string seconds = line[time];
        if (const size_t dot = seconds.find('.'); dot != std::string::npos) {
            seconds.erase(seconds.find_last_not_of('0') + 1);
            if (seconds.back() == '.') seconds.pop_back();
        }
        if (line[letter] == "W") {
            expected.push_back(seconds + " w " + line[prefix]);
        } else {
            ASSERT_GT(line.size(), next_hop);
            expected.push_back(seconds + " a " + line[prefix] + " " + line[next_hop]);
        }
    }
    ReadOutcome ours;
    ours.finish(read_updates(path, {}, update_collector(ours.lines)));
    ASSERT_TRUE(ours.good) << ours.error.to_string();
    for (std::string& line : ours.lines)
        line.erase(0, line.find(' ') + 1);
    ASSERT_GT(expected.size(), 5000u);
    ASSERT_EQ(ours.lines.size(), expected.size());
    for (size_t i = 0; i < expected.size(); i++)
        ASSERT_EQ(ours.lines[i], expected[i]) << i;
    std::printf("%zu updates agree with bgpdump\n", expected.size());
}

TEST_F(BgpdumpTest, WhatWeWrite) {
    Generator random(5);
    std::string bytes;
    MrtTableWriter writer(bytes, 1470009600);
    Lines expected;
    for (int i = 0; i < 3000; i++) {
        const Family family = random.below(2) ? Family::ipv4 : Family::ipv6;
        const Prefix route = random.prefix(family);
        // An IPv4 prefix by an IPv6 next hop (RFC 8950) bgpdump does not print; see the table's tests for
        // these.
        const IpAddress hop = random.address(family);
        ASSERT_TRUE(writer.add(route, hop.to_string()));
        expected.push_back("1470009600 " + route.to_string() + " " + hop.to_string());
    }
    Lines dumped;
    for (const Lines& line : dump(write(bytes))) {
        ASSERT_GT(line.size(), next_hop);
        dumped.push_back(line[time] + " " + line[prefix] + " " + line[next_hop]);
    }
    EXPECT_EQ(dumped, expected);
}

}  // namespace
}  // namespace pktpit::fib
