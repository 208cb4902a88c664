// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eal_arguments.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace pktpit::router {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(EalArguments, InHugepagesThereIsNoFileAndNoLimit) {
    EalPlan plan;
    plan.prefix = "pktpit-a";
    plan.cpu = 3;
    EXPECT_THAT(eal_arguments(plan), ElementsAre("pktpitd", "--no-telemetry", "--file-prefix=pktpit-a", "-l",
                                                 "3", "-a", "0000:00:00.0", "--in-memory"));
}

TEST(EalArguments, InOrdinaryPagesTheMemoryIsNamed) {
    EalPlan plan;
    plan.hugepages = false;
    plan.memory = (size_t{100} << 20) + 1;
    const auto words = eal_arguments(plan);
    EXPECT_THAT(words, Contains("--no-huge"));
    EXPECT_THAT(words, Contains("--no-shconf"));
    EXPECT_THAT(words, Not(Contains("--in-memory")));
    EXPECT_THAT(words, Contains("101"));
}

TEST(EalArguments, TheConfigurationsComeLast) {
    EalPlan plan;
    plan.options = {"--iova-mode=va", "-n", "4"};
    const auto words = eal_arguments(plan);
    EXPECT_THAT(std::vector<std::string>(words.end() - 3, words.end()),
                ElementsAre("--iova-mode=va", "-n", "4"));
}

TEST(EalArguments, FreeHugepagesAreCountedBySizeLessWhatIsReserved) {
    const auto sysfs =
        std::filesystem::temp_directory_path() / ("pktpit-hugepages-" + std::to_string(getpid()));
    const auto put = [&](const char* size, int free, int reserved) {
        const auto folder = sysfs / "kernel/mm/hugepages" / size;
        std::filesystem::create_directories(folder);
        std::ofstream(folder / "free_hugepages") << free << '\n';
        std::ofstream(folder / "resv_hugepages") << reserved << '\n';
    };
    put("hugepages-2048kB", 10, 3);
    put("hugepages-1048576kB", 1, 0);
    EXPECT_EQ(free_hugepage_bytes(sysfs), (size_t{7} << 21) + (size_t{1} << 30));
    put("hugepages-2048kB", 2, 3);
    EXPECT_EQ(free_hugepage_bytes(sysfs), size_t{1} << 30);
    std::filesystem::remove_all(sysfs);
    EXPECT_EQ(free_hugepage_bytes(sysfs), 0U) << "a kernel without hugepages";
}

}  // namespace
}  // namespace pktpit::router
