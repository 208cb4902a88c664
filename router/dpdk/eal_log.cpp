// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eal_log.h"

#include <rte_log.h>
#include <spdlog/spdlog.h>
#include <stdio.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

constexpr int lines_a_second = 20;
constexpr size_t complaints_kept = 16;

thread_local EalWords* innermost = nullptr;
std::atomic<int64_t> second_now = 0;
std::atomic<int> lines_this_second = 0;

/// Whether one more line may be written this second. Races let a line more through, no more than that.
bool may_write() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    const int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    if (second_now.exchange(second, std::memory_order_relaxed) != second)
        lines_this_second.store(0, std::memory_order_relaxed);
    return lines_this_second.fetch_add(1, std::memory_order_relaxed) < lines_a_second;
}

/// "EAL: …" and "rte_pmd_init_internals(): …" tell a reader of this log nothing.
std::string_view without_prefix(std::string_view line) {
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos) return line;
    const std::string_view head = line.substr(0, colon);
    const bool function = head.ends_with("()");
    const bool component = head.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == std::string_view::npos;
    return function || component ? line.substr(colon + 2) : line;
}

spdlog::level::level_enum level_of(int level) {
    if (level <= static_cast<int>(RTE_LOG_WARNING)) return spdlog::level::warn;
    return level <= static_cast<int>(RTE_LOG_INFO) ? spdlog::level::debug : spdlog::level::trace;
}

}  // namespace

struct EalLogSink {
    static void line(std::string_view text, int level) {
        while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
            text.remove_suffix(1);
        if (text.empty()) return;
        if (innermost && level <= static_cast<int>(RTE_LOG_WARNING)) {
            auto& kept = innermost->complaints_;
            if (kept.size() < complaints_kept) kept.emplace_back(without_prefix(text));
            spdlog::debug("DPDK: {}", text);  // whoever keeps it says it better
        } else if (may_write()) {
            spdlog::log(level_of(level), "DPDK: {}", text);
        }
    }
    static ssize_t write(void*, const char* text, size_t length) {
        line({text, length}, rte_log_cur_msg_loglevel());
        return static_cast<ssize_t>(length);
    }
};

void redirect_eal_log() {
    static const bool done = [] {
        const cookie_io_functions_t functions{nullptr, EalLogSink::write, nullptr, nullptr};
        FILE* stream = fopencookie(nullptr, "w", functions);
        if (!stream) return false;
        setvbuf(stream, nullptr, _IOLBF, BUFSIZ);
        return rte_openlog_stream(stream) == 0;
    }();
    (void)done;
}

EalWords::EalWords() : outer_(innermost) {
    innermost = this;
}

EalWords::~EalWords() {
    innermost = outer_;
}

Error EalWords::error(std::string where, const std::string& tried, int code, std::string expected) const {
    const std::string reason = complaints_.empty() ? errno_text(std::abs(code)) : complaints_.front();
    std::string hint;
    for (size_t i = 1; i < complaints_.size(); i++)
        hint += (hint.empty() ? "DPDK says further: " : "; ") + complaints_[i];
    return {std::move(where), tried + ": " + reason, std::move(expected), std::move(hint)};
}

}  // namespace pktpit::router
