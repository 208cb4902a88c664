// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/tcp_services.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace pktpit::router {

Result<std::optional<TcpServices::Server>> TcpServices::open_one(TcpServer::Kind kind,
                                                                 const config::TcpService& wanted,
                                                                 const Server& now) {
    const bool same = now ? now->settings() == wanted : !wanted.enabled;
    if (same) return std::nullopt;
    if (!wanted.enabled) return std::optional<Server>(std::in_place);
    const auto post = [&loop = loop_](std::function<void()> call) { loop.post(std::move(call)); };
    auto server = TcpServer::open(kind, wanted, control_, post, now.get());
    if (!server) return tl::unexpected(server.error());
    return std::optional<Server>(std::move(*server));
}

Result<TcpServices::Change> TcpServices::open(const config::Config& wanted) {
    Change change;
    auto metrics = open_one(TcpServer::Kind::metrics, wanted.metrics, metrics_);
    if (!metrics) return tl::unexpected(metrics.error());
    change.metrics_ = std::move(*metrics);
    auto web = open_one(TcpServer::Kind::web, wanted.web, web_);
    if (!web) return tl::unexpected(web.error());
    change.web_ = std::move(*web);
    return change;
}

void TcpServices::commit(Change change) {
    replace(metrics_, std::move(change.metrics_));
    replace(web_, std::move(change.web_));
}

void TcpServices::replace(Server& now, std::optional<Server> next) {
    if (!next) return;
    // Its clients may be slow, and its threads ask the loop: so another thread waits for them.
    if (now) loop_.aside([gone = std::shared_ptr<TcpServer>(std::move(now))] { gone->stop(); }, [] {});
    now = std::move(*next);
    if (!now) return;
    now->start();
    spdlog::info("answering at {}", now->settings().listen());
}

void TcpServices::stop() {
    if (metrics_) metrics_->stop();
    if (web_) web_->stop();
}

}  // namespace pktpit::router
