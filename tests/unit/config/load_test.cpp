// SPDX-License-Identifier: BSD-3-Clause
// Configurations from files, and the files that they name.
#include "config/config.h"
#include "support.h"

namespace pktpit::config {
namespace {

using test::places;
using testing::ElementsAre;

TEST(Load, files_that_cannot_be_read) {
    test::TemporaryDirectory directory;
    auto missing = load(directory.path() + "/missing.json");
    ASSERT_FALSE(missing);
    test::expect_one(missing.error(), directory.path() + "/missing.json", "No such file or directory");
    auto folder = load(directory.path());
    ASSERT_FALSE(folder);
    test::expect_one(folder.error(), directory.path(), "Is a directory");
}

TEST(Load, routes_files_must_exist_and_other_errors_do_not_hide_that) {
    test::TemporaryDirectory directory;
    directory.write("here.txt", "");
    std::string path = directory.write("a.json", R"({"interfaces": {"eth0": {"addresses": ["192.0.2.1/24"]}},
        "routes": [{"prefix": "10.0.0.1/8", "via": "192.0.2.2"}],
        "routes_files": [{"path": "here.txt", "next_hops": {"*": "192.0.2.2"}},
                         {"path": "gone.txt", "next_hops": {"*": "192.0.2.2"}},
                         {"path": "/", "next_hops": {"*": "192.0.2.2"}}]})");
    auto config = load(path);
    ASSERT_FALSE(config);
    EXPECT_THAT(places(config.error()),
                ElementsAre("/routes/0/prefix", "/routes_files/1/path", "/routes_files/2/path"));
    EXPECT_EQ(config.error()[1].message, "\"" + directory.path() + "/gone.txt\": No such file or directory");
    EXPECT_EQ(config.error()[1].hint, "relative to the directory of the configuration");
    EXPECT_EQ(config.error()[2].message, "\"/\": Is a directory");
    std::string text = test::text_of(path);
    text.replace(text.find("10.0.0.1/8"), 10, "10.0.0.0/8");
    EXPECT_TRUE(parse(text, directory.path())) << "parse() does not look at files";
}

}  // namespace
}  // namespace pktpit::config
