// SPDX-License-Identifier: BSD-3-Clause
// `pktpit model`: sweeps over one parameter and two on any number of threads, their parts and what makes them
// whole again, CSV, lspci as input, the answer page.
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "router/cli/model_plots.h"
#include "router/cli/model_sweep.h"
#include "tests/unit/cli/run_cli.h"

namespace pktpit::router::cli::test {
namespace {

using nlohmann::json;

class ModelCommands : public ::testing::Test {
  protected:
    ModelCommands() { std::filesystem::create_directories(folder_); }
    ~ModelCommands() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, const std::string& text) {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path, std::ios::binary) << text;
        return path;
    }
    static Output sweep(std::vector<std::string> more) {
        std::vector<std::string> words = {"model",     "sweep",        "--parameter",  "size",
                                          "--values",  "64,512",       "--duration",   "0.02",
                                          "--program", "p2pnic",       "--parameter2", "nic.ingress_ns",
                                          "--values2", "200,400,20000"};
        words.insert(words.end(), more.begin(), more.end());
        return run_cli(words);
    }

    std::string folder_ = ::testing::TempDir() + "pktpit-model-commands-" + std::to_string(getpid());
};

TEST_F(ModelCommands, ASweepIsTheSameOnAnyNumberOfThreads) {
    const Output one = sweep({"--jobs", "1", "--json"});
    ASSERT_EQ(one.status, 0) << one.err;
    EXPECT_EQ(sweep({"--jobs", "7", "--json"}).out, one.out);
    const json document = json::parse(one.out);
    ASSERT_EQ(document.at("results").size(), 6U);
    // The second parameter is the faster one; and it matters.
    EXPECT_EQ(document.at("results")[1].at("size"), "64");
    EXPECT_EQ(document.at("results")[1].at("nic.ingress_ns"), "400");
    EXPECT_GT(document.at("results")[0].at("result").at("packets_per_second").get<double>(),
              3 * document.at("results")[2].at("result").at("packets_per_second").get<double>());
    ASSERT_EQ(document.at("series").size(), 3U) << "a line for each value of the second";
    EXPECT_EQ(document.at("series")[0].at("points").size(), 2U);
}

TEST_F(ModelCommands, PartsMakeTheWhole) {
    const std::string whole = sweep({"--json"}).out;
    std::vector<std::string> words = {"model", "merge", "--json"};
    for (const char* part : {"4/4", "1/4", "3/4", "2/4"}) {
        const Output output = sweep({"--json", "--part", part});
        ASSERT_EQ(output.status, 0) << output.err;
        words.push_back(write("part" + std::string(part, 1) + ".json", output.out));
    }
    EXPECT_EQ(run_cli(words).out, whole);
    words.pop_back();
    const Output missing = run_cli(words);
    EXPECT_NE(missing.status, 0);
    EXPECT_NE(missing.err.find("point 1 of 6 is in none"), std::string::npos) << missing.err;
    words.push_back(words.back());
    EXPECT_NE(run_cli(words).err.find("as " + words.back()), std::string::npos);
    // Another sweep's, though its words for the parameters are the same.
    words.back() = write("other.json", sweep({"--json", "--part", "2/4", "--seed", "2"}).out);
    EXPECT_NE(run_cli(words).err.find("another sweep"), std::string::npos);
    for (const char* text :
         {"", "{}", "[1]", R"({"sweep": {"points": -1}})", R"({"sweep": 3, "results": 4})",
          R"({"sweep": {"points": 1, "parameters": []}, "results": [{"point": 0}]})",
          R"({"sweep": {"points": 1e300, "parameters": [{"name": "a"}]}, "results": []})",
          R"({"sweep": {"points": 0, "about": "", "parameters": [{"name": "a"}, {}]}, "results": []})"}) {
        words.back() = write("bad.json", text);
        const Output bad = run_cli({"model", "merge", words.back()});
        EXPECT_NE(bad.status, 0) << text;
        EXPECT_NE(bad.err.find("error"), std::string::npos) << text;
    }
}

TEST_F(ModelCommands, AResultOfAnotherShapeHasAnEmptyFieldInCsv) {
    const std::string file =
        write("odd.json", R"({"sweep": {"points": 1, "about": "", "parameters": [{"name": "a"}]},
        "results": [{"point": 0, "a": "x", "result": {"packets_per_second": 5, "latency_ns": [1], "traffic": 3}}]})");
    const Output merged = run_cli({"model", "merge", "--csv", file});
    ASSERT_EQ(merged.status, 0) << merged.err;
    EXPECT_NE(merged.out.find("\r\nx,5,,,,,,,,,\r\n"), std::string::npos) << merged.out;
}

TEST(ModelPlots, NothingInATitleBecomesACommand) {
    const auto plots =
        parse_plots(R"({"series": [{"plot": "p", "series": "a'\nsystem 'x'", "points": [[1, 2]]}],
                                       "plots": {"p": {"title": "it's \\ \"so\"\n!ls", "x": 1}}})",
                    "file");
    EXPECT_FALSE(plots) << "an axis is a text";
    const auto good =
        parse_plots(R"({"series": [{"plot": "p", "series": "a'\nsystem 'x'", "points": [[1, 2]]}],
                                      "plots": {"p": {"title": "it's \\ \"so\"\n!ls"}}})",
                    "file");
    ASSERT_TRUE(good);
    const std::string commands = gnuplot_commands(good->at("p"), "p.svg", true);
    EXPECT_NE(commands.find("set title 'its  so?!ls' noenhanced\n"), std::string::npos) << commands;
    EXPECT_NE(commands.find("title 'a?system x'\n1 2\ne\n"), std::string::npos) << commands;
    EXPECT_FALSE(parse_plots(R"({"series": [{"plot": "../p", "series": "a", "points": []}]})", "file"));
}

TEST_F(ModelCommands, PartsThatCannotBeAreRefused) {
    for (const char* part : {"0/4", "5/4", "1", "/", "1/", "a/b", "1/4x", "-1/4", ""})
        EXPECT_FALSE(read_part(part)) << part;
    EXPECT_EQ(read_part("3/16")->parts, 16U);
    EXPECT_NE(sweep({"--part", "9/4"}).status, 0);
    EXPECT_NE(run_cli({"model", "sweep", "--parameter", "size", "--values", "64", "--parameter2", "size",
                       "--values2", "64"})
                  .status,
              0);
    EXPECT_NE(
        run_cli({"model", "sweep", "--parameter", "size", "--values", "64", "--parameter2", "load"}).status,
        0);
    const Output wrong = run_cli({"model", "sweep", "--parameter", "size", "--values", "64,63"});
    EXPECT_NE(wrong.status, 0);
    EXPECT_NE(wrong.err.find("63"), std::string::npos);
}

TEST_F(ModelCommands, CsvHasALineForEachPoint) {
    const std::string text = sweep({"--csv"}).out;
    EXPECT_EQ(std::ranges::count(text, '\n'), 7);
    EXPECT_TRUE(text.starts_with("size,nic.ingress_ns,packets_per_second,bits_per_second,"));
    const json document = json::parse(sweep({"--json"}).out);
    const double rate = document.at("results")[5].at("result").at("packets_per_second");
    EXPECT_NE(text.find("\r\n512,20000," + json(rate).dump() + ","), std::string::npos) << text;
    EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
    EXPECT_EQ(csv_field("a\"b"), "\"a\"\"b\"");
    EXPECT_EQ(csv_field("a b"), "a b");
    EXPECT_EQ(std::ranges::count(run_cli({"model", "run", "--csv", "--duration", "0.01"}).out, '\n'), 2);
}

TEST_F(ModelCommands, TheAnswerHasBandsAndSaysThatItIsModelled) {
    const std::string file = PKTPIT_SOURCE_DIR "/tests/unit/model/two-nics.lspci.txt";
    const Output text = run_cli({"model", "answer", "--lspci", file, "--gbps", "10"});
    ASSERT_EQ(text.status, 0) << text.err;
    EXPECT_NE(text.out.find("nothing here is measured"), std::string::npos);
    EXPECT_NE(text.out.find("ACS at 3b:00.0"), std::string::npos);
    const json answer =
        json::parse(run_cli({"--json", "model", "answer", "--lspci", file, "--gbps", "40"}).out);
    EXPECT_EQ(answer.at("simulated"), true);
    EXPECT_EQ(answer.at("from"), "3d:00.0");
    for (const json& line : answer.at("lines")) {
        for (const char* band : {"l3fwd_mpps", "pktpit_of_l3fwd", "pktpit_latency_of_l3fwd"})
            EXPECT_LE(line.at(band).at(0).get<double>(), line.at(band).at(1).get<double>()) << band;
    }
    const auto& rates = answer.at("lines")[0].at("l3fwd_mpps");
    EXPECT_GT(rates.at(1).get<double>(), 1.2 * rates.at(0).get<double>()) << "a band, not a line";
    EXPECT_NE(run_cli({"model", "answer", "--lspci", write("none", "")}).status, 0);
}

TEST_F(ModelCommands, ARecordingIsTraffic) {
    // A pcap of two frames of 60 bytes, 10 us apart, by hand.
    std::string bytes("\x4d\x3c\xb2\xa1\x02\x00\x04\x00\0\0\0\0\0\0\0\0\xff\xff\0\0\x01\0\0\0", 24);
    for (const char time : {'\0', '\x27'}) {
        bytes += std::string("\x01\0\0\0", 4);
        bytes += time ? std::string("\x10\x27\0\0", 4) : std::string(4, '\0');
        bytes += std::string("\x3c\0\0\0\x3c\0\0\0", 8) + std::string(60, 'x');
    }
    const std::string file = write("two.pcap", bytes);
    const Output good = run_cli({"--json", "model", "run", "--pcap", file, "--duration", "1"});
    ASSERT_EQ(good.status, 0) << good.err;
    // The last gap is the mean one: a frame each 10 us.
    EXPECT_NEAR(json::parse(good.out).at("traffic").at("offered").get<double>(), 100, 1);
    const Output cut =
        run_cli({"model", "run", "--pcap", write("cut.pcap", bytes.substr(0, bytes.size() - 9))});
    EXPECT_NE(cut.status, 0);
    EXPECT_NE(run_cli({"model", "run", "--pcap", write("no.pcap", "hello")}).status, 0);
}

}  // namespace
}  // namespace pktpit::router::cli::test
