// SPDX-License-Identifier: BSD-3-Clause
/// Directories that a daemon trusts what lies in. Called at its start, and by `pktpit detach`.
#pragma once

#include <string>

#include "base/result.h"

namespace pktpit::router {

/// The directory is there, belongs to root or to whom this process runs as, and nobody else can write to it.
/// `shared`: one that every program uses; others may write to it if it is sticky, as they cannot rename what
/// is not theirs then.
Result<void> check_directory(const std::string& path, bool shared = false);

/// The same of one that root may have given to another user: only root can write to the directory above.
Result<void> check_given_directory(const std::string& path);

/// Makes it with this mode if it is not there. One of this process's own that more could look into is
/// narrowed to it. Errors: cannot be made; what check_directory() says.
Result<void> make_private_directory(const std::string& path, unsigned mode);

}  // namespace pktpit::router
