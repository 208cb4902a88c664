// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/hugepages.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/until.h"

namespace pktpit::bench::harness {
namespace {

/// A folder in place of the kernel's: the pool's size is a plain file, so every write to it succeeds.
class Pool {
  public:
    Pool(size_t total, size_t free) : path_(testing::TempDir() + "hugepages_" + std::to_string(getpid())) {
        std::filesystem::create_directory(path_);
        set("nr_hugepages", total);
        set("free_hugepages", free);
    }
    ~Pool() { std::filesystem::remove_all(path_); }

    void set(const std::string& name, size_t value) const { std::ofstream(path_ + "/" + name) << value; }
    [[nodiscard]] size_t total() const {
        size_t value = 0;
        std::ifstream(path_ + "/nr_hugepages") >> value;
        return value;
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

TEST(Hugepages, Arithmetic) {
    EXPECT_EQ(pages_to_add(10, 3), 7u);
    EXPECT_EQ(pages_to_add(3, 10), 0u);
    EXPECT_EQ(pages_to_leave(20, 7), 13u);
    EXPECT_EQ(pages_to_leave(5, 7), 0u);
}

TEST(Hugepages, AreAddedAndGivenBack) {
    const Pool pool(10, 4);
    {
        const HugepageReservation reservation(9 * hugepage_bytes + 1, pool.path());
        EXPECT_TRUE(reservation.enough());
        EXPECT_EQ(reservation.added(), 6u);
        EXPECT_EQ(pool.total(), 16u);
    }
    EXPECT_EQ(pool.total(), 10u);
}

TEST(Hugepages, WhatOthersAddedMeanwhileStays) {
    const Pool pool(10, 0);
    {
        const HugepageReservation reservation(5 * hugepage_bytes, pool.path());
        EXPECT_EQ(pool.total(), 15u);
        pool.set("nr_hugepages", 115);
    }
    EXPECT_EQ(pool.total(), 110u);
}

TEST(Hugepages, EnoughFreeOnesAreLeftAlone) {
    const Pool pool(10, 10);
    const HugepageReservation reservation(5 * hugepage_bytes, pool.path());
    EXPECT_TRUE(reservation.enough());
    EXPECT_EQ(reservation.added(), 0u);
    EXPECT_EQ(pool.total(), 10u);
}

TEST(Hugepages, WhereThePoolCannotGrowThereAreNotEnough) {
    const HugepageReservation reservation(5 * hugepage_bytes, "/nonexistent");
    EXPECT_FALSE(reservation.enough());
    EXPECT_EQ(reservation.added(), 0u);
}

class HugepagesOfAKilledProcess : public testing::TestWithParam<int> {};

TEST_P(HugepagesOfAKilledProcess, AreGivenBack) {
    const Pool pool(10, 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        const HugepageReservation reservation(5 * hugepage_bytes, pool.path());
        for (;;)
            pause();
    }
    EXPECT_TRUE(pktpit::test::until([&] { return pool.total() == 15; }));
    kill(child, GetParam());
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(pktpit::test::until([&] { return pool.total() == 10; }));
}

INSTANTIATE_TEST_SUITE_P(Signals, HugepagesOfAKilledProcess, testing::Values(SIGINT, SIGTERM, SIGKILL));

}  // namespace
}  // namespace pktpit::bench::harness
