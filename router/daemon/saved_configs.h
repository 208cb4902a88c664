// SPDX-License-Identifier: BSD-3-Clause
/// The configurations that an instance has had, each as the text of its file, the newest last, and whether
/// the newest waits to be confirmed: for `pktpit rollback`, `show config --diff` and `commit --confirm`. They
/// lie in one file, written whole beside its place and renamed into it, so that who reads it at any moment,
/// or after a kill, finds one state or the next.
///
/// Any thread: what changes the file is done one after the other. It may have 20 MiB, so that the daemon's
/// loop has others do it.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace pktpit::router {

struct SavedConfig {
    uint64_t number = 0;  ///< counts on, from 1
    int64_t time = 0;     ///< seconds since 1970, when it was applied
    std::string file;     ///< its name, absolute
    std::string text;
    bool operator==(const SavedConfig&) const = default;
};

struct SavedState {
    std::vector<SavedConfig> configs;
    std::optional<uint64_t> confirmed;  ///< the newest is not; this one is to come back

    /// 0: the newest, which runs; 1: the one before.
    [[nodiscard]] const SavedConfig* back(size_t steps) const;
    [[nodiscard]] const SavedConfig* numbered(uint64_t number) const;
    bool operator==(const SavedState&) const = default;
};

class SavedConfigs {
  public:
    static constexpr size_t most = 20;
    static constexpr size_t largest = size_t{1} << 20;  ///< bytes of a text: a larger one is not kept
    /// What JSON's readers keep exact, and nobody reaches by counting.
    static constexpr uint64_t largest_number = uint64_t{1} << 53;

    explicit SavedConfigs(std::string path) : path_(std::move(path)) {}

    /// Nothing was saved, or what is there cannot be read: empty, and why.
    [[nodiscard]] Result<SavedState> load() const;
    /// It has been applied. `until_confirmed`: unless confirmed() follows, the last one that was confirmed is
    /// to come back, whose number is the answer. The same text as the newest's is not there twice.
    Result<std::optional<uint64_t>> add(const std::string& file, const std::string& text,
                                        bool until_confirmed);
    Result<void> confirmed();

  private:
    Result<void> save(const SavedState& state) const;
    std::string path_;
    std::mutex changing_;
};

/// In systemd's StateDirectory, else in the run directory: INSTANCE.configs, mode 0640.
std::string saved_configs_path(const std::string& instance);

std::string to_text(const SavedState& state);
/// Error: it is no such file.
Result<SavedState> parse_saved_configs(const std::string& text, const std::string& where);

}  // namespace pktpit::router
