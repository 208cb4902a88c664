// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/privileges.h"

#include <cap-ng.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/errno_text.h"
#include "router/dataplane/run_directory.h"

namespace pktpit::router {
namespace {

namespace fs = std::filesystem;

constexpr const char* bpffs = "/sys/fs/bpf";
constexpr mode_t run_directory_mode = 0750;

Result<void> give(const std::string& path, uid_t uid, gid_t gid) {
    if (::lchown(path.c_str(), uid, gid) != 0 && errno != ENOENT)
        return fail(path, "cannot be given to uid " + std::to_string(uid) + ": " + errno_text(errno));
    return {};
}

/// The directory, made if it is not there. Root's or the account's, and nobody else can write to it: what
/// lies in it is given away on its word. An error else.
Result<struct stat> own_directory(const std::string& directory, const Account& account, mode_t mode) {
    if (::mkdir(directory.c_str(), mode) != 0 && errno != EEXIST)
        return fail(directory, "cannot be made: " + errno_text(errno), "permission to make it");
    struct stat status {};
    if (::lstat(directory.c_str(), &status) != 0)
        return fail(directory, "cannot be looked at: " + errno_text(errno));
    const bool trusted = S_ISDIR(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
                         (status.st_uid == 0 || status.st_uid == account.uid);
    if (trusted) return status;
    return fail(directory, "belongs to uid " + std::to_string(status.st_uid) + ", or others can write to it",
                "a directory of root's, or of uid " + std::to_string(account.uid) + " (" + account.name + ")",
                "find out who made it, and remove it: rm -r " + directory);
}

/// The directory of the daemon's files. One that others' files lie in as well stays whose it is. What already
/// is the account's is not touched: it may have put links there.
Result<void> give_run_directory(const Account& account, gid_t group, const std::string& instance) {
    const std::string directory = fs::path(run_path(instance, "")).parent_path();
    const auto status = own_directory(directory, account, run_directory_mode);
    if (!status) return tl::unexpected(status.error());
    const bool same = status->st_uid == account.uid && status->st_gid == group;
    if (same) return {};
    const std::string own = instance + ".";
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
        if (!entry.path().filename().string().starts_with(own))
            return fail(directory,
                        "belongs to uid " + std::to_string(status->st_uid) + " and group " +
                            std::to_string(status->st_gid) + ", and other instances have their files there",
                        "uid " + std::to_string(account.uid) + " and group " + std::to_string(group),
                        "run all instances as one user and with one /api/group, or name another directory in "
                        "RUNTIME_DIRECTORY");
        if (status->st_uid != 0 || account.uid == 0) continue;
        if (auto given = give(entry.path(), account.uid, group); !given) return given;
    }
    if (auto given = give(directory, account.uid, group); !given) return given;
    if (::chmod(directory.c_str(), run_directory_mode) != 0)
        return fail(directory, "cannot be given its mode: " + errno_text(errno));
    return {};
}

/// Who knows a name may come by; what lies behind has modes of its own.
Result<void> let_pass(const std::string& directory, const struct stat& status) {
    if ((status.st_mode & S_IXOTH) != 0 ||
        ::chmod(directory.c_str(), (status.st_mode & 07777) | S_IXOTH) == 0)
        return {};
    return fail(directory, "cannot be opened for other users to pass: " + errno_text(errno));
}

/// The instance's folder below bpffs, and what is pinned there. The one above stays root's: others have
/// theirs beside it.
Result<void> give_pins(const Account& account, const std::string& instance) {
    if (account.uid == 0) return {};
    struct statfs mounted {};
    struct stat status {};
    if (::statfs(bpffs, &mounted) != 0 || mounted.f_type != BPF_FS_MAGIC || ::stat(bpffs, &status) != 0)
        return {};  // the xdp dataplane says what is missing
    // systemd mounts it for root alone.
    if (auto passed = let_pass(bpffs, status); !passed) return passed;
    const std::string all = std::string(bpffs) + "/pktpit";
    const auto above = own_directory(all, {"root", 0, 0}, 0711);
    if (!above) return tl::unexpected(above.error());
    if (auto passed = let_pass(all, *above); !passed) return passed;
    const std::string pins = all + "/" + instance;
    const auto pinned = own_directory(pins, account, 0700);
    if (!pinned) return tl::unexpected(pinned.error());
    if (pinned->st_uid == account.uid) return {};
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(pins, error))
        if (auto given = give(entry.path(), account.uid, account.gid); !given) return given;
    return give(pins, account.uid, account.gid);
}

tl::unexpected<Error> refused(const std::string& what) {
    return fail("", "cannot give up privileges: " + what + ": " + errno_text(errno),
                "CAP_SETUID, CAP_SETGID and CAP_SETPCAP", "start as root, or as the user itself");
}

/// Packet memory of AF_XDP, of VFIO and of DPDK counts as locked memory of the user. False: the limit stays,
/// as in a container without CAP_SYS_RESOURCE, and takes another capability to go beyond.
bool lift_limit_of_locked_memory() {
    const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
    if (::setrlimit(RLIMIT_MEMLOCK, &unlimited) == 0) return true;
    rlimit now{};
    return ::getrlimit(RLIMIT_MEMLOCK, &now) == 0 && now.rlim_cur == RLIM_INFINITY;
}

/// Those of the account, and the API's, which the daemon gives its socket to. Not as root: those it has.
Result<void> set_groups(const Account& account, std::optional<gid_t> further) {
    if (::geteuid() != 0) return {};
    std::vector<gid_t> groups(1024);
    int count = static_cast<int>(groups.size());
    if (::getgrouplist(account.name.c_str(), account.gid, groups.data(), &count) < 0)
        return refused("more than 1024 groups of " + account.name);
    groups.resize(static_cast<size_t>(count));
    if (further) groups.push_back(*further);
    if (::setgroups(groups.size(), groups.data()) != 0) return refused("its groups");
    return {};
}

}  // namespace

Result<Account> find_account(const std::string& user) {
    const passwd* found = ::getpwnam(user.c_str());
    if (!found)
        return fail("/user", "there is no user \"" + user + "\"", "a user of this machine",
                    "adduser --system --group " + user);
    return Account{user, found->pw_uid, found->pw_gid};
}

Account own_account() {
    const passwd* found = ::getpwuid(::geteuid());
    return {found ? found->pw_name : "uid " + std::to_string(::geteuid()), ::geteuid(), ::getegid()};
}

Result<gid_t> find_group(const std::string& group) {
    const ::group* found = ::getgrnam(group.c_str());
    if (!found)
        return fail("/api/group", "there is no group \"" + group + "\"", "a group of this machine",
                    "addgroup --system " + group);
    return found->gr_gid;
}

Result<void> make_ready_for(const Account& account, const config::Config& config) {
    if (::geteuid() != 0) return {};
    gid_t group = account.gid;
    if (!config.api.group.empty()) {
        const auto found = find_group(config.api.group);
        if (!found) return tl::unexpected(found.error());
        group = *found;
    }
    if (auto given = give_run_directory(account, group, config.instance); !given) return given;
    if (config.dataplane != "xdp") return {};
    return give_pins(account, config.instance);
}

std::vector<unsigned> needed_capabilities(const config::Config& config) {
    if (config.dataplane == "model") return {CAP_NET_ADMIN, CAP_NET_RAW};
    if (config.dataplane == "vfio") return {CAP_NET_ADMIN, CAP_NET_RAW, CAP_SYS_ADMIN};
    std::vector<unsigned> needed{CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW, CAP_PERFMON};
    // The kernel opens a program by its number for CAP_SYS_ADMIN alone, and libxdp looks some up.
    const auto by_libxdp = [](const std::string& device) { return device.starts_with("net_af_xdp"); };
    const auto has_such_port = [&](const auto& one) { return by_libxdp(one.second.device); };
    if ((config.dataplane == "xdp" && config.xdp_dispatcher) ||
        std::ranges::any_of(config.interfaces, has_such_port) ||
        std::ranges::any_of(config.dpdk.devices, by_libxdp))
        needed.push_back(CAP_SYS_ADMIN);
    return needed;
}

Result<void> give_up_privileges(const Account& account, std::optional<gid_t> group,
                                const std::vector<unsigned>& capabilities) {
    if (auto set = set_groups(account, group); !set) return set;
    std::vector<unsigned> wanted = capabilities;
    if (!lift_limit_of_locked_memory()) wanted.push_back(CAP_IPC_LOCK);
    std::vector<unsigned> held;
    for (const unsigned capability : wanted)
        if (capng_have_capability(CAPNG_PERMITTED, capability) == 1) held.push_back(capability);
    const bool may_bound = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP) == 1;
    capng_clear(CAPNG_SELECT_ALL);
    for (const unsigned capability : held)
        if (capng_update(CAPNG_ADD,
                         static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_BOUNDING_SET),
                         capability) != 0)
            return refused("capability " + std::to_string(capability));
    if (account.uid != ::geteuid()) {
        const int changed = capng_change_id(static_cast<int>(account.uid), static_cast<int>(account.gid),
                                            CAPNG_CLEAR_BOUNDING);
        if (changed != 0) return refused("becoming " + account.name + " (" + std::to_string(changed) + ")");
        // Others of this user cannot trace it all the same, since they lack its capabilities.
        ::prctl(PR_SET_DUMPABLE, 1);
    } else if ((may_bound && capng_apply(CAPNG_SELECT_BOUNDS) != 0) || capng_apply(CAPNG_SELECT_CAPS) != 0) {
        return refused("capabilities");
    }
    ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("PR_SET_NO_NEW_PRIVS");
    return {};
}

}  // namespace pktpit::router
