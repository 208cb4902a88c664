// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/line_reader.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <random>
#include <thread>
#include <vector>

namespace pktpit::router::cli {
namespace {

struct Pipe {
    int read_end = -1;
    int write_end = -1;
    Pipe() {
        int ends[2];
        if (::pipe(ends) == 0) {
            read_end = ends[0];
            write_end = ends[1];
        }
    }
    ~Pipe() {
        ::close(read_end);
        if (write_end >= 0) ::close(write_end);
    }
    void send(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t sent = ::write(write_end, text.data(), text.size());
            ASSERT_GT(sent, 0);
            text.remove_prefix(static_cast<size_t>(sent));
        }
    }
    void finish() { ::close(std::exchange(write_end, -1)); }
};

TEST(LineReader, LinesOfAllLengthsInPiecesOfAllLengths) {
    std::mt19937 random(7);
    std::vector<std::string> lines;
    std::string text;
    for (int i = 0; i < 3000; i++) {
        lines.emplace_back(i % 500 == 0 ? 60'000 : random() % 200, static_cast<char>('a' + i % 26));
        text += lines.back() + (i + 1 < 3000 ? "\n" : "");  // no newline at the end
    }
    lines.back() = "last";
    text.resize(text.rfind('\n') + 1);
    text += "last";

    Pipe pipe;
    std::thread writer([&] {
        size_t at = 0;
        while (at < text.size()) {
            const size_t piece = std::min<size_t>(1 + random() % 5000, text.size() - at);
            pipe.send(std::string_view(text).substr(at, piece));
            at += piece;
        }
        pipe.finish();
    });
    std::vector<std::string> got;
    size_t last_number = 0;
    const auto read = read_lines(
        pipe.read_end,
        [&](std::string_view line, size_t number) {
            got.emplace_back(line);
            last_number = number;
            return true;
        },
        [] {});
    writer.join();
    ASSERT_TRUE(read);
    EXPECT_EQ(got, lines);
    EXPECT_EQ(last_number, lines.size());
}

TEST(LineReader, AnswersBeforeItWaitsForMore) {
    Pipe pipe;
    pipe.send("one\ntwo\npart");
    std::vector<std::string> log;
    const auto read = read_lines(
        pipe.read_end,
        [&](std::string_view line, size_t) {
            log.emplace_back(line);
            return true;
        },
        [&] {
            log.emplace_back("drained");
            if (pipe.write_end >= 0) {
                pipe.send("ial\n");
                pipe.finish();
            }
        });
    ASSERT_TRUE(read);
    EXPECT_EQ(log, (std::vector<std::string>{"one", "two", "drained", "partial", "drained", "drained"}));
}

TEST(LineReader, EndlessLineIsAnError) {
    Pipe pipe;
    std::thread writer([&] {
        const std::string block(4096, 'x');
        for (int i = 0; i < 40; i++)
            pipe.send(block);
        pipe.finish();
    });
    size_t lines = 0;
    const auto read = read_lines(
        pipe.read_end,
        [&](std::string_view, size_t) {
            lines++;
            return true;
        },
        [] {});
    std::string rest(1 << 20, '\0');
    while (::read(pipe.read_end, rest.data(), rest.size()) > 0)
        continue;
    writer.join();
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().where.find(":1"), std::string::npos);
    EXPECT_EQ(lines, 0U);
}

TEST(LineReader, BadDescriptorIsAnError) {
    EXPECT_FALSE(read_lines(
        -1, [](std::string_view, size_t) { return true; }, [] {}));
}

}  // namespace
}  // namespace pktpit::router::cli
