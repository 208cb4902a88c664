// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_file.h"

#include <gtest/gtest.h>
#include <lzma.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fib/tables/table_generator.h"

namespace pktpit::fib {
namespace {

using Lines = std::vector<std::string>;

/// Collects what it is shown as "line prefix id".
class Collector {
  public:
    TableVisitor visitor() {
        return [this](const Prefix& prefix, std::string_view id, size_t line) -> Result<void> {
            lines.push_back(std::to_string(line) + " " + prefix.to_string() + " " + std::string(id));
            return {};
        };
    }
    Lines lines;
};

Error error_of(std::string_view text) {
    Collector collector;
    const auto result = read_table_text(text, "t", collector.visitor());
    EXPECT_FALSE(result) << text;
    return result ? Error{} : result.error();
}

class TableFile : public testing::Test {
  protected:
    TableFile() { std::filesystem::create_directory(folder_); }
    ~TableFile() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, std::string_view bytes) {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    static std::string compress(std::string_view text) {
        std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
        size_t size = 0;
        EXPECT_EQ(lzma_easy_buffer_encode(1, LZMA_CHECK_CRC64, nullptr,
                                          reinterpret_cast<const uint8_t*>(text.data()), text.size(),
                                          reinterpret_cast<uint8_t*>(packed.data()), &size, packed.size()),
                  LZMA_OK);
        packed.resize(size);
        return packed;
    }

    std::string folder_ = testing::TempDir() + "pktpit-table-" + std::to_string(getpid());
};

TEST(TableText, ReadsRoutesAndSkipsTheRest) {
    Collector collector;
    const auto count = read_table_text(
        "# a table\n"
        "\n"
        "10.0.0.0/8 1\n"
        "  2001:db8::/32\t upstream-a  # to the left\r\n"
        "   # nothing\n"
        "0.0.0.0/0 *#x\n"
        "10.0.0.0/8 1",
        "t", collector.visitor());
    EXPECT_EQ(count, 4u);
    EXPECT_EQ(collector.lines,
              (Lines{"3 10.0.0.0/8 1", "4 2001:db8::/32 upstream-a", "6 0.0.0.0/0 *", "7 10.0.0.0/8 1"}));
}

TEST(TableText, NothingIsNoError) {
    Collector collector;
    for (const char* text : {"", "\n", "#", "# x\n\n\n", " \t\r\n"})
        EXPECT_EQ(read_table_text(text, "t", collector.visitor()), 0u);
    EXPECT_TRUE(collector.lines.empty());
}

TEST(TableText, SaysWhereAndWhatIsWrong) {
    EXPECT_EQ(error_of("10.0.0.0/8 1\n10.0.0.0 1\n").where, "t:2");
    EXPECT_NE(error_of("10.0.0.0 1").message.find("\"10.0.0.0\" has no prefix length"), std::string::npos);
    EXPECT_NE(error_of("10.0.0.1/8 1").expected.find("10.0.0.0/8"), std::string::npos);
    EXPECT_NE(error_of("\n\n10.0.0.0/8\n").message.find("no next-hop id behind \"10.0.0.0/8\""),
              std::string::npos);
    EXPECT_EQ(error_of("\n\n10.0.0.0/8\n").where, "t:3");
    EXPECT_EQ(error_of("10.0.0.0/8 # 1").expected, "`prefix next-hop-id`");
    EXPECT_NE(error_of("10.0.0.0/8 1 2").message.find("\"2\" behind the next-hop id"), std::string::npos);
    EXPECT_NE(error_of(std::string(4097, 'x')).message.find("more than 4096"), std::string::npos);
    EXPECT_EQ(error_of("10.0.0.0/8 1\n" + std::string(5000, ' ') + "\n").where, "t:2");
    EXPECT_FALSE(error_of(std::string_view("10.0.0.0/8\0 1", 13)).message.empty());
}

TEST(TableText, TheVisitorCanRefuse) {
    int visits = 0;
    const auto result = read_table_text("10.0.0.0/8 1\n11.0.0.0/8 2\n12.0.0.0/8 3\n", "t",
                                        [&](const Prefix&, std::string_view id, size_t) -> Result<void> {
                                            visits++;
                                            if (id == "2") return fail({}, "unknown next hop");
                                            return {};
                                        });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().to_string(), "t:2: unknown next hop");
    EXPECT_EQ(visits, 2);
    const auto own = read_table_text(
        "10.0.0.0/8 1", "t",
        [](const Prefix&, std::string_view, size_t) -> Result<void> { return fail("elsewhere", "full"); });
    EXPECT_EQ(own.error().where, "elsewhere");
}

// Lines that lie across the pieces in which a file is read, plain and compressed.
TEST_F(TableFile, ReadsPlainAndXzAlike) {
    std::string text;
    Lines expected;
    size_t line = 0;
    for (const TableEntry& entry : generate_table(Family::ipv4, 20000, 1)) {
        text += entry.prefix.to_string() + " " + std::to_string(entry.next_hop) + "\n";
        expected.push_back(std::to_string(++line) + " " + entry.prefix.to_string() + " " +
                           std::to_string(entry.next_hop));
    }
    ASSERT_GT(text.size(), 3u * 65536);
    const std::string halves = compress(text.substr(0, 100001)) + compress(text.substr(100001));
    for (const std::string& path :
         {write("plain.txt", text), write("packed", compress(text)), write("concatenated.xz", halves)}) {
        Collector collector;
        EXPECT_EQ(read_table_file(path, collector.visitor()), expected.size()) << path;
        EXPECT_EQ(collector.lines, expected) << path;
    }
}

TEST_F(TableFile, SaysWhyAFileCannotBeRead) {
    Collector collector;
    const auto missing = read_table_file(folder_ + "/absent", collector.visitor());
    EXPECT_EQ(missing.error().to_string(), folder_ + "/absent: cannot open: No such file or directory");
    EXPECT_NE(read_table_file(folder_, collector.visitor()).error().message.find("Is a directory"),
              std::string::npos);
    EXPECT_EQ(read_table_file(write("empty", ""), collector.visitor()), 0u);
    const auto wrong = read_table_file(write("wrong", "10.0.0.0/8 1\nx\n"), collector.visitor());
    EXPECT_EQ(wrong.error().where, folder_ + "/wrong:2");
}

TEST_F(TableFile, NamesDamageToXz) {
    std::string text;
    for (const TableEntry& entry : generate_table(Family::ipv4, 20000, 1))
        text += entry.prefix.to_string() + " " + std::to_string(entry.next_hop) + "\n";
    const std::string whole = compress(text);
    Collector collector;
    for (size_t cut : {size_t{6}, size_t{20}, whole.size() / 2, whole.size() - 1}) {
        const auto result = read_table_file(write("cut.xz", whole.substr(0, cut)), collector.visitor());
        ASSERT_FALSE(result) << cut;
        EXPECT_NE(result.error().message.find("ends too early"), std::string::npos)
            << result.error().to_string();
    }
    std::string damaged = whole;
    damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x10);
    const auto result = read_table_file(write("damaged.xz", damaged), collector.visitor());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().where.find(folder_ + "/damaged.xz"), 0u);
    EXPECT_FALSE(read_table_file(write("behind.xz", whole + "junk"), collector.visitor()));
}

}  // namespace
}  // namespace pktpit::fib
