// SPDX-License-Identifier: BSD-3-Clause
// pktpitd: the daemon. Foreground; logs to stderr, or to the journal under systemd.
#include <CLI/CLI.hpp>
#include <net/if.h>
#include <nlohmann/json.hpp>
#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/sinks/systemd_sink.h>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "router/api/server.h"
#include "router/daemon/daemon.h"
#include "router/dataplane/run_directory.h"
#include "router/kernel/netlink.h"

namespace {

using namespace pktpit;

struct Options {
    std::string config_path;
    std::string socket_path;
    bool detach = false;
};

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

bool interface_exists(std::string_view name) {
    return if_nametoindex(std::string(name).c_str()) != 0;
}

// Whatever ends the loop, the data path goes on, but for the stop that was asked for.
int serve(router::EventLoop& loop, router::Daemon& daemon, router::ApiServer& api, const Options& options,
          const std::string& socket_path) {
    const auto stop = [&loop] { loop.stop(); };
    loop.on_signal(SIGTERM, stop);
    loop.on_signal(SIGINT, stop);
    loop.on_signal(SIGHUP, [&daemon] {
        sd_notify(0, "RELOADING=1");
        try {
            (void)daemon.reload(std::nullopt, false);  // logs what became of it
        } catch (const std::exception& error) {
            spdlog::critical("reload failed by a bug in the daemon ({}); forwarding goes on as before",
                             error.what());
        }
        sd_notify(0, "READY=1");
    });
    sd_notify(0, "READY=1");
    spdlog::info("pktpitd {} forwards; API at {}", PKTPIT_VERSION, socket_path);

    try {
        loop.run();
    } catch (const std::exception& error) {
        spdlog::critical(
            "the daemon ends by a bug in it ({}); what is attached forwards on as it is: start it again",
            error.what());
        return EXIT_FAILURE;
    }
    sd_notify(0, "STOPPING=1");
    api.stop();
    if (options.detach) {
        spdlog::info("stopped; the data path goes on without the daemon");
    } else {
        daemon.take_down();
        spdlog::info("stopped, and the data path with it");
    }
    return EXIT_SUCCESS;
}

int run(const Options& options) {
    auto config = config::load(options.config_path, interface_exists);
    if (!config) return refuse(config.error());
    const std::string socket_path =
        options.socket_path.empty() ? router::run_path(config->instance, ".sock") : options.socket_path;

    router::EventLoop loop;
    auto daemon = router::Daemon::open(
        loop, *config, options.config_path,
        [](const router::RouteFilter& filter) { return router::NetlinkKernel::open({.routes = filter}); });
    if (!daemon) return refuse({daemon.error()});

    // Bound before anything is touched. Who asks already is answered when the loop runs.
    router::ApiServer api(**daemon, [&loop](std::function<void()> call) { loop.post(std::move(call)); });
    if (auto listening = api.listen(socket_path); !listening) return refuse({listening.error()});
    if (auto begun = (*daemon)->begin(*config); !begun) {
        api.stop();
        refuse(begun.error());
        return router::EventLoop::asked_to_stop() ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    return serve(loop, **daemon, api, options, socket_path);
}

}  // namespace

int main(int argc, char** argv) {
    try {
        Options options;
        CLI::App app{"pktpitd: the Pktpit router daemon"};
        app.add_option("-c,--config", options.config_path, "Configuration file (JSON)")->required();
        app.add_option("--socket", options.socket_path, "API socket (default: /run/pktpit/INSTANCE.sock)");
        app.add_flag("--detach", options.detach, "Leave the data path running when the daemon is stopped");
        app.set_version_flag("--version", PKTPIT_VERSION);
        CLI11_PARSE(app, argc, argv);
        set_up_log();
        options.config_path = std::filesystem::absolute(options.config_path).lexically_normal();
        return run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "pktpitd: cannot start: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
