// SPDX-License-Identifier: BSD-3-Clause
/// A listening UNIX stream socket in the file system, whose file exists only while someone listens.
///
/// Any one thread. Refuses a path where somebody listens already; replaces the file that a dead process left.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/result.h"

namespace pktpit::router {

class UnixListener {
  public:
    /// Binds and listens; the file has mode 0660 and never had a wider one, and belongs to the group if one
    /// is given. Close-on-exec, non-blocking.
    static Result<UnixListener> open(const std::string& path, std::optional<gid_t> group = {});

    UnixListener(UnixListener&& other) noexcept;
    UnixListener& operator=(UnixListener&&) = delete;
    ~UnixListener();  ///< Closes; removes the file if it is still this socket's.

    [[nodiscard]] int descriptor() const { return descriptor_; }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    UnixListener(int descriptor, std::string path, dev_t device, ino_t inode)
        : descriptor_(descriptor), path_(std::move(path)), device_(device), inode_(inode) {}

    int descriptor_;
    std::string path_;
    dev_t device_;
    ino_t inode_;
};

}  // namespace pktpit::router
