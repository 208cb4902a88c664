// SPDX-License-Identifier: BSD-3-Clause
// Topologies and profiles: those that come with the program are good, broken ones are told apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "offload/model/build.h"

namespace pktpit::model {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

auto at(const std::string& where) {
    return Contains(Field(&Error::where, where));
}

/// What is wrong with a topology of these devices.
Errors broken(const std::string& devices) {
    return Topology::parse(R"({"name": "t", "root_ports": [)" + devices + "]}").error();
}

TEST(Topologies, ThatComeWithTheProgramAreGood) {
    const Profile generic = *Profile::open("generic");
    ASSERT_FALSE(embedded_names("topologies").empty());
    for (const std::string& name : embedded_names("topologies")) {
        const auto topology = Topology::open(name);
        ASSERT_TRUE(topology) << name << ": " << topology.error().front().to_string();
        EXPECT_EQ(topology->name, name);
        EXPECT_EQ(build_machine(*topology, generic).nic_endpoints.size(), topology->nics());
    }
}

TEST(Profiles, ThatComeWithTheProgramAreGood) {
    for (const std::string& name : embedded_names("profiles")) {
        const auto profile = Profile::open(name);
        ASSERT_TRUE(profile) << name << ": " << profile.error().front().to_string();
        EXPECT_EQ(profile->name(), name);
        for (const auto& [constant, value] : profile->constants())
            EXPECT_FALSE(value.source.empty()) << constant;
    }
}

TEST(Topologies, TellWhereTheyAreBroken) {
    EXPECT_THAT(Topology::parse("{\n  \"name\": }").error(), at("line 2, column 11"));
    EXPECT_THAT(Topology::parse(R"({"name": "t"})").error(),
                Contains(Field(&Error::message, HasSubstr("root_ports"))));
    const auto nic = [](int gen, int lanes, const std::string& more) {
        return R"({"name": "n", "kind": "nic", "link": {"gen": )" + std::to_string(gen) + R"(, "lanes": )" +
               std::to_string(lanes) + "}" + more + "}";
    };
    const std::string rate = R"(, "gbps": [1])", good = nic(3, 8, rate);
    EXPECT_THAT(broken(nic(9, 8, rate)), at("/root_ports/0/link/gen"));
    EXPECT_THAT(broken(nic(3, 3, rate)),
                Contains(testing::AllOf(Field(&Error::where, "/root_ports/0/link/lanes"),
                                        Field(&Error::expected, "one of 1, 2, 4, 8, 16"))));
    EXPECT_THAT(broken(nic(3, 8, "")), at("/root_ports/0"));
    EXPECT_THAT(broken(good + "," + good), at("/root_ports/1/name"));
    EXPECT_THAT(
        broken(R"({"name": "m", "kind": "memory", "link": {"gen": 3, "lanes": 8}, "below": [)" + good + "]}"),
        at("/root_ports/0/below"));
}

TEST(Topologies, AreRefusedWhenNestedTooDeep) {
    std::string deep;
    for (int i = 0; i < 100000; i++)
        deep += R"({"below":[)";
    EXPECT_FALSE(Topology::parse(deep).has_value());
    std::string closed = R"({"name":"n","kind":"memory","link":{"gen":3,"lanes":1}})";
    for (int i = 0; i < 40; i++)
        closed = R"({"name":"s)" + std::to_string(i) +
                 R"(","kind":"switch","link":{"gen":3,"lanes":1},"below":[)" + closed + "]}";
    EXPECT_THAT(broken(closed), ElementsAre(Field(&Error::message, HasSubstr("too deep"))));
}

TEST(Profiles, TellWhereTheyAreBroken) {
    const auto with = [](const std::string& constants) {
        return Profile::parse(R"({"name": "p", "about": "", "base": "generic", "constants": {)" + constants +
                              "}}");
    };
    EXPECT_TRUE(with("").has_value());
    EXPECT_THAT(with(R"("no.such": {"value": 1, "source": "s", "calibrated": false})").error(),
                at("/constants/no.such"));
    EXPECT_THAT(with(R"("dma.tags": {"value": 4096, "source": "s", "calibrated": false})").error(),
                at("/constants/dma.tags/value"));
    EXPECT_THAT(with(R"("nic.window": {"value": 100, "source": "s", "calibrated": false})").error(),
                Contains(Field(&Error::expected, HasSubstr("power of two"))));
    EXPECT_THAT(with(R"("dma.tags": {"value": 32, "calibrated": false})").error(), at("/constants/dma.tags"));
    EXPECT_THAT(Profile::parse(R"({"name": "p", "about": "", "constants": {}})").error(),
                Contains(Field(&Error::message, "dma.tags is missing")));
    EXPECT_THAT(Profile::parse(R"({"name": "p", "about": "", "base": "nobody", "constants": {}})").error(),
                at("/base"));
}

TEST(Import, MakesATopologyOfARecordedMachine) {
    std::ifstream file(PKTPIT_SOURCE_DIR "/tests/topologies/two-switches.json");
    std::ostringstream text;
    text << file.rdbuf();
    const auto snapshot = offload::parse_snapshot(text.str());
    ASSERT_TRUE(snapshot);
    const auto topology = import_topology(offload::PciTree(*snapshot), 25);
    ASSERT_TRUE(topology) << topology.error().to_string();
    EXPECT_GT(topology->nics(), 0U);
    const auto again = Topology::parse(topology->to_json_text());
    ASSERT_TRUE(again) << again.error().front().to_string();
    EXPECT_EQ(again->to_json_text(), topology->to_json_text());
}

TEST(Import, SaysWhereThereIsNothing) {
    EXPECT_FALSE(import_topology(offload::PciTree(), 10).has_value());
}

}  // namespace
}  // namespace pktpit::model
