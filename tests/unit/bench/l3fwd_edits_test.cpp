// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "bench/dpdk/l3fwd.h"

namespace pktpit::bench::dpdk {
namespace {

// The patch fits the source that this Debian ships, and each edit changes something.
TEST(L3fwdEdits, FitTheSource) {
    const std::filesystem::path folder = "/usr/share/dpdk/examples/l3fwd";
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no dpdk-doc";
    std::set<std::string> files;
    for (const SourceEdit& edit : l3fwd_edits(16384)) {
        EXPECT_NE(edit.find, edit.write);
        EXPECT_FALSE(edit.why.empty());
        files.insert(edit.file);
    }
    for (const std::string& name : files) {
        std::ifstream file(folder / name);
        const std::string text(std::istreambuf_iterator<char>(file), {});
        EXPECT_NE(apply_edits(name, text, l3fwd_edits(16384)), text) << name;
    }
}

}  // namespace
}  // namespace pktpit::bench::dpdk
