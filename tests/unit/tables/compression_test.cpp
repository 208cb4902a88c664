// SPDX-License-Identifier: BSD-3-Clause
// Files on disk: every compression around every format, whole, concatenated, cut, damaged, wrong.
#include <bzlib.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "fib/tables/table_generator.h"
#include "tests/unit/tables/collect.h"
#include "tests/unit/tables/mrt_bytes.h"

namespace pktpit::fib {
namespace {

using namespace pktpit::test;  // NOLINT

std::string packed_with(Compression compression, std::string_view text) {
    std::string packed(text.size() + text.size() / 10 + 1000, '\0');
    if (compression == Compression::xz) {
        size_t size = 0;
        EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr,
                                          reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                          reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
                  LZMA_OK);
        packed.resize(size);
    } else if (compression == Compression::gzip) {
        z_stream stream{};
        EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
        stream.avail_in = static_cast<uInt>(text.size());
        stream.next_out = reinterpret_cast<Bytef*>(packed.data());
        stream.avail_out = static_cast<uInt>(packed.size());
        EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
        packed.resize(stream.total_out);
        deflateEnd(&stream);
    } else if (compression == Compression::bzip2) {
        auto size = static_cast<unsigned>(packed.size());
        EXPECT_EQ(BZ2_bzBuffToBuffCompress(packed.data(), &size, const_cast<char*>(text.data()),
                                           static_cast<unsigned>(text.size()), 1, 0, 0),
                  BZ_OK);
        packed.resize(size);
    } else {
        packed = text;
    }
    return packed;
}

class CompressionTest : public testing::TestWithParam<Compression> {
  protected:
    CompressionTest() { std::filesystem::create_directories(folder_); }
    ~CompressionTest() override { std::filesystem::remove_all(folder_); }

    ReadOutcome read(std::string_view bytes) {
        std::ofstream(path_, std::ios::binary) << bytes;
        ReadOutcome outcome;
        outcome.finish(read_table(path_, {}, collector(outcome.lines)));
        return outcome;
    }
    static std::string packed(std::string_view text) { return packed_with(GetParam(), text); }
    /// Shorter than the magic it is text, and no good one.
    void expect_cut(const std::string& bytes) {
        const ReadOutcome outcome = read(bytes);
        ASSERT_FALSE(outcome.good) << bytes.size();
        ASSERT_EQ(outcome.error.where.find(path_), 0u);
        if (detect_compression(bytes) == Compression::none) return;
        ASSERT_NE(outcome.error.message.find("ends too early"), std::string::npos)
            << bytes.size() << outcome.error.to_string();
        Lines lines;
        const auto routes = read_table_file(path_, collector(lines));
        ASSERT_FALSE(routes) << bytes.size();
        ASSERT_EQ(routes.error().to_string(), outcome.error.to_string());
    }

    std::string folder_ = testing::TempDir() + "pktpit-compression-" + std::to_string(getpid());
    std::string path_ = folder_ + "/file";
};

/// The same table in each format.
struct Formats {
    std::string text, json, mrt;
    size_t routes = 0;
};
Formats formats() {
    Formats result;
    result.mrt = peer_index_table({{addr("192.0.2.1"), 64500}});
    for (const TableEntry& entry : generate_table(Family::ipv4, 5000, 1)) {
        const IpAddress hop = IpAddress::v4(0xc0000200 + entry.next_hop);
        result.text += entry.prefix.to_string() + " " + hop.to_string() + "\n";
        result.json +=
            R"({"prefix":")" + entry.prefix.to_string() + R"(","next_hop":")" + hop.to_string() + "\"}\n";
        TestAttributes attributes;
        attributes.next_hop = hop;
        result.mrt += rib(entry.prefix, {{0, 0, attributes}});
        result.routes++;
    }
    return result;
}
Lines without_numbers(Lines lines) {
    for (std::string& line : lines)
        line.erase(0, line.find(' ') + 1);
    return lines;
}

TEST_P(CompressionTest, EveryFormatWholeAndConcatenated) {
    const Formats all = formats();
    ASSERT_GT(all.text.size(), 65536u);
    const ReadOutcome expected = table_of(all.text);
    ASSERT_EQ(expected.lines.size(), all.routes);
    const std::pair<const std::string*, Format> forms[] = {
        {&all.text, Format::text}, {&all.json, Format::json}, {&all.mrt, Format::mrt}};
    for (const auto& [bytes, format] : forms) {
        std::string halves = packed(bytes->substr(0, 3)) + packed(bytes->substr(3, 70001)) + packed("") +
                             packed(bytes->substr(70004));
        for (const std::string& file : {packed(*bytes), halves}) {
            const ReadOutcome outcome = read(file);
            ASSERT_TRUE(outcome.good) << outcome.error.to_string();
            EXPECT_EQ(without_numbers(outcome.lines), without_numbers(expected.lines)) << name_of(format);
            EXPECT_EQ(outcome.summary.format, format);
            EXPECT_EQ(outcome.summary.compression, GetParam());
            if (format != Format::text) continue;
            // The reader of route files alone; lines lie across the pieces in which it reads.
            Lines lines;
            EXPECT_EQ(read_table_file(path_, collector(lines)), all.routes);
            EXPECT_EQ(lines, expected.lines);
        }
    }
}

TEST_P(CompressionTest, NothingIsNoError) {
    const ReadOutcome outcome = read(packed(""));
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_TRUE(outcome.lines.empty());
    Lines lines;
    EXPECT_EQ(read_table_file(path_, collector(lines)), 0u);
}

TEST_P(CompressionTest, SaysWhyARouteFileCannotBeRead) {
    Lines lines;
    const auto refusal = [&](const std::string& path) {
        return read_table_file(path, collector(lines)).error();
    };
    EXPECT_EQ(refusal(path_).to_string(), path_ + ": cannot open: No such file or directory");
    EXPECT_NE(refusal(folder_).message.find("Is a directory"), std::string::npos);
    EXPECT_EQ(read(packed("10.0.0.0/8 1\nx\n")).error.where, path_ + ":2");
    EXPECT_EQ(refusal(path_).where, path_ + ":2");
}

TEST_P(CompressionTest, CutAtEveryByte) {
    if (GetParam() == Compression::none) return;
    const std::string whole = packed("10.0.0.0/8 1\n11.0.0.0/8 2\n");
    for (size_t cut = 1; cut < whole.size(); cut++)
        expect_cut(whole.substr(0, cut));
    EXPECT_FALSE(read(whole + "junk").good);
}

TEST_P(CompressionTest, DamageIsNoticed) {
    if (GetParam() == Compression::none) return;
    const std::string whole = packed(formats().text);
    std::mt19937 random(7);
    for (int i = 0; i < 20; i++) {
        std::string damaged = whole;
        const size_t at = 20 + random() % (whole.size() - 20);
        damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
        const ReadOutcome outcome = read(damaged);
        EXPECT_FALSE(outcome.good) << at;
        EXPECT_EQ(outcome.error.where.find(path_), 0u) << outcome.error.to_string();
    }
    // More than a piece of it is good.
    for (const size_t cut : {whole.size() / 2, whole.size() - 1})
        expect_cut(whole.substr(0, cut));
    EXPECT_FALSE(read(whole + "junk").good);
}

INSTANTIATE_TEST_SUITE_P(All, CompressionTest,
                         testing::Values(Compression::none, Compression::xz, Compression::gzip,
                                         Compression::bzip2),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace pktpit::fib
