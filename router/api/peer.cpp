// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/peer.h"

#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

#include "base/socket_address.h"

namespace pktpit::router {
namespace {

constexpr uid_t nobody = 65534;
constexpr mode_t read_bit = 04;
constexpr mode_t search_bit = 01;

}  // namespace

std::string Peer::to_string() const {
    if (address) return address->to_string();
    return "uid " + std::to_string(uid) + ", gid " + std::to_string(gid) + ", pid " + std::to_string(pid);
}

bool Peer::may(const struct stat& status, mode_t read_or_search) const {
    if (uid == 0) return true;
    const bool in_group = status.st_gid == gid || std::ranges::find(groups, status.st_gid) != groups.end();
    const unsigned shift = status.st_uid == uid ? 6 : in_group ? 3 : 0;
    return (status.st_mode >> shift & read_or_search) != 0;
}

bool Peer::may_read(const std::string& real_path) const {
    if (uid == 0) return true;
    struct stat status {};
    if (::stat(real_path.c_str(), &status) != 0 || !may(status, read_bit)) return false;
    for (auto folder = std::filesystem::path(real_path).parent_path();; folder = folder.parent_path()) {
        if (::stat(folder.c_str(), &status) != 0 || !may(status, search_bit)) return false;
        if (folder == folder.parent_path()) return true;
    }
}

Peer peer_of(int descriptor) {
    Peer peer{0, nobody, nobody, {}, {}};
    sockaddr_storage from{};
    socklen_t from_size = sizeof from;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&from), &from_size) == 0)
        if (const auto endpoint = endpoint_of(from)) {
            peer.address = endpoint->address;
            return peer;
        }
    ucred credentials{};
    socklen_t length = sizeof credentials;
    if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0) {
        peer.pid = credentials.pid;
        peer.uid = credentials.uid;
        peer.gid = credentials.gid;
    }
    // Asked for with room for none, the kernel says how much it takes.
    length = 0;
    (void)::getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, nullptr, &length);
    peer.groups.resize(length / sizeof(gid_t));
    if (length == 0 || ::getsockopt(descriptor, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &length) != 0)
        peer.groups.clear();
    return peer;
}

}  // namespace pktpit::router
