// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/saved_configs.h"

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "base/errno_text.h"
#include "base/fd.h"
#include "base/json/parse.h"
#include "config/read_file.h"
#include "router/dataplane/run_directory.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

Result<void> write_all(const Fd& file, const std::string& text, const std::string& path) {
    for (size_t done = 0; done < text.size();) {
        const ssize_t written = ::write(file.get(), text.data() + done, text.size() - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return fail(path, errno_text(errno), "room for the last configurations");
        done += static_cast<size_t>(written);
    }
    return {};
}

std::optional<uint64_t> whole_number(const json& value) {
    if (!value.is_number_unsigned() || value.get<uint64_t>() > SavedConfigs::largest_number)
        return std::nullopt;
    return value.get<uint64_t>();
}

}  // namespace

const SavedConfig* SavedState::back(size_t steps) const {
    return steps < configs.size() ? &configs[configs.size() - 1 - steps] : nullptr;
}

const SavedConfig* SavedState::numbered(uint64_t number) const {
    const auto found = std::ranges::find(configs, number, &SavedConfig::number);
    return found == configs.end() ? nullptr : &*found;
}

std::string to_text(const SavedState& state) {
    json configs = json::array();
    for (const auto& one : state.configs)
        configs.push_back(
            {{"number", one.number}, {"time", one.time}, {"file", one.file}, {"text", one.text}});
    const json document = {{"version", 1},
                           {"configs", std::move(configs)},
                           {"confirmed", state.confirmed ? json(*state.confirmed) : json()}};
    return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Strict, since what is added later counts on it: numbers that ascend, and one that may have to come back
// that is there.
Result<SavedState> parse_saved_configs(const std::string& text, const std::string& where) {
    const json document = parse_json(text);
    const auto broken = [&] {
        return fail(where, "not a file of configurations", "one that pktpitd has written",
                    "remove it: earlier configurations are forgotten");
    };
    if (!document.is_object()) return broken();
    try {
        if (document.at("version") != 1 || !document.at("configs").is_array()) return broken();
        SavedState state;
        for (const json& one : document.at("configs")) {
            const auto number = whole_number(one.at("number"));
            const auto time = whole_number(one.at("time"));
            if (!number || !time || *number == 0) return broken();
            if (!state.configs.empty() && *number <= state.configs.back().number) return broken();
            state.configs.push_back({*number, static_cast<int64_t>(*time), one.at("file").get<std::string>(),
                                     one.at("text").get<std::string>()});
        }
        if (const json& confirmed = document.at("confirmed"); !confirmed.is_null()) {
            state.confirmed = whole_number(confirmed);
            if (!state.confirmed || !state.numbered(*state.confirmed)) return broken();
        }
        return state;
    } catch (const json::exception&) {
        return broken();
    }
}

Result<SavedState> SavedConfigs::load() const {
    if (::access(path_.c_str(), F_OK) != 0 && errno == ENOENT) return SavedState();
    const auto text = config::read_file(path_);
    if (!text) return tl::unexpected(text.error());
    return parse_saved_configs(*text, path_);
}

Result<std::optional<uint64_t>> SavedConfigs::add(const std::string& file, const std::string& text,
                                                  bool until_confirmed) {
    const std::lock_guard alone(changing_);
    SavedState state = load().value_or(SavedState());
    const SavedConfig* newest = state.back(0);
    if (!until_confirmed) {
        state.confirmed.reset();
    } else if (!state.confirmed) {
        if (!newest) return fail(path_, "there is no configuration to go back to");
        state.confirmed = newest->number;
    }
    const int64_t now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    if (text.size() > largest) {
        // What runs is the newest, always: what cannot be kept has no text, and is nothing to go back to.
        state.configs.push_back({newest ? newest->number + 1 : 1, now, file, ""});
    } else if (!newest || newest->text != text || newest->file != file) {
        state.configs.push_back({newest ? newest->number + 1 : 1, now, file, text});
    }
    while (state.configs.size() > most) {
        // The one that may have to come back stays, whatever comes after it.
        const auto oldest = std::ranges::find_if(
            state.configs, [&](const SavedConfig& one) { return one.number != state.confirmed; });
        state.configs.erase(oldest);
    }
    if (auto saved = save(state); !saved) return tl::unexpected(saved.error());
    return state.confirmed;
}

Result<void> SavedConfigs::confirmed() {
    const std::lock_guard alone(changing_);
    auto state = load();
    if (!state) return tl::unexpected(state.error());
    state->confirmed.reset();
    return save(*state);
}

Result<void> SavedConfigs::save(const SavedState& state) const {
    const std::string incoming = path_ + ".new";
    ::unlink(incoming.c_str());  // one that a killed daemon left
    const Fd file(::open(incoming.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    if (!file) return fail(incoming, errno_text(errno), "a folder that the daemon may write to");
    if (auto written = write_all(file, to_text(state), incoming); !written) {
        ::unlink(incoming.c_str());
        return written;
    }
    if (std::rename(incoming.c_str(), path_.c_str()) != 0) {
        const int error = errno;
        ::unlink(incoming.c_str());
        return fail(path_, errno_text(error), "a folder that the daemon may write to");
    }
    return {};
}

std::string saved_configs_path(const std::string& instance) {
    const char* named = std::getenv("STATE_DIRECTORY");
    const std::string directory = named ? named : "";
    if (!directory.starts_with('/')) return run_path(instance, ".configs");
    return directory.substr(0, directory.find(':')) + "/" + instance + ".configs";
}

}  // namespace pktpit::router
