// SPDX-License-Identifier: BSD-3-Clause
/// Who is at the other end of a connection, as the kernel saw it when it was made (SO_PEERCRED). For limits,
/// for the audit log, and for what an answer may tell. Plain values; any thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace pktpit::router {

struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;  ///< its other groups

    /// "uid 1000, gid 1000, pid 4242"
    [[nodiscard]] std::string to_string() const;
    /// By owner, group and mode alone: who has less by an access control list is told nothing more than who
    /// has none.
    [[nodiscard]] bool may(const struct stat& status, mode_t read_or_search) const;
    /// The file, by its real path, and each folder on the way to it.
    [[nodiscard]] bool may_read(const std::string& real_path) const;
};

/// Of a connected UNIX socket. What cannot be told belongs to nobody: uid and gid 65534.
Peer peer_of(int descriptor);

}  // namespace pktpit::router
