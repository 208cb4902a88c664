// SPDX-License-Identifier: BSD-3-Clause
// Against the layout of draft-ietf-opsawg-pcapng, byte by byte; that others read it is tests/e2e's.
#include "router/observe/pcapng.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "router/cli/capture_tally.h"

namespace pktpit::router::pcapng {
namespace {

uint32_t word(std::string_view bytes, size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

/// Options by code; checks their padding and their end.
std::map<unsigned, std::string> options_of(std::string_view bytes) {
    std::map<unsigned, std::string> options;
    while (bytes.size() >= 4) {
        const unsigned code = word(bytes, 0) & 0xffff;
        const size_t length = word(bytes, 0) >> 16;
        if (code == 0) {
            EXPECT_EQ(bytes, std::string_view("\0\0\0\0", 4));
            return options;
        }
        options[code] = bytes.substr(4, length);
        bytes.remove_prefix(4 + (length + 3) / 4 * 4);
    }
    ADD_FAILURE() << "options do not end";
    return options;
}

void expect_frame(const std::string& block, uint32_t type) {
    ASSERT_EQ(block.size() % 4, 0u);
    EXPECT_EQ(word(block, 0), type);
    EXPECT_EQ(word(block, 4), block.size());
    EXPECT_EQ(word(block, block.size() - 4), block.size());
}

std::string_view body_of(const std::string& block) {
    return std::string_view(block).substr(8, block.size() - 12);
}

TEST(Pcapng, SectionHeader) {
    const std::string block = section_header("pktpit 1");
    expect_frame(block, 0x0a0d0d0a);
    EXPECT_EQ(word(block, 8), 0x1a2b3c4du);
    EXPECT_EQ(word(block, 12), 1u);
    EXPECT_EQ(options_of(body_of(block).substr(16))[4], "pktpit 1");
}

TEST(Pcapng, Interface) {
    const std::string block = interface("eth0", "", 262144);
    expect_frame(block, 1);
    EXPECT_EQ(word(block, 8), 1u) << "Ethernet";
    EXPECT_EQ(word(block, 12), 262144u);
    const auto options = options_of(body_of(block).substr(8));
    EXPECT_EQ(options, (std::map<unsigned, std::string>{{2, "eth0"}, {9, "\x09"}}));
    EXPECT_EQ(options_of(body_of(interface("p", "a port", 1)).substr(8)).at(3), "a port");
}

TEST(Pcapng, Packets) {
    for (size_t bytes = 0; bytes < 9; bytes++) {
        const std::vector<uint8_t> frame(bytes, 0xab);
        const std::string block =
            enhanced_packet({3, 0x0102030405060708, 1500, frame, Direction::outbound, "why"});
        expect_frame(block, 6);
        EXPECT_EQ(word(block, 8), 3u);
        EXPECT_EQ(word(block, 12), 0x01020304u);
        EXPECT_EQ(word(block, 16), 0x05060708u);
        EXPECT_EQ(word(block, 20), bytes);
        EXPECT_EQ(word(block, 24), 1500u);
        EXPECT_EQ(body_of(block).substr(20, bytes), std::string(bytes, '\xab'));
        const auto options = options_of(body_of(block).substr(20 + (bytes + 3) / 4 * 4));
        EXPECT_EQ(options, (std::map<unsigned, std::string>{{1, "why"}, {2, std::string("\2\0\0\0", 4)}}));
    }
    const std::string plain = enhanced_packet({0, 1, 1, {}, Direction::unknown, ""});
    EXPECT_TRUE(options_of(body_of(plain).substr(20)).empty());
}

TEST(Pcapng, TheTallyReadsWhatWasWrittenInPiecesOfAnySize) {
    const std::vector<uint8_t> frame(61);
    std::string file = section_header("x") + interface("a", "b", 100);
    for (int i = 0; i < 5; i++)
        file += enhanced_packet({0, 0, 61, frame, Direction::unknown, "c"});
    file += interface_statistics(0, 1, 12, 7) + interface_statistics(1, 1, 3, 2);
    for (const size_t piece : {size_t{1}, size_t{3}, size_t{64}, file.size()}) {
        cli::CaptureTally tally;
        for (size_t at = 0; at < file.size(); at += piece)
            tally.take(std::string_view(file).substr(at, piece));
        EXPECT_EQ(tally.packets(), 5u);
        EXPECT_EQ(tally.lost(), 9u);
        EXPECT_TRUE(tally.is_whole());
    }
    cli::CaptureTally cut;
    cut.take(std::string_view(file).substr(0, file.size() - 1));
    EXPECT_FALSE(cut.is_whole());
    cli::CaptureTally nonsense;
    nonsense.take(std::string(64, '\xff'));
    EXPECT_FALSE(nonsense.is_whole());
    EXPECT_EQ(nonsense.packets(), 0u);
}

}  // namespace
}  // namespace pktpit::router::pcapng
