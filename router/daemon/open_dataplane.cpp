// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/open_dataplane.h"

#include "router/daemon/kernel_report.h"
#include "router/daemon/load_plugin.h"
#include "router/dataplane/plugin.h"

#ifdef PKTPIT_XDP
#include "router/xdp/dataplane.h"
#endif
#ifdef PKTPIT_VFIO
#include "router/vfio/dataplane.h"
#include "router/vfio/keeper.h"
#include "router/vfio/peer_dataplane.h"
#endif
#ifdef PKTPIT_MODEL
#include "router/model/dataplane.h"
#endif

namespace pktpit::router {

Result<void> find_dataplane(const std::string& name) {
    if (!is_plugin(name)) return {};
    const auto plugin = load_plugin(name, plugin_folders());
    if (!plugin) return tl::unexpected(plugin.error());
    return {};
}

Result<std::unique_ptr<Dataplane>> open_dataplane(const config::Config& config, const fib::Capacity& capacity,
                                                  Dataplane::PuntHandler on_punt,
                                                  [[maybe_unused]] KeeperLink keeper) {
#ifdef PKTPIT_VFIO
    if (config.dataplane == "vfio" && config.vfio.peer)
        return PeerDataplane::open(config, capacity, std::move(on_punt), std::move(keeper));
    if (config.dataplane == "vfio") return VfioDataplane::open(config, capacity, std::move(on_punt));
    if (auto let_go = end_earlier_keeper(config.instance); !let_go) return tl::unexpected(let_go.error());
#endif
#ifdef PKTPIT_XDP
    if (config.dataplane == "xdp") {
        auto opened = XdpDataplane::open(config.instance, capacity, config.xdp_dispatcher, config.workers,
                                         std::move(on_punt));
        if (!opened) return tl::unexpected(with_missing_needs(opened.error()));
        return opened;
    }
#endif
#ifdef PKTPIT_MODEL
    if (config.dataplane == "model") return ModelDataplane::open(config, capacity, std::move(on_punt));
#endif
    if (is_plugin(config.dataplane)) {
        const auto plugin = load_plugin(config.dataplane, plugin_folders());
        if (!plugin) return tl::unexpected(plugin.error());
        return (*plugin)->open(config, capacity, std::move(on_punt));
    }
    return fail("/dataplane", "\"" + config.dataplane + "\" has not been built into this daemon",
                "a dataplane that was", "build with -DPKTPIT_XDP=ON -DPKTPIT_VFIO=ON -DPKTPIT_MODEL=ON");
}

}  // namespace pktpit::router
