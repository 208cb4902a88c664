// SPDX-License-Identifier: BSD-3-Clause
// pktpitd: the daemon. Foreground; logs to stderr, or to the journal under systemd.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "router/api/server.h"
#include "router/daemon/daemon.h"
#include "router/daemon/open_dataplane.h"
#include "router/daemon/options.h"
#include "router/daemon/prepared.h"
#include "router/daemon/privileges.h"
#include "router/daemon/service_manager.h"
#include "router/daemon/start_keeper.h"
#include "router/daemon/system_calls.h"
#include "router/dataplane/run_directory.h"
#include "router/kernel/netlink.h"

namespace {

using namespace pktpit;

using Options = router::DaemonOptions;

void set_up_log() {
    auto logger = std::getenv("JOURNAL_STREAM") ? spdlog::systemd_logger_mt("pktpitd")
                                                : spdlog::stderr_color_mt("pktpitd");
    spdlog::set_default_logger(std::move(logger));
    spdlog::flush_on(spdlog::level::info);
}

int refuse(const config::Errors& errors) {
    for (const auto& error : errors)
        spdlog::critical("{}", error.to_string());
    return EXIT_FAILURE;
}

int refuse(const Error& error) {
    return refuse(config::Errors{error});
}

/// From here on the daemon has the rights that it works with, and no way to more.
Result<void> take_leave_of_root(const config::Config& config, const router::Account& account,
                                std::optional<gid_t> group) {
    if (auto ready = router::make_ready_for(account, config); !ready) return ready;
    if (auto given = router::give_up_privileges(account, group, router::needed_capabilities(config)); !given)
        return given;
    if (!config.seccomp || router::system_calls_are_left_open()) {
        spdlog::warn("system calls are not restricted{}", config.seccomp ? ": a build with a sanitizer" : "");
        return {};
    }
    return router::allow_known_system_calls();
}

router::ApiServer::Limits limits_of(const config::Api& api) {
    router::ApiServer::Limits limits;
    limits.connections_per_user = api.connections_per_user;
    return limits;
}

// Whatever ends the loop, the data path goes on, but for the stop that was asked for. SIGUSR2 asks for the
// other one: a new version takes over what this one leaves. Its default action does so, too, so that no older
// daemon need know it.
int serve(router::EventLoop& loop, router::ServiceManager& manager, router::Daemon& daemon,
          router::ApiServer& api, const Options& options, const std::string& socket_path) {
    const auto stop = [&loop] { loop.stop(); };
    loop.on_signal(SIGTERM, stop);
    loop.on_signal(SIGINT, stop);
    bool detach = options.detach;
    loop.on_signal(SIGUSR2, [&loop, &detach] {
        detach = true;
        loop.stop();
    });
    loop.on_signal(SIGHUP, [&daemon, &manager] {
        manager.tell("RELOADING=1");
        daemon.reload_soon([&manager] { manager.tell("READY=1"); });
    });
    manager.tell("READY=1");
    spdlog::info("pktpitd {} forwards; API at {}", PKTPIT_VERSION, socket_path);

    try {
        loop.run();
    } catch (const std::exception& error) {
        spdlog::critical(
            "the daemon ends by a bug in it ({}); what is attached forwards on as it is: start it again",
            error.what());
        return EXIT_FAILURE;
    }
    manager.tell("STOPPING=1");
    (void)daemon.stop_reloads();  // who waits for one is told, and keeps no thread of the API
    daemon.stop_services();
    api.stop();
    if (detach) {
        spdlog::info("stopped; the data path goes on without the daemon");
    } else {
        daemon.take_down();
        spdlog::info("stopped, and the data path with it");
    }
    return EXIT_SUCCESS;
}

/// With the rights that are left.
int run(const Options& options, router::Prepared prepared, const std::string& socket_path,
        std::optional<gid_t> group, router::KeeperLink keeper) {
    router::EventLoop loop;
    router::ServiceManager manager(loop);
    const auto open_kernel = [](const router::RouteFilter& filter) {
        // Who follows routes asks nothing about neighbours.
        return router::NetlinkKernel::open({.routes = filter, .neighbours = !filter.enabled});
    };
    auto daemon = router::Daemon::open(loop, prepared, open_kernel, std::move(keeper));
    if (!daemon) return refuse(daemon.error());

    const auto post = [&loop](std::function<void()> call) { loop.post(std::move(call)); };
    const auto audit = [](const router::Peer& by, const std::string& what, int status) {
        spdlog::info("API: {}: {}: {}", by.to_string(), what, status);
    };
    // Bound before anything is touched. Who asks already is answered when the loop runs.
    router::ApiServer api(**daemon, post, limits_of(prepared.config.api), audit);
    if (auto listening = api.listen(socket_path, group); !listening) return refuse(listening.error());
    int status = EXIT_FAILURE;
    if (auto begun = (*daemon)->begin(prepared)) {
        prepared = {};  // a full table's lines are of no more use
        status = serve(loop, manager, **daemon, api, options, socket_path);
    } else {
        refuse(begun.error());
        if (router::EventLoop::asked_to_stop()) status = EXIT_SUCCESS;
    }
    const bool files_are_read = (*daemon)->stop_reloads();
    api.stop();
    daemon->reset();
    // A thread that still reads a file would meet what the end of main() destroys.
    if (!files_are_read) std::_Exit(status);
    return status;
}

/// A daemon ended while its configuration waited to be confirmed, by a kill, say, or by the machine's reset
/// that somebody who is cut off reaches for: nobody has confirmed it. Unless the file is another one by now.
void go_back_where_nobody_confirmed(router::Prepared& prepared) {
    const auto state = router::SavedConfigs(router::saved_configs_path(prepared.config.instance)).load();
    if (!state || !state->confirmed) return;
    const auto* unconfirmed = state->back(0);
    const auto* before = state->numbered(*state->confirmed);
    if (!unconfirmed || !before || unconfirmed->file != prepared.file || unconfirmed->text != prepared.text)
        return;
    auto earlier = router::prepare_saved(before->file, before->text);
    if (!earlier) {
        spdlog::error("{} was never confirmed, and the configuration before cannot be taken any more: {}",
                      prepared.file, earlier.error().for_log.front().to_string());
        return;
    }
    spdlog::warn("{} was never confirmed: starting with the configuration before it", prepared.file);
    prepared = std::move(*earlier);
}

int prepare_and_run(const Options& options) {
    // Before signals wait for the loop: SIGTERM ends this at once, however long it takes.
    auto prepared = router::prepare(options.config_path);
    if (!prepared) return refuse(prepared.error());
    if (!options.prepare) go_back_where_nobody_confirmed(*prepared);
    const config::Config& config = prepared->config;
    const std::string& user = options.user.empty() ? config.user : options.user;
    const auto account = user.empty() ? router::own_account() : router::find_account(user);
    if (!account) return refuse(account.error());
    if (options.prepare) {
        const auto ready = router::make_ready_for(*account, config);
        return ready ? EXIT_SUCCESS : refuse(ready.error());
    }
    if (auto found = router::find_dataplane(config.dataplane); !found) return refuse(found.error());
    std::optional<gid_t> group;
    if (!config.api.group.empty()) {
        const auto found = router::find_group(config.api.group);
        if (!found) return refuse(found.error());
        group = *found;
    }
    const std::string socket_path =
        options.socket_path.empty() ? router::run_path(config.instance, ".sock") : options.socket_path;
    router::KeeperLink keeper = router::start_keeper(config);  // while programs may be started
    if (auto left = take_leave_of_root(config, *account, group); !left) return refuse(left.error());
    return run(options, std::move(*prepared), socket_path, group, std::move(keeper));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 1 && router::is_keeper(argv[0])) return router::be_keeper();
    try {
        Options options;
        const auto app = router::daemon_options(options);
        try {
            app->parse(argc, argv);
        } catch (const CLI::ParseError& error) {
            constexpr int usage = 2;  // of CLI11's own numbers nobody knows
            return app->exit(error) == 0 ? EXIT_SUCCESS : usage;
        }
        set_up_log();
        ::umask(027);  // files of state are nobody else's
        options.config_path = std::filesystem::absolute(options.config_path).lexically_normal();
        return prepare_and_run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "pktpitd: cannot start: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
