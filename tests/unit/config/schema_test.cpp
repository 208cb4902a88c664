// SPDX-License-Identifier: BSD-3-Clause
// Every rule of the schema, found by walking a document that uses every key: each value is broken in each way
// that the schema forbids, and exactly that place must be named.
#include <nlohmann/json.hpp>

#include <set>

#include "base/json/explain.h"
#include "base/json/pointer.h"
#include "config/validate.h"
#include "support.h"
#include "tests/sanitized.h"

namespace pktpit::config {
namespace {

using nlohmann::json;
using test::places;
using testing::ElementsAre;

const json& schema() {
    static const json parsed = json::parse(schema_text());
    return parsed;
}

json everything_of_xdp() {
    return json::parse(test::text_of(TEST_DIRECTORY "/everything.json"));
}

/// Keys of both dataplanes beside each other, which the schema allows and the checks of meaning do not.
json everything() {
    json document = everything_of_xdp();
    document["interfaces"]["eth1"].update(
        {{"pci", "0000:0a:00.1"}, {"payload", "bounce"}, {"device", "net_null"}});
    document["interfaces"]["eth1"].update({{"nic_port", "nic0/1"},
                                           {"wire",
                                            {{"device", "w0"},
                                             {"read", "in"},
                                             {"write", "out"},
                                             {"mac", "02:00:00:00:00:01"},
                                             {"own_frames", true}}}});
    return document;
}

/// Calls visit(pointer, value, rule) for every value of the document.
template <class Visit>
void walk(const json& document, const json& value, const std::string& pointer, Visit&& visit) {
    visit(pointer, value, rule_for(schema(), document, pointer));
    if (value.is_object())
        for (const auto& [key, member] : value.items())
            walk(document, member, at(pointer, key), visit);
    if (value.is_array())
        for (size_t i = 0; i < value.size(); i++)
            walk(document, value[i], at(pointer, i), visit);
}

json with(json document, const std::string& pointer, const json& value) {
    document[json::json_pointer(pointer)] = value;
    return document;
}

bool allows(const json& rule, const std::string& type) {
    const json& types = rule.at("type");
    for (const json& one : types)  // of a string: itself
        if (one == type) return true;
    return false;
}

TEST(Schema, TheDocumentWithEverythingIsValidAndHasEveryKeyOfTheSchema) {
    json document = everything();
    EXPECT_THAT(validate(document), testing::IsEmpty());
    auto parsed = parse(everything_of_xdp().dump(), "");
    EXPECT_TRUE(parsed) << test::all_text(parsed.error());
    const std::string text = document.dump();
    walk(document, document, "", [&](const std::string& pointer, const json& value, const json& rule) {
        ASSERT_FALSE(rule.empty()) << pointer << " is not in the schema";
        if (!value.is_object() || !rule.contains("properties")) return;
        for (const auto& [key, member] : rule["properties"].items()) {
            // Some keys exclude each other: then another object of the same kind must have them.
            EXPECT_NE(text.find("\"" + key + "\""), text.npos) << pointer << " never has " << key;
        }
    });
}

TEST(Schema, WrongTypesAreNamedAtTheirPlace) {
    json document = everything();
    const int every = pktpit::test::few_rounds() ? 24 : 1;
    int tried = 0, asked = 0;
    walk(document, document, "", [&](const std::string& pointer, const json&, const json& rule) {
        const std::pair<const char*, json> samples[] = {{"null", nullptr},
                                                        {"boolean", true},
                                                        {"integer", 70},
                                                        {"number", 1.5},
                                                        {"string", "x y"},
                                                        {"array", json::array({1})},
                                                        {"object", {{"unknown", 1}}}};
        for (const auto& [type, sample] : samples) {
            if (allows(rule, type) || asked++ % every != 0) continue;
            Errors errors = validate(with(document, pointer, sample));
            ASSERT_THAT(places(errors), ElementsAre(pointer)) << sample << "\n" << test::all_text(errors);
            EXPECT_THAT(errors[0].message, testing::StartsWith("found ")) << pointer;
            EXPECT_FALSE(errors[0].expected.empty()) << pointer;
            tried++;
        }
    });
    EXPECT_GT(tried, 400 / every);
}

TEST(Schema, BoundsOfNumbersAreExact) {
    json document = everything();
    int tried = 0;
    walk(document, document, "", [&](const std::string& pointer, const json& value, const json& rule) {
        if (!value.is_number() || !rule.contains("minimum")) return;
        auto low = rule.at("minimum").get<int64_t>(), high = rule.at("maximum").get<int64_t>();
        EXPECT_THAT(validate(with(document, pointer, low)), testing::IsEmpty()) << pointer;
        EXPECT_THAT(validate(with(document, pointer, high)), testing::IsEmpty()) << pointer;
        for (int64_t beyond : {low - 1, high + 1}) {
            Errors errors = validate(with(document, pointer, beyond));
            ASSERT_THAT(places(errors), ElementsAre(pointer)) << beyond;
            EXPECT_EQ(errors[0].message, "found " + std::to_string(beyond));
            EXPECT_THAT(errors[0].expected,
                        testing::HasSubstr(std::to_string(low) + " to " + std::to_string(high)));
            tried++;
        }
    });
    EXPECT_GE(tried, 30);
}

TEST(Schema, EnumsAndPatternsOfStrings) {
    json document = everything();
    int enums = 0, patterns = 0;
    walk(document, document, "", [&](const std::string& pointer, const json& value, const json& rule) {
        if (!value.is_string()) return;
        if (rule.contains("enum")) {
            enums++;
            for (const json& one : rule["enum"])
                EXPECT_THAT(validate(with(document, pointer, one)), testing::IsEmpty()) << pointer << one;
        } else if (rule.contains("pattern")) {
            patterns++;
        } else {
            return;
        }
        Errors errors = validate(with(document, pointer, "\t"));
        ASSERT_THAT(places(errors), ElementsAre(pointer));
        EXPECT_EQ(errors[0].message, "found \"\\t\"");
    });
    EXPECT_GE(enums, 8);
    EXPECT_GE(patterns, 20);
}

TEST(Schema, LengthsOfArraysAndObjects) {
    json document = everything();
    int tried = 0;
    walk(document, document, "", [&](const std::string& pointer, const json& value, const json& rule) {
        if (value.is_array() && rule.contains("minItems")) {
            ASSERT_THAT(places(validate(with(document, pointer, json::array()))), ElementsAre(pointer));
            tried++;
        }
        if (value.is_array() && rule.contains("maxItems")) {
            json longest = json::array();
            while (longest.size() < rule["maxItems"].get<size_t>())
                longest.push_back(value[0]);
            EXPECT_THAT(validate(with(document, pointer, longest)), testing::IsEmpty()) << pointer;
            longest.push_back(value[0]);
            ASSERT_THAT(places(validate(with(document, pointer, longest))), ElementsAre(pointer));
            tried++;
        }
        if (value.is_object() && rule.contains("minProperties")) {
            ASSERT_THAT(places(validate(with(document, pointer, json::object()))), ElementsAre(pointer));
            tried++;
        }
    });
    EXPECT_GE(tried, 10);
}

TEST(Schema, UnknownKeysAreNamedInEveryObjectWithTheNearestKnownOne) {
    json document = everything();
    int tried = 0;
    walk(document, document, "", [&](const std::string& pointer, const json& value, const json& rule) {
        if (!value.is_object() || !rule.contains("properties")) return;
        std::string known = value.begin().key();
        std::string misspelt = known == "$schema" ? "instnace" : known.substr(0, 1) + "x" + known.substr(1);
        if (known == "$schema") known = "instance";
        json broken = with(with(document, at(pointer, misspelt), 1), at(pointer, "%%%"), 1);
        Errors errors = validate(broken);
        ASSERT_THAT(places(errors), testing::UnorderedElementsAre(at(pointer, misspelt), at(pointer, "%%%")));
        for (const Error& error : errors) {
            bool is_misspelt = error.where == at(pointer, misspelt);
            EXPECT_EQ(error.hint, is_misspelt ? "did you mean \"" + known + "\"?" : "");
            EXPECT_THAT(error.expected, testing::HasSubstr("\"" + known + "\""));
        }
        tried++;
    });
    EXPECT_GE(tried, 18);
}

TEST(Schema, MissingKeysAreNamedWithWhatTheyHold) {
    json document = everything();
    int tried = 0;
    walk(document, document, "", [&](const std::string& pointer, const json&, const json& rule) {
        if (!rule.contains("required")) return;
        for (const json& key : rule["required"]) {
            json broken = document;
            broken[json::json_pointer(pointer)].erase(key.get<std::string>());
            Errors errors = validate(broken);
            ASSERT_THAT(places(errors), ElementsAre(pointer));
            EXPECT_EQ(errors[0].message, "key " + key.dump() + " is missing");
            EXPECT_THAT(errors[0].expected, testing::StartsWith(key.dump() + ": "));
            tried++;
        }
    });
    EXPECT_EQ(tried, 3 + 1 + 5 + 4 + 3 + 1 + 1 + 1 + 1 + 2 + 4 + 2);
}

TEST(Schema, NamesOfInterfacesAndIds) {
    const char* good[] = {"a", "eth0", "br-lan", "eth0.100", "123456789012345", "...", "wg_0", "a~b", "a@b"};
    const char* bad[] = {"",         ".",    "..",  "1234567890123456", "a b", "a/b", "a:b", "a%d",
                         "\xc3\xa9", "a\tb", "a\nb"};
    for (const char* name : good) {
        json document = {{"interfaces", {{name, json::object()}}}};
        EXPECT_THAT(validate(document), testing::IsEmpty()) << name;
    }
    for (const char* name : bad) {
        json document = {{"interfaces", {{name, json::object()}, {"ok", {{"mtu", 1}}}}}};
        EXPECT_THAT(places(validate(document)), ElementsAre(at("/interfaces", name), "/interfaces/ok/mtu"))
            << name;
    }
    json document = everything();
    document["routes_files"][0]["next_hops"]["a b"] = "192.0.2.3";
    EXPECT_THAT(places(validate(document)), ElementsAre("/routes_files/0/next_hops/a b"));
}

TEST(Schema, EveryErrorIsReported) {
    json document = everything();
    document["interfaces"]["eth0"]["mtu"] = "1500";
    document["interfaces"]["eth1"]["mtu"] = 1;
    document["interfaces"]["v100"]["vlan"] = json::array({5000, 0, 3});
    document["routes"][0]["metric"] = -1;
    document["routes"][1]["next_hops"][0]["weight"] = 0;
    document["routes"][1]["next_hops"][1]["weight"] = 65536;
    document["routes_files"][0]["next_hops"]["1"] = 3;
    document["routes_files"][0]["next_hops"]["2"] = "x";
    EXPECT_THAT(places(validate(document)),
                testing::UnorderedElementsAre("/interfaces/eth0/mtu", "/interfaces/eth1/mtu",
                                              "/interfaces/v100/vlan", "/interfaces/v100/vlan/0",
                                              "/interfaces/v100/vlan/1", "/routes/0/metric",
                                              "/routes/1/next_hops/0/weight", "/routes/1/next_hops/1/weight",
                                              "/routes_files/0/next_hops/1", "/routes_files/0/next_hops/2"));
}

TEST(Schema, NotAnObject) {
    for (const char* text : {"[]", "1", "null", "\"x\"", "true"}) {
        Errors errors = test::errors_of(text);
        ASSERT_THAT(places(errors), ElementsAre("")) << text;
        EXPECT_EQ(errors[0].expected, "an object");
    }
}

/// Every subschema that describes a value, wherever it stands.
template <class Visit>
void each_rule(const json& node, const std::string& pointer, Visit&& visit) {
    if (node.is_array())
        for (size_t i = 0; i < node.size(); i++)
            each_rule(node[i], at(pointer, i), visit);
    if (!node.is_object()) return;
    if (node.contains("type") && !node["type"].is_object()) visit(pointer, node);
    for (const auto& [key, member] : node.items())
        if (key != "default" && key != "examples" && key != "enum")
            each_rule(member, at(pointer, key), visit);
}

TEST(Schema, DocumentsItselfAndLeavesNothingOpen) {
    EXPECT_EQ(schema()["$schema"], "http://json-schema.org/draft-07/schema#");
    EXPECT_TRUE(schema().contains("$id"));
    int rules = 0, objects = 0;
    each_rule(schema(), "", [&](const std::string& pointer, const json& rule) {
        rules++;
        EXPECT_FALSE(rule.value("title", "").empty()) << pointer;
        EXPECT_FALSE(rule.value("description", "").empty()) << pointer;
        EXPECT_TRUE(!rule.contains("minimum") == !rule.contains("maximum")) << pointer;
        if (rule["type"] == "object") {
            objects++;
            ASSERT_TRUE(rule.contains("additionalProperties")) << pointer;
            EXPECT_TRUE(rule["additionalProperties"] == false || rule.contains("propertyNames")) << pointer;
        }
        if (rule["type"] == "string") {
            EXPECT_TRUE(rule.contains("pattern") || rule.contains("enum") || rule.contains("maxLength") ||
                        pointer == "/properties/$schema")
                << pointer;
        }
    });
    EXPECT_GE(rules, 45);
    EXPECT_GE(objects, 11);
}

TEST(Schema, DefaultsAreThoseOfTheProgram) {
    json minimal = {{"interfaces", {{"eth0", json::object()}}},
                    {"fpm", {{"listen", "127.0.0.1"}}},
                    {"sflow", {{"collectors", {"192.0.2.9"}}, {"agent", "192.0.2.1"}}},
                    {"vfio", {{"peer", json::object()}}},
                    {"metrics", {{"listen", "127.0.0.1:1"}}},
                    {"web", {{"listen", "127.0.0.1:2"}}}};
    Config config = *parse(minimal.dump(), "");
    json values = to_json(config);
    int compared = 0;
    std::function<void(const json&, const json&)> compare = [&](const json& rule, const json& value) {
        for (const auto& [key, member] : rule["properties"].items()) {
            if (member.contains("default")) {
                EXPECT_EQ(member["default"], value.at(key)) << key;
                compared++;
            } else if (member.contains("properties")) {
                compare(member, value.at(key));
            }
        }
    };
    compare(schema(), values);
    EXPECT_EQ(compared, 57);
    auto default_of = [&](const char* pointer) { return schema().at(json::json_pointer(pointer)); };
    EXPECT_EQ(default_of("/definitions/route/properties/preference/default"), StaticRoute().preference);
    EXPECT_EQ(default_of("/definitions/route/properties/metric/default"), StaticRoute().metric);
    EXPECT_EQ(default_of("/definitions/routes_file/properties/preference/default"), RoutesFile().preference);
    EXPECT_EQ(default_of("/definitions/weight/default"), NextHop().weight);
    const std::string group = "/properties/aggregation/properties/groups/additionalProperties/properties/";
    EXPECT_EQ(default_of((group + "port/default").c_str()), AggregationGroup().port);
    EXPECT_EQ(default_of((group + "slots/default").c_str()), AggregationGroup().slots);
    EXPECT_EQ(default_of((group + "chunk_bytes/default").c_str()), AggregationGroup().chunk_bytes);
    EXPECT_EQ(default_of((group + "timeout_ms/default").c_str()), AggregationGroup().timeout_ms);
    EXPECT_EQ(values["interfaces"]["eth0"]["xdp_mode"],
              default_of("/definitions/interface/properties/xdp_mode/default"));
}

TEST(Schema, ItsExamplesAreValid) {
    // Put each example of a property of the top level into a minimal document.
    int tried = 0;
    for (const auto& [key, member] : schema()["properties"].items())
        for (const json& example : member.value("examples", json::array())) {
            json document = {{"interfaces", {{"eth0", {{"addresses", {"192.0.2.1/24"}}}}}}};
            document[key] = example;
            Errors errors = test::errors_of(document.dump());
            EXPECT_THAT(errors, testing::IsEmpty()) << key << " " << example << "\n"
                                                    << test::all_text(errors);
            tried++;
        }
    EXPECT_GE(tried, 6);
}

}  // namespace
}  // namespace pktpit::config
