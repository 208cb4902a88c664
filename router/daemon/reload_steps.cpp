// SPDX-License-Identifier: BSD-3-Clause
// What a reload of the daemon does, step by step (reloads.h): a configuration is read and checked on the
// thread of the reloads, applied on the loop, and kept on the former.
#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>

#include "router/daemon/daemon.h"

namespace pktpit::router {

using nlohmann::json;

namespace {

tl::unexpected<PrepareRefusal> not_kept(const Error& error) {
    return tl::unexpected(PrepareRefusal{{{error}}, {error}});
}

tl::expected<Prepared, PrepareRefusal> prepare_earlier(const ReloadOrder& order, const SavedConfigs& saved) {
    const auto state = saved.load();
    if (!state) return not_kept(state.error());
    const SavedConfig* wanted = order.number ? state->numbered(*order.number) : state->back(*order.back);
    if (!wanted || wanted->text.empty())
        return not_kept(
            {"", wanted ? "that configuration was too large to be kept" : "there is no such configuration",
             "one of `pktpit show configs`", ""});
    return prepare_saved(wanted->file, wanted->text);
}

/// Is there something to go back to, if nobody confirms?
tl::expected<void, PrepareRefusal> may_go_back(const SavedConfigs& saved) {
    const auto state = saved.load();
    if (!state) return not_kept(state.error());
    const SavedConfig* there = state->confirmed ? state->numbered(*state->confirmed) : state->back(0);
    if (there && !there->text.empty()) return {};
    return not_kept({"", "the running configuration is not kept, so there would be no way back",
                     "one of at most 1 MiB", "reload without confirmation"});
}

}  // namespace

void Daemon::take_reloads(const config::Config& config) {
    const std::vector<std::string> folders =
        config.api.reload_from.empty() ? std::vector{config.base_directory} : config.api.reload_from;
    const auto note_refusal = [&loop = loop_, here = std::weak_ptr(here_)](const std::string& what) {
        loop.post([here, what] {
            if (const auto daemon = here.lock()) {
                (*daemon)->control_->events().add(EventKind::reload, "of " + what);
                (*daemon)->note_reload(false);
            }
        });
    };
    // What it takes is its own: it may outlive the daemon, while it reads from a disk that has gone.
    const auto prepare_reload = [folders, last = last_file_, saved = saved_files_, note_refusal](
                                    const ReloadOrder& order) -> tl::expected<Prepared, ReloadRefusal> {
        ReloadRules rules{{}, folders};
        {
            const std::lock_guard lock(last->mutex);
            rules.last_file = last->path;
        }
        auto prepared = order.back || order.number ? prepare_earlier(order, *saved) : prepare(order, rules);
        if (prepared && order.confirm_s)
            if (auto possible = may_go_back(*saved); !possible) prepared = tl::unexpected(possible.error());
        if (prepared) {
            prepared->confirm_s = order.confirm_s;
            prepared->by_signal = !order.by && !order.number;
            return std::move(*prepared);
        }
        const auto& lines = prepared.error().for_log_lines;
        const auto& for_log = prepared.error().for_log;
        for (size_t i = 0; !order.dry_run && i < for_log.size(); i++)
            spdlog::error("reload of {} refused: {}{}", order.path.value_or(rules.last_file),
                          i < lines.size() && lines[i] ? "line " + std::to_string(lines[i]) + ": " : "",
                          for_log[i].to_string());
        if (!order.dry_run)
            note_refusal(order.path.value_or(rules.last_file) + " refused: " +
                         std::to_string(prepared.error().for_log.size()) + " errors, which the log has");
        return tl::unexpected(std::move(prepared.error().refusal));
    };
    const auto keep_applied = [saved = saved_files_, until = until_confirmed_,
                               here = std::weak_ptr(here_)](const Prepared& wanted) -> std::function<void()> {
        const bool waits = *until;
        auto number = saved->add(wanted.file, wanted.text, waits);
        return [here, waits, number = std::move(number)] {
            if (const auto daemon = here.lock()) (*daemon)->kept(number, waits);
        };
    };
    reloads_ = std::make_unique<Reloads>(Reloads::Steps{
        prepare_reload, [this](const Prepared& wanted, bool dry_run) { return apply(wanted, dry_run); },
        [&loop = loop_](std::function<void()> call) { loop.post(std::move(call)); }, std::chrono::seconds(10),
        keep_applied});
}

void Daemon::note_reload(bool good) {
    (good ? reload_counts_.applied : reload_counts_.refused)++;
    reload_counts_.last_good = good;
}

Reloads::Answer Daemon::apply(const Prepared& wanted, bool dry_run) {
    const auto refuse = [&](const config::Errors& errors, const config::Errors& left = {}) {
        if (!dry_run)
            for (const auto& error : errors)
                spdlog::error("reload of {} refused: {}", wanted.file, error.to_string());
        if (!dry_run && !errors.empty())
            control_->events().add(EventKind::reload,
                                   "of " + wanted.file + " refused: " + errors.front().to_string());
        if (!dry_run) note_reload(false);
        ReloadRefusal refusal{errors, left.empty()};
        refusal.lines = lines_of(errors, wanted.text);
        refusal.errors.insert(refusal.errors.end(), left.begin(), left.end());
        return tl::unexpected(std::move(refusal));
    };
    if (const auto errors = control_->fixed_settings(wanted.config); !errors.empty()) return refuse(errors);
    // Of a dry run, too: whether the ports are free.
    auto services = services_->open(wanted.config);
    if (!services) return refuse({services.error()});
    json changes = config::describe_difference(control_->config(), wanted.config);
    for (const auto& item : control_->find_drift())
        if (item.mended_by_reload &&
            (item.what == "kernel route" || wanted.config.interfaces.contains(item.where)))
            changes.push_back(item.to_string() + " → put right");
    if (!dry_run) {
        if (const auto done = control_->apply(wanted.config, wanted.routes, false); !done)
            return refuse(done.error().errors, done.error().left);
        services_->commit(std::move(*services));
        note_reload(true);
        wait_for_confirmation(wanted);
        applied();
        {
            const std::lock_guard lock(last_file_->mutex);
            last_file_->path = wanted.file;
        }
        spdlog::info("reloaded {}: {} changes", wanted.file, changes.size());
        control_->events().add(EventKind::reload,
                               "of " + wanted.file + ": " + std::to_string(changes.size()) + " changes");
    }
    return json{{"applied", !dry_run},
                {"generation", control_->generation()},
                {"confirm_within", wanted.confirm_s && !dry_run ? json(*wanted.confirm_s) : json()},
                {"changes", std::move(changes)}};
}

}  // namespace pktpit::router
