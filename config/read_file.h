// SPDX-License-Identifier: BSD-3-Clause
/// Whole files into memory, with errors in words. Internal to config/.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::config {

/// The text of a regular file of at most 64 MiB. The error's `where` is the path.
Result<std::string> read_file(const std::string& path);
/// The same of one that is open.
Result<std::string> read_file(const Fd& file, const std::string& path);

/// "No such file or directory", …; empty if it can be opened for reading and is a regular file.
std::string why_unreadable(const std::string& path);

}  // namespace pktpit::config
