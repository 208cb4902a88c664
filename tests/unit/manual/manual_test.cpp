// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "router/manual/completion.h"
#include "router/manual/pages.h"

namespace pktpit::router::manual {
namespace {

using Words = std::vector<std::string>;

/// A program with one of each.
Command example() {
    CLI::App app{"Does things.", "prog"};
    std::string text;
    bool flag = false;
    app.footer("Exit status: 0 done.");
    app.add_option("--socket", text, "where it listens")->envname("SOCKET")->type_name("PATH");
    CLI::App* group = app.add_subcommand("group", "holds others");
    group->require_subcommand(1);
    CLI::App* one = group->add_subcommand("one", "it's the [first] one: -x");
    one->alias("uno");
    one->add_option("-w,--write", text, "what to")->required()->type_name("FILE");
    one->add_option("--kind", text, "which kind")->check(CLI::IsMember(Words{"red", "green"}));
    one->add_flag("--loud", flag, "says it aloud");
    one->add_option("--secret", text, "for nobody")->group("");
    one->add_option("WORDS", text, "NAME [via ADDRESS] [yes|no] [N times]")->required();
    return read_command(app);
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST(ReadCommand, what_the_application_says) {
    const Command program = example();
    EXPECT_EQ(program.name, "prog");
    EXPECT_EQ(program.options.back().environment, "SOCKET");
    EXPECT_EQ(program.options.back().source, Source::files);
    const Command& one = program.commands.at(0).commands.at(0);
    EXPECT_EQ(one.aliases, Words{"uno"});
    ASSERT_EQ(one.options.size(), 4U);  // --help first, --secret not at all
    EXPECT_EQ(one.options[1].names, (Words{"-w", "--write"}));
    EXPECT_EQ(one.options[1].value, "FILE");
    EXPECT_TRUE(one.options[1].required);
    EXPECT_EQ(one.options[2].choices, (Words{"red", "green"}));
    EXPECT_EQ(one.options[2].source, Source::choices);
    EXPECT_FALSE(one.options[3].takes_value());
    EXPECT_EQ(one.operands.at(0).choices, (Words{"via", "yes", "no"}));
}

TEST(ReadCommand, words_of_a_grammar) {
    EXPECT_EQ(words_of_grammar("PREFIX [via ADDRESS] [a|b|c] [N] [nexthop …]"),
              (Words{"via", "a", "b", "c", "nexthop"}));
    EXPECT_EQ(words_of_grammar("no grammar"), Words{});
    EXPECT_EQ(words_of_grammar("[unfinished"), Words{});
}

TEST(ProgramPage, has_everything_and_escapes_it) {
    const std::string page = program_page(example(), 8, "1.2", ".SH FILES\nnone\n");
    for (const char* part :
         {".TH PROG 8", "prog \\- Does things\n", "\\fB\\-\\-socket\\fR \\fIPATH\\fR",
          "Environment: \\fBSOCKET\\fR", ".SS \\fBprog group one\\fR", "Also \\fBuno\\fR",
          "one of \\fBred\\fR, \\fBgreen\\fR", "\\fB\\-w\\fR, \\fB\\-\\-write\\fR \\fIFILE\\fR", "one: \\-x",
          ".SH EXIT STATUS\n0 done.", ".SH FILES\nnone"})
        EXPECT_TRUE(has(page, part)) << part << "\n" << page;
    EXPECT_FALSE(has(page, "secret"));
    EXPECT_EQ(escaped(".a\\b\n'c-d"), "\\&.a\\eb\n.br\n\\&'c\\-d");
}

TEST(SchemaPage, keys_by_their_paths) {
    const auto schema = nlohmann::json::parse(R"({
      "description": "All of it.",
      "properties": {
        "ports": {"description": "The ports.", "type": "object", "additionalProperties": {"$ref": "#/definitions/port"}},
        "mode": {"title": "the mode", "enum": ["a", "b"], "default": "a"}},
      "definitions": {"port": {"type": "object", "properties": {
        "mtu": {"description": "Its MTU.", "type": "integer", "minimum": 68, "maximum": 9000},
        "peer": {"description": "Another.", "$ref": "#/definitions/port"}}}}})");
    const std::string page = schema_page(schema, "1.2");
    for (const char* part :
         {"\\fBports\\fR (object)\nThe ports.", "\\fBports.NAME.mtu\\fR (integer, 68 to 9000)\nIts MTU.",
          "\\fBports.NAME.peer\\fR", "\\fBmode\\fR (a, b)\nthe mode Default: \\fB\"a\"\\fR."})
        EXPECT_TRUE(has(page, part)) << part << "\n" << page;
    EXPECT_FALSE(has(page, "peer.mtu")) << "a definition is told once";
}

TEST(Completion, descriptions_are_quoted_for_each_shell) {
    const Command program = example();
    EXPECT_TRUE(has(zsh_completion(program), "it'\\''s the \\[first\\] one\\: -x"))
        << zsh_completion(program);
    EXPECT_TRUE(has(fish_completion(program), "'it\\'s the [first] one: -x'")) << fish_completion(program);
    EXPECT_TRUE(has(bash_completion(program), "[\"/group/uno --kind\"]=\"choices red green\""))
        << bash_completion(program);
}

}  // namespace
}  // namespace pktpit::router::manual
