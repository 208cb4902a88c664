// SPDX-License-Identifier: BSD-3-Clause
/// What the daemon gives up before it begins: its user, capabilities, and the chance to get any back. Called
/// by main, once, while the process has one thread: capabilities are a thread's own, and each later one
/// inherits what this one has left. See docs/security.md.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/config.h"

namespace pktpit::router {

struct Account {
    std::string name;
    uid_t uid = 0;
    gid_t gid = 0;
};
/// Error: no such user.
Result<Account> find_account(const std::string& user);
/// Who runs this process.
Account own_account();
Result<gid_t> find_group(const std::string& group);

/// Does what only root can do for a daemon that is to run as this account: its run directory (of the API's
/// group, mode 0750), the files and pins that an earlier daemon of the instance has left, the way to its
/// pins. May be repeated. Not as root: does nothing.
Result<void> make_ready_for(const Account& account, const config::Config& config);

/// The capabilities that a daemon of this configuration works with, by number.
std::vector<unsigned> needed_capabilities(const config::Config& config);

/// Becomes the account, of its groups and of `group`, with these capabilities and no others, and nothing that
/// it might run can have more (PR_SET_NO_NEW_PRIVS). What it had not before it has not after. Lifts the limit
/// of locked memory; where it may not, CAP_IPC_LOCK stays as well.
Result<void> give_up_privileges(const Account& account, std::optional<gid_t> group,
                                const std::vector<unsigned>& capabilities);

}  // namespace pktpit::router
