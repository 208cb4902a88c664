// SPDX-License-Identifier: BSD-3-Clause
/// A file's bytes in pieces, unpacked on the way where it is compressed with xz, gzip or bzip2 (by its magic,
/// not by its name). One thread. Never holds more than a piece of the file in memory, and what the
/// decompressor's window takes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "fib/tables/format.h"

namespace pktpit::fib {

class FileSource {
  public:
    /// Errors name the path and why it cannot be read.
    static Result<FileSource> open(const std::string& path);
    /// Regular files alone, so that opening and reading never wait for somebody: what a daemon reads.
    static Result<FileSource> open_regular(const std::string& path);
    ~FileSource();
    FileSource(FileSource&&) noexcept;
    FileSource& operator=(FileSource&&) noexcept;

    [[nodiscard]] Compression compression() const;
    /// The next bytes, valid until the next call; empty at the end. Damaged or truncated compressed data is
    /// an error.
    Result<std::span<const char>> next();

  private:
    struct State;
    static Result<FileSource> read_from(const std::string& path, Fd file);
    explicit FileSource(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::fib
