// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/pins.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/errno_text.h"
#include "router/dataplane/private_directory.h"
#include "router/xdp/port_link.h"

namespace pktpit::router {
namespace {

constexpr const char* bpffs = "/sys/fs/bpf";
constexpr const char* all_instances = "/sys/fs/bpf/pktpit";
// Daemons of other users pass, and find their own; what others have pinned they do not see.
constexpr unsigned all_instances_mode = 0711;
constexpr unsigned directory_mode = 0700;
constexpr std::string_view link_prefix = "port_";
// bpffs reserves dots in names, so the suffix of a pin that is about to take another's name has none.
constexpr std::string_view incoming_suffix = "_incoming";

Result<void> check_bpffs() {
    struct statfs fs {};
    if (statfs(bpffs, &fs) != 0 || fs.f_type != BPF_FS_MAGIC)
        return fail(bpffs, "no BPF file system is mounted here", "a bpffs, in which the data path is pinned",
                    "mount -t bpf bpf /sys/fs/bpf; in a network namespace start with nsenter --net=…, since "
                    "`ip netns exec` hides it");
    return check_directory(bpffs, true);
}

bool exchange(const std::string& one, const std::string& other) {
    return renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

}  // namespace

std::string PinDirectory::path_of_instance(const std::string& instance) {
    return std::string(all_instances) + "/" + instance;
}

Result<PinDirectory> PinDirectory::open(const std::string& instance) {
    if (auto mounted = check_bpffs(); !mounted) return tl::unexpected(mounted.error());
    const std::string path = path_of_instance(instance);
    // The last instance to end takes the directory of all with it, perhaps between the two.
    Result<void> made;
    for (int attempts = 3; attempts > 0; attempts--) {
        made = make_private_directory(all_instances, all_instances_mode);
        if (made) made = make_private_directory(path, directory_mode);
        if (made || access(all_instances, F_OK) == 0) break;
    }
    if (!made) {
        Error error = made.error();
        if (error.hint == "run as root")
            error.hint = "run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON";
        return tl::unexpected(std::move(error));
    }
    PinDirectory pins(path);
    pins.finish_half_made();
    return pins;
}

Result<PinDirectory> PinDirectory::find(const std::string& instance) {
    if (auto mounted = check_bpffs(); !mounted) return tl::unexpected(mounted.error());
    const std::string path = path_of_instance(instance);
    if (auto checked = check_directory(all_instances); !checked) return tl::unexpected(checked.error());
    if (auto checked = check_given_directory(path); !checked) return tl::unexpected(checked.error());
    return PinDirectory(path);
}

Fd PinDirectory::get(const std::string& name) const {
    return Fd(bpf_obj_get(path_of(name).c_str()));
}

// A new name is one call. An older one changes places with what replaces it; a kernel that cannot (before
// 5.16) leaves a moment without it, in which what is pinned beside keeps the object alive.
Result<void> PinDirectory::put(const std::string& name, int fd) const {
    const std::string target = path_of(name);
    if (bpf_obj_pin(fd, target.c_str()) == 0) return {};
    const auto refused = [&](const char* what) {
        return fail(target, std::string(what) + ": " + errno_text(errno), "permission to pin BPF objects");
    };
    if (errno != EEXIST) return refused("cannot pin");
    const std::string incoming = target + std::string(incoming_suffix);
    ::unlink(incoming.c_str());
    if (bpf_obj_pin(fd, incoming.c_str()) != 0) return refused("cannot pin");
    const bool replaced = exchange(incoming, target) || (errno == EINVAL && ::unlink(target.c_str()) == 0 &&
                                                         ::rename(incoming.c_str(), target.c_str()) == 0);
    auto failed = replaced ? Result<void>() : Result<void>(refused("cannot replace the pin"));
    ::unlink(incoming.c_str());
    return failed;
}

// Left by a daemon that ended between two calls of put(). Older ones pinned what was new in two steps, too:
// that pin is the object itself, and a link keeps a port forwarding. What cannot be told stays for the next
// start.
void PinDirectory::finish_half_made() const {
    for (const std::string& incoming : names()) {
        if (!incoming.ends_with(incoming_suffix)) continue;
        const std::string name = incoming.substr(0, incoming.size() - incoming_suffix.size());
        const auto take_the_name = [&] {
            return renameat2(AT_FDCWD, path_of(incoming).c_str(), AT_FDCWD, path_of(name).c_str(),
                             RENAME_NOREPLACE) == 0;
        };
        if (take_the_name() || errno != EEXIST) continue;
        if (name.starts_with(link_prefix)) {
            const Fd there = get(name);
            const auto target =
                there ? link_target(there.get()) : Result<LinkTarget>(fail(name, "cannot be opened"));
            if (!target) continue;
            if (target->ifindex == 0) {
                remove(name);
                (void)take_the_name();
                continue;
            }
        }
        remove(incoming);
    }
}

void PinDirectory::remove(const std::string& name) const {
    ::unlink(path_of(name).c_str());
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
