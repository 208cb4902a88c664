// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/load_plugin.h"

#include <dlfcn.h>

#include <cstring>

#include "router/dataplane/plugin.h"

namespace pktpit::router {
namespace {

constexpr const char* where = "/dataplane";

Result<const DataplanePlugin*> load(const std::string& dataplane, const std::filesystem::path& file) {
    void* object = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const std::string again = "install pktpitd and its plugin from one build: packages pktpit and pktpit-" +
                              dataplane + " of one version";
    if (!object) {
        const char* said = ::dlerror();
        return fail(where, "the plugin of \"" + dataplane + "\" cannot be loaded: " + (said ? said : ""),
                    file.string(), again);
    }
    const auto entry = reinterpret_cast<DataplaneEntry*>(::dlsym(object, "pktpit_dataplane"));
    if (!entry)
        return fail(where, file.string() + " is no dataplane of Pktpit", "a function pktpit_dataplane",
                    again);
    const DataplanePlugin* plugin = entry();
    const DataplanePlugin ours;
    if (std::strcmp(plugin->version, ours.version) != 0)
        return fail(where, file.string() + " is of Pktpit " + plugin->version, ours.version, again);
    if (plugin->config_bytes != ours.config_bytes || plugin->dataplane_bytes != ours.dataplane_bytes)
        return fail(where, file.string() + " is of another build of this version", "the daemon's own", again);
    return plugin;
}

}  // namespace

bool is_plugin(const std::string& dataplane) {
    return dataplane == "dpdk";
}

std::vector<std::filesystem::path> plugin_folders() {
    std::error_code failed;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
    return {program, program.parent_path() / "lib" / "pktpit"};
}

Result<const DataplanePlugin*> load_plugin(const std::string& dataplane,
                                           std::span<const std::filesystem::path> folders) {
    const std::string name = "dataplane-" + dataplane + ".so";
    std::string tried;
    for (const std::filesystem::path& folder : folders) {
        std::error_code failed;
        if (std::filesystem::exists(folder / name, failed)) return load(dataplane, folder / name);
        tried += (tried.empty() ? "" : " or ") + (folder / name).string();
    }
    return fail(where, "the dataplane \"" + dataplane + "\" is not installed", tried,
                "install the package pktpit-" + dataplane + " (in a build of the sources: -DPKTPIT_DPDK=ON)");
}

}  // namespace pktpit::router
