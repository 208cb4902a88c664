// SPDX-License-Identifier: BSD-3-Clause
// The socket's file: its mode, stale ones, other daemons', and the race between two that start.
#include "router/api/unix_listener.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <thread>

#include "tests/unit/api/server_fixture.h"

namespace pktpit::router::test {
namespace {

class UnixListenerTest : public ::testing::Test {
  protected:
    TemporaryDirectory directory;
    std::string path = directory.file("a.sock");

    /// A socket file that nobody listens on, as kill -9 leaves it.
    void leave_stale_socket() const {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
        ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
        ::close(dead);
    }
};

TEST_F(UnixListenerTest, ModeIs0660WhateverTheUmask) {
    for (const mode_t mask : {0U, 022U, 077U, 0777U}) {
        const mode_t before = ::umask(mask);
        auto listener = UnixListener::open(path);
        ::umask(before);
        ASSERT_TRUE(listener) << listener.error().to_string();
        struct stat status {};
        ASSERT_EQ(::stat(path.c_str(), &status), 0);
        EXPECT_TRUE(S_ISSOCK(status.st_mode));
        EXPECT_EQ(status.st_mode & 07777U, 0660U) << std::oct << mask;
    }
}

TEST_F(UnixListenerTest, FileGoesWithTheListener) {
    {
        auto listener = UnixListener::open(path);
        ASSERT_TRUE(listener);
        EXPECT_TRUE(RawClient(path).connected());
        UnixListener moved = std::move(*listener);
        EXPECT_TRUE(RawClient(path).connected());
    }
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(UnixListenerTest, AnothersFileStays) {
    auto listener = UnixListener::open(path);
    ASSERT_TRUE(listener);
    // Somebody removed our file and put theirs there.
    std::filesystem::rename(path, path + ".old");
    auto second = UnixListener::open(path);
    ASSERT_TRUE(second);
    { const UnixListener first = std::move(*listener); }
    EXPECT_TRUE(RawClient(path).connected());
}

TEST_F(UnixListenerTest, StaleSocketIsReplaced) {
    leave_stale_socket();
    ASSERT_TRUE(std::filesystem::exists(path));
    const auto listener = UnixListener::open(path);
    ASSERT_TRUE(listener) << listener.error().to_string();
    EXPECT_TRUE(RawClient(path).connected());
}

TEST_F(UnixListenerTest, LivingDaemonIsNotReplaced) {
    const auto first = UnixListener::open(path);
    ASSERT_TRUE(first);
    const auto second = UnixListener::open(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().where, path);
    EXPECT_NE(second.error().message.find("another daemon"), std::string::npos);
    EXPECT_TRUE(RawClient(path).connected());
}

TEST_F(UnixListenerTest, DaemonWithAFullBacklogIsNotReplaced) {
    const auto first = UnixListener::open(path);
    ASSERT_TRUE(first);
    std::vector<int> clients;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    for (int i = 0; i < 300; i++) {
        clients.push_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
        if (::connect(clients.back(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) break;
    }
    EXPECT_EQ(errno, EAGAIN);
    const auto second = UnixListener::open(path);
    EXPECT_FALSE(second);
    for (const int client : clients)
        ::close(client);
}

TEST_F(UnixListenerTest, OnlySocketsAreReplaced) {
    { std::ofstream(path) << "precious"; }
    const auto over_file = UnixListener::open(path);
    ASSERT_FALSE(over_file);
    EXPECT_NE(over_file.error().message.find("other than a socket"), std::string::npos);
    EXPECT_EQ(std::filesystem::file_size(path), 8U);

    std::filesystem::remove(path);
    std::filesystem::create_symlink(directory.file("target"), path);
    EXPECT_FALSE(UnixListener::open(path));
    EXPECT_TRUE(std::filesystem::is_symlink(path));
}

TEST_F(UnixListenerTest, PathsThatCannotBe) {
    EXPECT_FALSE(UnixListener::open(""));
    const auto too_long = UnixListener::open(directory.file(std::string(100, 'x')));
    ASSERT_FALSE(too_long);
    EXPECT_NE(too_long.error().expected.find("107"), std::string::npos);
    EXPECT_FALSE(UnixListener::open(directory.file("absent/a.sock")));
}

TEST_F(UnixListenerTest, OfManyThatStartAtOnceOneWins) {
    for (int round = 0; round < 20; round++) {
        leave_stale_socket();
        std::atomic<bool> go = false;
        std::atomic<int> winners = 0;
        std::vector<std::optional<UnixListener>> listeners(8);
        std::vector<std::thread> threads;
        for (auto& slot : listeners) {
            threads.emplace_back([&] {
                while (!go)
                    std::this_thread::yield();
                if (auto listener = UnixListener::open(path)) {
                    slot.emplace(std::move(*listener));
                    winners++;
                }
            });
        }
        go = true;
        for (auto& thread : threads)
            thread.join();
        ASSERT_EQ(winners, 1);
        ASSERT_TRUE(RawClient(path).connected());
    }
}

}  // namespace
}  // namespace pktpit::router::test
