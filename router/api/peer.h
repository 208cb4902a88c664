// SPDX-License-Identifier: BSD-3-Clause
/// Who is at the other end of a connection: of a UNIX socket as the kernel saw it when it was made
/// (SO_PEERCRED), of TCP its address. For limits, for the audit log, and for what an answer may tell. Plain
/// values; any thread.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/address.h"

namespace pktpit::router {

struct Peer {
    pid_t pid = 0;
    uid_t uid = 0;
    gid_t gid = 0;
    std::vector<gid_t> groups;           ///< its other groups
    std::optional<IpAddress> address{};  ///< by TCP; such a peer is nobody's

    /// "uid 1000, gid 1000, pid 4242"
    [[nodiscard]] std::string to_string() const;
    /// What is limited together: a user, or an address.
    [[nodiscard]] bool is_same_client(const Peer& other) const {
        return uid == other.uid && address == other.address;
    }
    /// By owner, group and mode alone: who has less by an access control list is told nothing more than who
    /// has none.
    [[nodiscard]] bool may(const struct stat& status, mode_t read_or_search) const;
    /// The file, by its real path, and each folder on the way to it.
    [[nodiscard]] bool may_read(const std::string& real_path) const;
};

/// Of a connected socket. What cannot be told belongs to nobody: uid and gid 65534.
Peer peer_of(int descriptor);

}  // namespace pktpit::router
