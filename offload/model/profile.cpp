// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/profile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fstream>
#include <sstream>

#include "offload/model/texts.h"

namespace pktpit::model {
namespace {

constexpr unsigned most_bases = 4;

std::string number(double value) {
    std::ostringstream text;
    text << value;
    return text.str();
}

const ConstantRule* find_rule(std::string_view name) {
    const auto rules = constant_rules();
    const auto found = std::ranges::find(rules, name, &ConstantRule::name);
    return found == rules.end() ? nullptr : &*found;
}

bool is_power_of_two(double value) {
    const auto whole = static_cast<uint64_t>(value);
    return whole == 0 || (whole & (whole - 1)) == 0;
}

/// Empty: it may be.
std::string why_not(const ConstantRule& rule, double value) {
    std::string range = "from " + number(rule.least) + " to " + number(rule.most);
    if (!(value >= rule.least && value <= rule.most)) return range;
    if (rule.whole && std::floor(value) != value) return "a whole number, " + range;
    if (rule.meaning.ends_with("power of two") && !is_power_of_two(value)) return "a power of two, " + range;
    return "";
}

}  // namespace

std::vector<std::string> embedded_names(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& [file, text] : embedded_texts())
        if (file.starts_with(folder + "/"))
            names.push_back(file.substr(folder.size() + 1, file.size() - folder.size() - 6));
    return names;
}

Result<std::string> embedded_or_file(const std::string& folder, const std::string& name_or_path) {
    const auto embedded = embedded_texts().find(folder + "/" + name_or_path + ".json");
    if (embedded != embedded_texts().end()) return std::string(embedded->second);
    std::ifstream file(name_or_path, std::ios::binary);
    std::ostringstream text;
    if (!(file && text << file.rdbuf())) {
        std::string known;
        for (const std::string& name : embedded_names(folder))
            known += (known.empty() ? "" : ", ") + name;
        return fail(name_or_path, "neither one of the program's " + folder + " nor a readable file",
                    known + ", or a path");
    }
    return text.str();
}

tl::expected<Profile, Errors> Profile::open(const std::string& name_or_path) {
    const auto text = embedded_or_file("profiles", name_or_path);
    if (!text) return tl::unexpected(Errors{text.error()});
    return parse(*text);
}

tl::expected<Profile, Errors> Profile::parse(std::string_view json_text) {
    return parse(json_text, 0);
}

tl::expected<Profile, Errors> Profile::parse(std::string_view json_text, unsigned depth) {
    const auto document = read_document(json_text, "schemas/profile.json");
    if (!document) return tl::unexpected(document.error());
    Profile profile;
    Errors errors;
    if (document->contains("base")) {
        const std::string base = document->at("base");
        const auto text = embedded_texts().find("profiles/" + base + ".json");
        if (text == embedded_texts().end() || depth == most_bases)
            return tl::unexpected(Errors{{"/base", "there is no such profile", "one of the program's", ""}});
        auto parsed = parse(text->second, depth + 1);
        if (!parsed) return parsed;
        profile.constants_ = parsed->constants_;
    }
    profile.name_ = document->at("name");
    profile.about_ = document->at("about");
    for (const auto& [name, constant] : document->at("constants").items()) {
        const std::string where = "/constants/" + name;
        const ConstantRule* rule = find_rule(name);
        if (!rule) {
            errors.push_back({where, "there is no such constant", "", "`pktpit model constants` lists them"});
            continue;
        }
        const double value = constant.at("value");
        if (const std::string expected = why_not(*rule, value); !expected.empty())
            errors.push_back({where + "/value", number(value) + " cannot be", expected, ""});
        profile.constants_[name] = {value, constant.at("source"), constant.at("calibrated")};
    }
    for (const ConstantRule& rule : constant_rules())
        if (!profile.constants_.contains(rule.name))
            errors.push_back({"/constants", std::string(rule.name) + " is missing", std::string(rule.meaning),
                              "name a \"base\" to take it from"});
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    return profile;
}

double Profile::value(std::string_view name) const {
    const auto found = constants_.find(name);
    assert(found != constants_.end());
    return found->second.value;
}

Result<void> Profile::set(const std::string& name, double value, const std::string& source) {
    const ConstantRule* rule = find_rule(name);
    if (!rule) return fail(name, "there is no such constant", "", "`pktpit model constants` lists them");
    if (const std::string expected = why_not(*rule, value); !expected.empty())
        return fail(name, number(value) + " cannot be", expected);
    constants_[name] = {value, source, false};
    return {};
}

}  // namespace pktpit::model
