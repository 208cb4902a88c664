// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/pins.h"

#include <bpf/bpf.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/errno_text.h"

namespace pktpit::router {
namespace {

constexpr const char* bpffs = "/sys/fs/bpf";
constexpr std::string_view link_prefix = "port_";
// bpffs reserves dots in names, so the suffix of a pin that is about to take another's name has none.
constexpr const char* incoming_suffix = "_incoming";

}  // namespace

Result<PinDirectory> PinDirectory::open(const std::string& instance) {
    struct statfs fs {};
    if (statfs(bpffs, &fs) != 0 || fs.f_type != BPF_FS_MAGIC)
        return fail(bpffs, "no BPF file system is mounted here", "a bpffs, in which the data path is pinned",
                    "mount -t bpf bpf /sys/fs/bpf; in a network namespace start with nsenter --net=…, since "
                    "`ip netns exec` hides it");
    const std::string path = std::string(bpffs) + "/pktpit/" + instance;
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error)
        return fail(path, "cannot make the pin directory: " + error.message(), "permission to write to bpffs",
                    "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON");
    return PinDirectory(path);
}

Fd PinDirectory::get(const std::string& name) const {
    return Fd(bpf_obj_get((path_ + "/" + name).c_str()));
}

Result<void> PinDirectory::put(const std::string& name, int fd) const {
    const std::string target = path_ + "/" + name;
    const std::string incoming = target + incoming_suffix;
    ::unlink(incoming.c_str());
    if (bpf_obj_pin(fd, incoming.c_str()) != 0)
        return fail(target, "cannot pin: " + errno_text(errno), "permission to pin BPF objects");
    // bpffs cannot rename over an existing pin.
    if (::rename(incoming.c_str(), target.c_str()) != 0) {
        ::unlink(target.c_str());
        if (::rename(incoming.c_str(), target.c_str()) != 0)
            return fail(target, "cannot replace the pin: " + errno_text(errno));
    }
    return {};
}

void PinDirectory::remove(const std::string& name) const {
    ::unlink((path_ + "/" + name).c_str());
}

std::vector<std::string> PinDirectory::names() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(path_, error))
        names.push_back(entry.path().filename().string());
    return names;
}

std::map<uint32_t, Fd> PinDirectory::links() const {
    std::map<uint32_t, Fd> links;
    for (const std::string& name : names()) {
        if (!name.starts_with(link_prefix)) continue;
        uint32_t ifindex = 0;
        const char* end = name.data() + name.size();
        auto [stop, parse_error] = std::from_chars(name.data() + link_prefix.size(), end, ifindex);
        if (parse_error != std::errc{} || stop != end) continue;
        if (Fd link = get(name)) links.emplace(ifindex, std::move(link));
    }
    return links;
}

void PinDirectory::remove_all() const {
    for (const std::string& name : names())
        remove(name);
    remove_if_empty();
}

bool PinDirectory::remove_if_empty() const {
    std::error_code error;
    const bool removed = std::filesystem::remove(path_, error);
    // Only succeeds for the last instance.
    std::filesystem::remove(std::filesystem::path(path_).parent_path(), error);
    return removed;
}

}  // namespace pktpit::router
