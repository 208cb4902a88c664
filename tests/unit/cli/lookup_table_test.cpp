// SPDX-License-Identifier: BSD-3-Clause
// `lookup --table`: files as people write them, random tables and the real ones against an oracle that shares
// no code with the router: inet_pton, and one hash map per prefix length.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <unordered_map>

#include "fib/tables/data_folder.h"
#include "tests/sanitized.h"
#include "tests/unit/cli/run_cli.h"

namespace pktpit::router::cli::test {
namespace {

using ::testing::HasSubstr;

using Bytes = std::array<uint8_t, 16>;

void clear_bit(Bytes& bytes, int bit) {
    auto& byte = bytes[static_cast<size_t>(bit / 8)];
    byte = static_cast<uint8_t>(byte & ~(0x80 >> (bit % 8)));
}

class Oracle {
  public:
    void add(const std::string& prefix, const std::string& id) {
        const size_t slash = prefix.find('/');
        const int length = std::stoi(prefix.substr(slash + 1));
        const auto [bytes, family] = parse(prefix.substr(0, slash));
        by_length_[family == AF_INET ? 0 : 1][static_cast<size_t>(length)][key(bytes, length)] =
            prefix + " " + id;
        prefixes_++;
    }
    /// "prefix id", or "- -".
    [[nodiscard]] std::string lookup(const std::string& address) const {
        const auto [bytes, family] = parse(address);
        const auto& tables = by_length_[family == AF_INET ? 0 : 1];
        for (int length = family == AF_INET ? 32 : 128; length >= 0; length--) {
            const auto& table = tables[static_cast<size_t>(length)];
            if (table.empty()) continue;
            const auto found = table.find(key(bytes, length));
            if (found != table.end()) return found->second;
        }
        return "- -";
    }
    [[nodiscard]] size_t size() const { return prefixes_; }

  private:
    static std::pair<Bytes, int> parse(const std::string& text) {
        Bytes bytes{};
        const int family = text.find(':') == std::string::npos ? AF_INET : AF_INET6;
        EXPECT_EQ(::inet_pton(family, text.c_str(), bytes.data()), 1) << text;
        return {bytes, family};
    }
    using Key = std::pair<uint64_t, uint64_t>;
    struct Hash {
        size_t operator()(const Key& key) const {
            return key.first * 0x9e3779b97f4a7c15U ^ (key.second * 31);
        }
    };
    static Key key(Bytes bytes, int length) {
        for (int bit = length; bit < 128 && bit % 8; bit++)
            clear_bit(bytes, bit);
        std::fill(bytes.begin() + (length + 7) / 8, bytes.end(), uint8_t{0});
        Key key;
        std::memcpy(&key.first, bytes.data(), 8);
        std::memcpy(&key.second, bytes.data() + 8, 8);
        return key;
    }
    std::array<std::array<std::unordered_map<Key, std::string, Hash>, 129>, 2> by_length_;
    size_t prefixes_ = 0;
};

std::string text_of(const Bytes& bytes, int family) {
    char text[INET6_ADDRSTRLEN];
    ::inet_ntop(family, bytes.data(), text, sizeof(text));
    return text;
}

class LookupTableTest : public ::testing::Test {
  protected:
    void SetUp() override {
        std::string name = (std::filesystem::temp_directory_path() / "pktpit-lookup-XXXXXX").string();
        directory_ = ::mkdtemp(name.data());
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(directory_ / name) << text;
        return (directory_ / name).string();
    }
    /// The CLI with `input` as its standard input.
    [[nodiscard]] Output look_up(const std::string& table, const std::string& input,
                                 std::vector<std::string> more = {}) const {
        const std::string path = write("input", input);
        const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        std::vector<std::string> arguments = {"lookup", "--table", table};
        arguments.insert(arguments.end(), more.begin(), more.end());
        Output output = run_cli(arguments, descriptor);
        ::close(descriptor);
        return output;
    }

    void compare(const std::string& table, const Oracle& oracle,
                 const std::vector<std::string>& addresses) const {
        std::string input;
        for (const auto& address : addresses)
            input += address + "\n";
        const Output output = look_up(table, input);
        ASSERT_EQ(output.status, 0) << output.err;
        std::istringstream answers(output.out);
        size_t matched = 0;
        for (const auto& address : addresses) {
            std::string line;
            ASSERT_TRUE(std::getline(answers, line));
            const std::string expected = oracle.lookup(address);
            ASSERT_EQ(line, address + " " + expected);
            matched += expected != "- -";
        }
        std::string surplus;
        EXPECT_FALSE(std::getline(answers, surplus)) << surplus;
        // Of random addresses some match and some do not: else this compared nothing.
        EXPECT_GT(matched, addresses.size() / 100);
        EXPECT_LT(matched, addresses.size());
    }

    std::filesystem::path directory_;
};

TEST_F(LookupTableTest, ArgumentsAreAnsweredInOrder) {
    const std::string table = write("t", "10.0.0.0/8 a\n10.1.0.0/16 b\n2001:db8::/32 c\n0.0.0.0/0 d\n");
    const Output output =
        run_cli({"lookup", "--table", table, "10.1.2.3", "10.2.0.0", "2001:db8::1", "::1", "8.8.8.8"});
    EXPECT_EQ(output.out,
              "10.1.2.3 10.1.0.0/16 b\n"
              "10.2.0.0 10.0.0.0/8 a\n"
              "2001:db8::1 2001:db8::/32 c\n"
              "::1 - -\n"
              "8.8.8.8 0.0.0.0/0 d\n");
    EXPECT_EQ(output.status, 0);
    EXPECT_EQ(output.err, "");
}

TEST_F(LookupTableTest, StandardInputMayHaveBlanksCommentsAndCarriageReturns) {
    const std::string table = write("t", "10.0.0.0/8 a\n");
    const Output output = look_up(table, "  10.0.0.1\t\r\n\n# nothing\n11.0.0.1 # comment\n10.0.0.2");
    EXPECT_EQ(output.out, "10.0.0.1 10.0.0.0/8 a\n11.0.0.1 - -\n10.0.0.2 10.0.0.0/8 a\n");
    EXPECT_EQ(output.status, 0);
}

TEST_F(LookupTableTest, BadAddressesAreToldByLineAndTheRestIsAnswered) {
    const std::string table = write("t", "10.0.0.0/8 a\n");
    const Output output = look_up(table, "10.0.0.1\n10.0.0\n\nbanana\n10.0.0.2/32\n10.0.0.3\n");
    EXPECT_EQ(output.out, "10.0.0.1 10.0.0.0/8 a\n10.0.0.3 10.0.0.0/8 a\n");
    EXPECT_EQ(output.status, 1);
    for (const char* part : {"line 2: \"10.0.0\"", "line 4: \"banana\"", "line 5: \"10.0.0.2/32\""}) {
        EXPECT_THAT(output.err, HasSubstr(part));
    }
}

TEST_F(LookupTableTest, BadArgument) {
    const std::string table = write("t", "10.0.0.0/8 a\n");
    const Output output = run_cli({"lookup", "--table", table, "10.0.0.1", "x"});
    EXPECT_EQ(output.status, 1);
    EXPECT_EQ(output.out, "10.0.0.1 10.0.0.0/8 a\n");
    EXPECT_THAT(output.err, HasSubstr("argument 2"));
}

TEST_F(LookupTableTest, Json) {
    const std::string table = write("t", "10.0.0.0/8 a\"b\n");
    const Output output = run_cli({"lookup", "--json", "--table", table, "10.0.0.1", "::1"});
    EXPECT_EQ(output.out,
              "{\"results\": [\n"
              "  {\"address\":\"10.0.0.1\",\"next_hop\":\"a\\\"b\",\"prefix\":\"10.0.0.0/8\"},\n"
              "  {\"address\":\"::1\",\"next_hop\":null,\"prefix\":null}\n]}\n");
}

TEST_F(LookupTableTest, EmptyTableAndEmptyInput) {
    const std::string table = write("t", "# no routes\n");
    EXPECT_EQ(run_cli({"lookup", "--table", table, "10.0.0.1"}).out, "10.0.0.1 - -\n");
    const Output nothing = look_up(table, "");
    EXPECT_EQ(nothing.out, "");
    EXPECT_EQ(nothing.status, 0);
}

TEST_F(LookupTableTest, BrokenTables) {
    const Output absent = run_cli({"lookup", "--table", (directory_ / "absent").string(), "10.0.0.1"});
    EXPECT_EQ(absent.status, 1);
    EXPECT_THAT(absent.err, HasSubstr("absent"));
    const Output broken =
        run_cli({"lookup", "--table", write("t", "10.0.0.0/8 a\n10.0.0.0/40 b\n"), "10.0.0.1"});
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.err, HasSubstr(":2"));
    EXPECT_EQ(broken.out, "");
}

TEST_F(LookupTableTest, RandomTablesAgreeWithTheOracle) {
    for (const unsigned seed : {1U, 2U, 3U}) {
        std::mt19937_64 random(seed);
        std::ostringstream text;
        Oracle oracle;
        std::vector<std::string> addresses;
        for (int i = 0; i < pktpit::test::rounds_of(20'000); i++) {
            const int family = random() % 2 ? AF_INET : AF_INET6;
            const int bits = family == AF_INET ? 32 : 128;
            Bytes bytes{};
            // Crowded, so that prefixes nest.
            for (int b = 0; b < bits / 8; b++)
                bytes[static_cast<size_t>(b)] = static_cast<uint8_t>(random() % (b < 2 ? 8 : 4) * 37);
            const int length = static_cast<int>(random() % static_cast<unsigned>(bits + 1));
            Bytes masked = bytes;
            for (int bit = length; bit < 128; bit++)
                clear_bit(masked, bit);
            if (length < 3) continue;  // else everything matches
            const std::string prefix = text_of(masked, family) + "/" + std::to_string(length);
            const std::string id = "hop" + std::to_string(random() % 500);
            text << prefix << ' ' << id << '\n';
            oracle.add(prefix, id);
            for (int bit = length; bit < bits; bit++) {
                if (random() % 2)
                    bytes[static_cast<size_t>(bit / 8)] ^= static_cast<uint8_t>(0x80 >> (bit % 8));
            }
            addresses.push_back(text_of(bytes, family));
            bytes[0] = static_cast<uint8_t>(random());
            addresses.push_back(text_of(bytes, family));
        }
        compare(write("t", text.str()), oracle, addresses);
    }
}

/// A real table, unpacked by the xz program and not by us; empty if the file is not there.
Oracle read_with_xz(const std::string& path, std::vector<std::string>& prefixes) {
    Oracle oracle;
    std::FILE* unpacked = ::popen(("xz -dc '" + path + "'").c_str(), "r");
    char line[256];
    while (std::fgets(line, sizeof(line), unpacked)) {
        char prefix[128];
        char id[64];
        if (std::sscanf(line, "%127s %63s", prefix, id) != 2) continue;
        oracle.add(prefix, id);
        prefixes.emplace_back(prefix);
    }
    ::pclose(unpacked);
    return oracle;
}

class RealTableTest : public LookupTableTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(RealTableTest, AgreesWithTheOracle) {
    const auto real = fib::data_file(GetParam());
    if (!real)
        GTEST_SKIP() << GetParam()
                     << " is read where PKTPIT_DATA names its folder; RandomTablesAgreeWithTheOracle ran";
    const std::string& path = *real;
    std::vector<std::string> prefixes;
    const Oracle oracle = read_with_xz(path, prefixes);
    ASSERT_GT(oracle.size(), 100'000U);
    std::mt19937_64 random(42);
    std::vector<std::string> addresses;
    for (int i = 0; i < pktpit::test::rounds_of(100'000); i++) {
        // The first address of a prefix, the one before it, and any.
        const std::string& prefix = prefixes[random() % prefixes.size()];
        const std::string network = prefix.substr(0, prefix.find('/'));
        const int family = network.find(':') == std::string::npos ? AF_INET : AF_INET6;
        Bytes bytes{};
        ::inet_pton(family, network.c_str(), bytes.data());
        const size_t size = family == AF_INET ? 4 : 16;
        if (i % 3 == 1) {
            for (size_t b = size; b-- > 0 && bytes[b]-- == 0;)
                continue;
        } else if (i % 3 == 2) {
            for (size_t b = i % 2 ? 0 : size / 2; b < size; b++)
                bytes[b] = static_cast<uint8_t>(random());
        }
        addresses.push_back(text_of(bytes, family));
    }
    compare(path, oracle, addresses);
    std::cout << oracle.size() << " prefixes, " << addresses.size() << " addresses agree\n";
}

INSTANTIATE_TEST_SUITE_P(Internet, RealTableTest,
                         ::testing::ValuesIn(pktpit::test::few_rounds()
                                                 ? std::vector{"internet-ipv6-2026-06.txt.xz"}
                                                 : std::vector{"internet-ipv4-2026-06.txt.xz",
                                                               "internet-ipv6-2026-06.txt.xz"}),
                         [](const auto& table) { return std::string(table.param).substr(9, 4); });

}  // namespace
}  // namespace pktpit::router::cli::test
